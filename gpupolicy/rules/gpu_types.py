"""Rules about spec.gpuTypes: names, resources and how nodes of a type are recognised."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_subdomain_problem, find_label_value_problem, find_resource_name_problem
from gpupolicy.model import DEVICE_CLASS_PREFIX, Policy
from gpupolicy.rules.findings import error, warning

_TYPES = ("spec", "gpuTypes")


def gpu_type_name_not_label(policy: Policy) -> Iterator[Finding]:
    """A name or an alias of a GPU type that no label can hold.

    Why: the name is the value of the gpu-type label, and pods write names and aliases into their nodeSelector; the API
        server refuses blanks, commas and more than 63 characters there.
    Bad:  name: Tesla V100 SXM2
    Good: name: Tesla-V100-SXM2
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
    """
    for name, field in _names(policy):
        if problem := find_label_value_problem(name):
            yield error("gpu-type-name-not-label", field, f'"{name}" is no label value: it {problem}')


def gpu_type_name_repeated(policy: Policy) -> Iterator[Finding]:
    """Two GPU types that share a name or an alias.

    Why: a pod that asks for the name could mean either.
    Bad:  [{name: V100, aliases: [volta]}, {name: V100-32GB, aliases: [volta]}]
    Good: [{name: V100, aliases: [volta]}, {name: V100-32GB, aliases: [volta-32]}]
    Source: design: an alias stands for one type.
    """
    seen: dict[str, FieldPath] = {}
    for name, field in _names(policy):
        if name in seen:
            first = policy.find_place(seen[name])
            where = f", as in line {first[0]}" if first else ""
            yield error("gpu-type-name-repeated", field, f"{name} already names a GPU type{where}")
        else:
            seen[name] = field


def resource_name_not_extended(policy: Policy) -> Iterator[Finding]:
    """A counted resource whose name is no extended resource.

    Why: Kubernetes counts only names with a domain of somebody's own; others are refused in a pod, or (as in
        kubernetes.io) are not checked at all.
    Bad:  resourceName: gpu
    Good: resourceName: nvidia.com/gpu
    Source: pkg/apis/core/v1/helper IsExtendedResourceName; refusals measured on 1.37.2.
    """
    for index, gpu_type in enumerate(policy.gpu_types):
        if problem := _find_resource_problem(gpu_type.resource_name):
            field = (*_TYPES, index, "resourceName")
            hint = "list the class in deviceClasses" if gpu_type.resource_name.startswith(DEVICE_CLASS_PREFIX) else None
            message = f"{gpu_type.resource_name} is no extended resource: {problem}"
            yield error("resource-name-not-extended", field, message, hint)


def device_class_not_dns(policy: Policy) -> Iterator[Finding]:
    """A device class whose name Kubernetes does not take.

    Why: no such DeviceClass can exist, so its devices are never counted.
    Bad:  deviceClasses: [GPU_Class]
    Good: deviceClasses: [gpu.example.com]
    Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
    """
    for index, gpu_type in enumerate(policy.gpu_types):
        for position, name in enumerate(gpu_type.device_classes):
            if problem := find_dns_subdomain_problem(name):
                field = (*_TYPES, index, "deviceClasses", position)
                yield error("device-class-not-dns", field, f'"{name}" is no name of a device class: it {problem}')


def gpu_type_selector_repeated(policy: Policy) -> Iterator[Finding]:
    """Two GPU types that recognise the same nodes.

    Why: a node would be of both types, so it gets neither label. Where one type recognises only some of the other's
        nodes, it is a warning: such nodes need the gpu-type label from somebody else.
    Bad:  two types with nodeSelector: {matchLabels: {nvidia.com/gpu.family: volta}}
    Good: one type for each value of nvidia.com/gpu.product
    Source: design: a node has one gpu-type label.
    """
    for index, gpu_type in enumerate(policy.gpu_types):
        for other in policy.gpu_types[:index]:
            mine, theirs = gpu_type.node_selector, other.node_selector
            if mine is None or theirs is None:
                continue
            field = (*_TYPES, index, "nodeSelector")
            is_narrower, is_wider = mine.narrows(theirs), theirs.narrows(mine)
            if is_narrower and is_wider:
                message = f"{gpu_type.name} recognises the same nodes as {other.name}"
                yield error("gpu-type-selector-repeated", field, message)
            elif is_narrower or is_wider:
                some, all_of = (gpu_type, other) if is_narrower else (other, gpu_type)
                message = f"{all_of.name} recognises every node of {some.name}, which is of both types then"
                yield warning("gpu-type-selector-repeated", field, message)


def gpu_type_without_group(policy: Policy) -> Iterator[Finding]:
    """A GPU type whose nodes no slot group claims.

    Why: its pods cannot be routed, and its nodes stay without a group.
    Bad:  gpuTypes V100 and A100, while every claim says gpuType: V100
    Good: a claim in some slot group for each type
    Source: design: a request is routed to the groups that claim nodes of its type.
    """
    for index, gpu_type in enumerate(policy.gpu_types):
        if not any(group.serves(gpu_type.name) for group in policy.slot_groups):
            message = f"no slot group claims nodes of GPU type {gpu_type.name}"
            yield warning("gpu-type-without-group", (*_TYPES, index, "name"), message)


def _names(policy: Policy) -> Iterator[tuple[str, FieldPath]]:
    for index, gpu_type in enumerate(policy.gpu_types):
        yield gpu_type.name, (*_TYPES, index, "name")
        for position, alias in enumerate(gpu_type.aliases):
            yield alias, (*_TYPES, index, "aliases", position)


def _find_resource_problem(name: str) -> str | None:
    is_own = "kubernetes.io/" in name
    return "kubernetes.io belongs to Kubernetes itself" if is_own else find_resource_name_problem(name)
