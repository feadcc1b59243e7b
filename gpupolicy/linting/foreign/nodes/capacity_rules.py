"""Rules about the GPUs of labelled Nodes: slots that are lost, GPUs that are not there, nodes that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.linting.foreign.findings import info, listed, warning
from gpupolicy.linting.foreign.metadata import LABELS
from gpupolicy.linting.foreign.nodes.inventory import NodeSubject


def node_without_gpus(node: NodeSubject) -> Iterator[Finding]:
    """A node in a slot group that offers no GPU.

    Why: the device plugin is missing or has failed, and pods that are routed there wait. 0 and an absent amount mean
    the same. GPUs that a DRA driver offers are not looked for where the type names device classes.
    Bad:  node-group SLOT-4 with allocatable: {nvidia.com/gpu: "0"}
    Good: node-group SLOT-4 with allocatable: {nvidia.com/gpu: "8"}
    Source: NVIDIA k8s-device-plugin issues 33 and 100.
    """
    if node.policy is None or (node.group_label is None and node.type_label is None) or not node.has_status:
        return
    wanted = [node.gpu_type.resource_name] if node.gpu_type else list(node.policy.resource_names)
    if any(node.amount("allocatable", name) for name in wanted) or (node.gpu_type and node.gpu_type.device_classes):
        return
    place = f"in {node.group_label}" if node.group_label is not None else f"labelled {node.type_label}"
    message = f"{node.title} is {place}, but has no {' or '.join(wanted)} allocatable"
    yield warning("node-without-gpus", _amount_path(node, "allocatable", wanted[0]), message)


def node_slots_lost(node: NodeSubject) -> Iterator[Finding]:
    """A node with fewer slots than a node of its type would give.

    Why: the scheduler counts allocatable; one broken GPU of 8 leaves no room for an 8-GPU pod. A node that never had
    the GPUs of its type is in the wrong group.
    Bad:  node-group SLOT-8 with capacity 8 and allocatable 7
    Good: node-group SLOT-8 with capacity 8 and allocatable 8
    Source: kubernetes issue 57241; NVIDIA k8s-device-plugin issue 58.
    """
    resource, group = node.counted_resource, node.group
    if resource is None or group is None:
        return
    usable = node.amount("allocatable", resource)
    expected = node.amount("capacity", resource) or 0
    if node.gpu_type is not None:
        expected = max(expected, node.gpu_type.gpus_per_node)
    for size in sorted(set(group.sizes)) if usable else ():
        if usable is None or usable // size >= expected // size:
            continue
        message = f"{node.title} offers {usable // size} slots of {size}, not {expected // size}:"
        message += f" {usable} of {expected} {resource} are allocatable"
        yield warning("node-slots-lost", ("status", "allocatable", resource), message)


def node_gpus_unexpected(node: NodeSubject) -> Iterator[Finding]:
    """A node with another number of GPUs than its type.

    Why: sizes, slots and groups of the policy are reckoned with gpusPerNode.
    Bad:  a type with gpusPerNode 8, a node of it with capacity 4
    Good: a type of its own for nodes with 4 GPUs
    Source: the policy, spec.gpuTypes[].gpusPerNode.
    """
    policy, gpu_type = node.policy, node.gpu_type
    if policy is None or gpu_type is None:
        return
    there = node.amount("capacity", gpu_type.resource_name)
    if there and there != gpu_type.gpus_per_node:
        cited = policy.cite("spec", "gpuTypes", policy.gpu_types.index(gpu_type), "gpusPerNode")
        message = f"{node.title} has {there} {gpu_type.resource_name}; nodes of {gpu_type.name} have"
        message += f" {gpu_type.gpus_per_node} ({cited})"
        yield warning("node-gpus-unexpected", ("status", "capacity", gpu_type.resource_name), message)


def node_not_labelled(node: NodeSubject) -> Iterator[Finding]:
    """A GPU node without the labels of the policy.

    Why: pods that the policy routes never reach it.
    Bad:  a node with nvidia.com/gpu.product of a type and no node-group
    Good: the labels that gpupolicy compile --target nodes --nodes FILE writes
    Source: the policy, spec.gpuTypes[].nodeSelector.
    """
    policy = node.policy
    if policy is None or node.type_label is not None or node.group_label is not None:
        return
    types = [gpu_type.name for gpu_type in node.matching_types()]
    offers = [name for name in policy.resource_names if node.amount("allocatable", name)]
    if types:
        message = f"{node.title} is a node of {listed(types)} and has none of the policy's labels"
        yield info("node-not-labelled", LABELS, message, "gpupolicy compile --target nodes --nodes FILE writes them")
    elif offers:
        message = f"{node.title} offers {listed(offers)}, and no GPU type of the policy fits it"
        yield info("node-not-labelled", LABELS, message)


def _amount_path(node: NodeSubject, field: str, resource: str) -> FieldPath:
    status = node.value.get("status")
    if not isinstance(status, dict) or not isinstance(status.get(field), dict):
        return ("status",)
    return ("status", field, resource) if resource in status[field] else ("status", field)
