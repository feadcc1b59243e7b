"""Rules about Nodes that hold without a policy: what the API server refuses in names, labels, taints and amounts."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_subdomain_problem, find_label_key_problem, find_label_value_problem
from gpupolicy.linting.foreign.findings import did_you_mean, error, listed, show, warning
from gpupolicy.linting.foreign.metadata import find_label_problems
from gpupolicy.linting.foreign.nodes.inventory import NodeSubject
from gpupolicy.linting.foreign.reading import Object, child, mapping, objects, text
from gpupolicy.linting.foreign.resource_names import is_extended
from gpupolicy.model import TaintEffect
from gpupolicy.quantity import QuantityError, parse_quantity

_EFFECTS = tuple(sorted(TaintEffect))


def node_version_unknown(node: NodeSubject) -> Iterator[Finding]:
    """A Node of another version than v1.

    Why: the API server has Nodes in v1 alone.
    Bad:  apiVersion: core/v1
    Good: apiVersion: v1
    Source: k8s.io/api core/v1.
    """
    version = node.value.get("apiVersion")
    if version not in (None, "v1"):
        yield error("node-version-unknown", ("apiVersion",), f"apiVersion is {show(version)}; Nodes are in v1")


def node_name_refused(node: NodeSubject) -> Iterator[Finding]:
    """A Node without a name, or with one that the API server refuses.

    Why: the name is a DNS subdomain.
    Bad:  metadata: {name: GPU_01}
    Good: metadata: {name: gpu-01}
    Source: kubernetes pkg/apis/core/validation, ValidateNode.
    """
    if not node.name:
        if not child(node.value, "metadata", "generateName"):
            yield error("node-name-refused", ("metadata",), "the node has no name")
    elif problem := find_dns_subdomain_problem(node.name):
        yield error("node-name-refused", ("metadata", "name"), f"the name {show(node.name)} {problem}")


def node_label_refused(node: NodeSubject) -> Iterator[Finding]:
    """A label that the API server refuses.

    Why: a value has at most 63 letters, digits, '-', '_' and '.', and starts and ends with a letter or digit; feature
    discovery drops others with a line in its log. One key has one value: a comma does not put a node into two groups.
    Bad:  my.gpu.cluster/gpu-type: Tesla V100 SXM2
    Good: my.gpu.cluster/gpu-type: Tesla-V100-SXM2
    Source: apimachinery pkg/util/validation; measured on Kubernetes 1.37.2.
    """
    for path, part, message, hint in find_label_problems(node.value):
        yield error("node-label-refused", path, message, hint, part=part)


def node_taint_refused(node: NodeSubject) -> Iterator[Finding]:
    """A taint that the API server refuses.

    Why: it has a key and a value that a label could have, one of three effects, written exactly so, and no two taints
    share key and effect.
    Bad:  spec.taints: [{key: my.gpu.cluster/node-group, value: SLOT-8, effect: noSchedule}]
    Good: spec.taints: [{key: my.gpu.cluster/node-group, value: SLOT-8, effect: NoSchedule}]
    Source: kubernetes pkg/apis/core/validation, validateNodeTaints; measured on Kubernetes 1.37.2.
    """
    seen: set[tuple[str, str]] = set()
    for index, taint in objects(child(node.value, "spec", "taints")):
        path: FieldPath = ("spec", "taints", index)
        for field, message, hint in _taint_problems(taint):
            yield error("node-taint-refused", (*path, field) if field in taint else path, message, hint)
        pair = text(taint.get("key")), text(taint.get("effect"))
        if pair in seen:
            yield error("node-taint-refused", path, f"a taint {pair[0]} with {pair[1]} stands above already")
        seen.add(pair)


def _taint_problems(taint: Object) -> Iterator[tuple[str, str, str | None]]:
    key, value, effect = (text(taint.get(field)) for field in ("key", "value", "effect"))
    if problem := find_label_key_problem(key):
        yield "key", f"the taint's key {show(key)} {problem}", None
    if problem := find_label_value_problem(value):
        yield "value", f"the taint's value {show(value)} {problem}", None
    if effect not in _EFFECTS:
        found = f"effect is {show(effect)}" if effect else "the taint has no effect"
        yield "effect", f"{found}; the API server takes {listed(_EFFECTS)}", did_you_mean(effect, _EFFECTS)


def node_amount_refused(node: NodeSubject) -> Iterator[Finding]:
    """An amount in capacity or allocatable that the API server refuses.

    Why: it is a quantity, not negative, and whole for pods and for extended resources such as GPUs.
    Bad:  allocatable: {nvidia.com/gpu: "7.5"}
    Good: allocatable: {nvidia.com/gpu: "7"}
    Source: kubernetes pkg/apis/core/validation, ValidateNodeResources.
    """
    for field in ("capacity", "allocatable"):
        for name, amount in mapping(child(node.value, "status", field)).items():
            if problem := _amount_problem(name, amount):
                yield error("node-amount-refused", ("status", field, name), f"{field} of {name} is {problem}")


def _amount_problem(name: str, amount: object) -> str | None:
    try:
        parsed = parse_quantity(amount)
    except QuantityError:
        return f"{show(amount)}, which is no quantity"
    if parsed < 0:
        return f"{show(amount)}, which is negative"
    if (is_extended(name) or name == "pods") and parsed != int(parsed):
        return f"{show(amount)}, which is no whole number"
    return None


def node_allocatable_above_capacity(node: NodeSubject) -> Iterator[Finding]:
    """More allocatable than there is.

    Why: allocatable is what is left of capacity; the scheduler counts by allocatable, and the kubelet refuses the rest.
    Bad:  capacity: {nvidia.com/gpu: "4"} with allocatable: {nvidia.com/gpu: "8"}
    Good: capacity: {nvidia.com/gpu: "8"} with allocatable: {nvidia.com/gpu: "8"}
    Source: k8s.io/api core/v1, NodeStatus.
    """
    for name in mapping(child(node.value, "status", "allocatable")):
        there, usable = node.amount("capacity", name), node.amount("allocatable", name)
        if is_extended(name) and there is not None and usable is not None and usable > there:
            message = f"{node.title} has {usable} {name} allocatable of {there}"
            yield warning("node-allocatable-above-capacity", ("status", "allocatable", name), message)


def node_status_missing(node: NodeSubject) -> Iterator[Finding]:
    """A Node that does not say what it offers.

    Why: without capacity and allocatable nothing can be said about its slots; the file is a manifest of labels, or a
    dump that was cut.
    Bad:  {kind: Node, metadata: {name: gpu-01}}
    Good: kubectl get nodes -o yaml
    Source: k8s.io/api core/v1, NodeStatus.
    """
    if not node.has_status:
        message = f"{node.title} has neither capacity nor allocatable: what it offers is not known"
        yield warning("node-status-missing", ("status",) if "status" in node.value else (), message)
