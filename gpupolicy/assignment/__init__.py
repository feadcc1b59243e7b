"""Which node belongs to which slot group, and the label and taint changes that make it so. Pure: nodes in, plan out.

For each GPU type the claims are served in this order: names, selectors, counts, and last the weights, which share what
is left by largest remainder. Names and a selector in one claim must both fit, and a count beside them limits them.
Where a claim leaves a choice its topology decides how many nodes each zone gives; then a node keeps its group while
the group's number allows, else the emptiest nodes move, and a node without a group goes where its pods may stay; a
group takes nodes that offer it no slot last of all. A node whose GPUs are gone for the moment is left alone and keeps
its place meanwhile, so that a device plugin which starts anew moves nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpupolicy.assignment.division import divide, largest_remainder
from gpupolicy.assignment.plan import Change, Plan, Skipped, find_change, labels_for, taints_for
from gpupolicy.errors import UsageError
from gpupolicy.model import GPUType, Policy
from gpupolicy.node import JSONMap, NodeView, each_object

__all__ = ["Change", "Plan", "Skipped", "assign", "labels_for", "largest_remainder", "taints_for"]

_NO_USE: Mapping[str, int] = {}
_NO_REQUESTS: Mapping[str, Sequence[int]] = {}
_FULL = 2**62  # GPUs in use: such a node is the last one to move


def assign(
    policy: Policy,
    nodes: Iterable[JSONMap],
    *,
    used: Mapping[str, int] = _NO_USE,
    running: Mapping[str, Sequence[int]] = _NO_REQUESTS,
) -> Plan:
    """Decides the GPU type and the slot group of every node.

    Args:
        policy: the policy.
        nodes: Nodes as the Kubernetes API prints them; their order does not matter.
        used: GPUs in use by node name (a node that is not named has none); the emptiest nodes move first.
        running: requests (GPUs of one pod) of the pods on a node, by its name: a node without a group goes where they
            may stay, and a group whose pods run nowhere yet gets idle nodes. Sizes that no group serves do not count.

    Returns:
        The plan, by node name. Nodes of no GPU type are not in it; a second call on nodes as planned changes nothing.

    Raises:
        UsageError: a node has no name, a name stands twice, or a node is no mapping as the API prints it.
    """
    views = _by_name(nodes)
    skipped: list[Skipped] = []
    typed: dict[str, list[NodeView]] = {gpu_type.name: [] for gpu_type in policy.gpu_types}
    type_reasons: dict[str, str] = {}
    absent: dict[str, int] = {}  # nodes of our groups without GPUs
    for view in views:
        gpu_type, reason = _find_type(policy, view)
        if gpu_type is None:
            skipped += [Skipped(node=view.name, reason=reason)] if reason else []
        elif _offers_none(gpu_type, view):
            skipped.append(Skipped(node=view.name, reason=_tell_absence(gpu_type.resource_name, view)))
            if _keeps_place(policy, gpu_type, view):
                typed[gpu_type.name].append(view)
                absent[view.name] = _FULL
        else:
            typed[gpu_type.name].append(view)
            type_reasons[view.name] = reason
    held = {**used, **absent}
    served = _find_served(policy, running)
    seats = {
        name: (gpu_type.name, seat)
        for gpu_type in policy.gpu_types
        for name, seat in divide(policy, gpu_type, typed[gpu_type.name], held, served).items()
        if name not in absent
    }
    changes = (
        find_change(policy, view, *seats[view.name], type_reasons[view.name]) for view in views if view.name in seats
    )
    return Plan(
        changes=tuple(change for change in changes if change is not None),
        groups={view.name: (seats[view.name][0], seats[view.name][1].group) for view in views if view.name in seats},
        skipped=tuple(skipped),
    )


def _find_served(policy: Policy, running: Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[int]]:
    """Returns the requests that some slot group serves: the others are misplaced wherever their node goes."""
    sizes = {size for group in policy.slot_groups for size in group.sizes}
    return {name: [request for request in requests if request in sizes] for name, requests in running.items()}


def _by_name(nodes: Iterable[JSONMap]) -> list[NodeView]:
    views: dict[str, NodeView] = {}
    for view in map(NodeView, each_object(nodes, "Node")):
        if not view.name:
            raise UsageError("a node has no metadata.name")
        if view.name in views:
            raise UsageError(f"node {view.name} is listed twice")
        views[view.name] = view
    return [views[name] for name in sorted(views)]


def _find_type(policy: Policy, view: NodeView) -> tuple[GPUType | None, str]:
    """Returns the node's type and why; without a type, why it stays in doubt ("" for a node that is none of ours)."""
    fitting = [t for t in policy.gpu_types if t.node_selector is not None and t.node_selector.matches(view.labels)]
    labelled = policy.type_names.get(view.labels.get(policy.labels.gpu_type, ""))
    for index, gpu_type in enumerate(policy.gpu_types):
        if gpu_type in fitting and (len(fitting) == 1 or gpu_type.name == labelled):
            cited = policy.cite("spec", "gpuTypes", index, "nodeSelector")
            return gpu_type, f"GPU type {gpu_type.name} selects it ({cited})"
    if fitting:
        return None, f"its labels fit several GPU types: {', '.join(t.name for t in fitting)}"
    if labelled is None:
        return None, ""
    return policy.types_by_name[labelled], f"its label {policy.labels.gpu_type} names GPU type {labelled}"


def _offers_none(gpu_type: GPUType, view: NodeView) -> bool:
    """Whether a node has no such GPU; devices behind DRA classes do not stand in status.allocatable."""
    gpus = view.find_allocatable(gpu_type.resource_name)
    return gpus == 0 or (gpus is None and not gpu_type.device_classes)


def _tell_absence(name: str, view: NodeView) -> str:
    problem = view.find_amount_problem(name)
    return f"status.allocatable of {name} {problem}" if problem else f"offers no {name} (status.allocatable)"


def _keeps_place(policy: Policy, gpu_type: GPUType, view: NodeView) -> bool:
    """Whether a node is labelled for a group that claims its type."""
    return gpu_type.name in policy.types_of_group.get(view.labels.get(policy.labels.node_group, ""), ())
