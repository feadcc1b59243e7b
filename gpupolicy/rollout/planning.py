"""Makes the plan for nodes: the assignment, with what it does to pods, slots and other owners. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256

from gpupolicy.assignment import Change, Plan, assign, labels_for
from gpupolicy.errors import counted
from gpupolicy.inventory.misplaced import Misplacement, find_misplaced
from gpupolicy.inventory.seats import find_seat
from gpupolicy.inventory.usage import GPUPod, Usage
from gpupolicy.model import Policy
from gpupolicy.node import JSONMap
from gpupolicy.rollout.costs import Seat, count_slots
from gpupolicy.rollout.ownership import (
    FIELD_MANAGER,
    find_other,
    has_owners,
    is_ours,
    label_owners,
    taint_owners,
    was_applied,
)
from gpupolicy.rollout.plan import Conflict, NodeChange, NodePlan, Resident, Unserved
from gpupolicy.rollout.shortages import find_shortages
from gpupolicy.rollout.staleness import look
from gpupolicy.rollout.state import NodeState

_DAEMON_SET = "DaemonSet"


def plan_nodes(policy: Policy, nodes: Iterable[JSONMap], usage: Usage, *, manager: str = FIELD_MANAGER) -> NodePlan:
    """Decides what changes on which node.

    A slot group label that somebody else has set since our apply is no reason to keep the node in that group: such a
    node is assigned as if it had none, so that it goes back to where it is missing.

    Args:
        policy: the policy.
        nodes: Nodes as the Kubernetes API prints them, with managedFields where they are to be looked at.
        usage: what runs; the emptiest nodes move first.
        manager: the field manager that our apply uses.

    Returns:
        The plan. It is empty where every node is as the policy wants it.

    Raises:
        UsageError: a node has no name, or a name stands twice.
    """
    states = {state.name: state for state in map(NodeState, nodes)}
    listed = [state.node for state in states.values()]
    views = [as_assigned(policy, node, manager) for node in listed]
    assigned = assign(policy, views, used=usage.gpus_by_node, running=usage.requests_by_node)
    changes = {change.node: change for change in assigned.changes}
    residents = find_residents(policy, assigned.groups, usage)
    after = _seats_after(policy, states, assigned)
    planned = (
        _plan_node(policy, states[name], assigned, changes.get(name), residents.get(name, ()), manager)
        for name in assigned.groups
    )
    return NodePlan(
        policy=policy.name,
        digest=digest(policy),
        manager=manager,
        changes=tuple(change for change in planned if change is not None),
        skipped=assigned.skipped,
        slots=count_slots(policy, _seats(policy, states, assigned)),
        unfinished=tuple(sorted(state.name for state in states.values() if state.cordoned_by == policy.name)),
        unserved=tuple(_find_unserved(policy, states, after, usage)),
        shortages=tuple(find_shortages(policy, after)),
        nodes=len(states),
        knows_owners=any(has_owners(node) for node in listed) or not listed,
    )


def digest(policy: Policy) -> str:
    """Returns what stands for the meaning of a policy: another one for another policy, the same for a new comment."""
    return sha256(repr(policy).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_conflicts(node: JSONMap, change: NodeChange, manager: str) -> tuple[Conflict, ...]:
    """Returns who else owns what a change writes, as server-side apply would tell it.

    Of labels: who set another value than the one we set, and who (also) owns one that we remove. Of taints, which
    are one field: who applies all of them.
    """
    return tuple(_conflicts(node, change, manager))


def _conflicts(node: JSONMap, change: NodeChange, manager: str) -> Iterator[Conflict]:
    labels = NodeState(node).labels
    for key in sorted({*change.set, *change.remove} & set(labels)):
        for owner in label_owners(node, key):
            if not is_ours(owner, manager):
                yield Conflict(what=key, value=labels[key], owner=owner)
    if change.set_taints or change.remove_taints:
        for owner in taint_owners(node):
            if owner.applies and owner.manager != manager:
                yield Conflict(what="spec.taints", value="", owner=owner)


def as_assigned(policy: Policy, node: JSONMap, manager: str = FIELD_MANAGER) -> JSONMap:
    """Returns a node as ``assign`` is to see it: without a slot group label that others have put in the place of ours.

    Args:
        policy: the policy.
        node: a Node as the Kubernetes API prints it, with managedFields where they are to be looked at.
        manager: the field manager that our apply uses.
    """
    key = policy.labels.node_group
    metadata = node.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if not (isinstance(metadata, Mapping) and isinstance(labels, Mapping) and key in labels):
        return node
    if not was_applied(node, manager) or find_other(node, key, manager) is None:
        return node
    kept = {name: value for name, value in labels.items() if name != key}
    return {**node, "metadata": {**metadata, "labels": kept}}


def _plan_node(
    policy: Policy,
    state: NodeState,
    assigned: Plan,
    change: Change | None,
    residents: tuple[Resident, ...],
    manager: str,
) -> NodeChange | None:
    """Returns what changes on a node as it really is; None where nothing does."""
    if change is None:
        return None
    missing = {key: value for key, value in change.set.items() if state.labels.get(key) != value}
    if not (missing or change.remove or change.set_taints or change.remove_taints):
        return None
    gpu_type, group = assigned.groups[state.name]
    before = _current_group(policy, state)
    moves = before != group or policy.labels.gpu_type in missing
    planned = NodeChange(
        node=state.name,
        gpu_type=gpu_type,
        before=before,
        after=group,
        wanted=labels_for(policy, gpu_type, group),
        reason=change.reason,
        set=missing,
        remove=change.remove,
        set_taints=change.set_taints,
        remove_taints=change.remove_taints,
        residents=residents if moves else (),
        seen=look(policy, state, gpu_type),
    )
    return replace(planned, conflicts=find_conflicts(state.node, planned, manager))


def find_residents(
    policy: Policy, groups: Mapping[str, tuple[str, str | None]], usage: Usage
) -> Mapping[str, tuple[Resident, ...]]:
    """Finds the pods that could be elsewhere and are not to stay.

    Pods of DaemonSets go where their node goes. A pod that no slot group serves stays, too: nothing would admit the one
    that its owner makes in its place.

    Args:
        policy: the policy.
        groups: GPU type and slot group that nodes are to have, by name; pods on other nodes are passed over.
        usage: what runs.

    Returns:
        The pods by node.
    """
    found: dict[str, list[Resident]] = {}
    for misplaced in find_misplaced(policy, groups, usage):
        pod = misplaced.pod
        if misplaced.reason is Misplacement.NOT_SERVED or (pod.owner and pod.owner.kind == _DAEMON_SET):
            continue
        found.setdefault(pod.node, []).append(_resident(pod))
    return {node: tuple(residents) for node, residents in found.items()}


def _resident(pod: GPUPod) -> Resident:
    owner = (pod.owner.kind, pod.owner.name) if pod.owner else None
    return Resident(namespace=pod.namespace, name=pod.name, gpus=pod.size, owner=owner)


def _seats_after(
    policy: Policy, states: Mapping[str, NodeState], assigned: Plan
) -> Mapping[str, tuple[str, str | None]]:
    """Returns GPU type and slot group of every node after the plan; one that is left alone has those of its labels."""
    found = {name: assigned.groups.get(name) or find_seat(policy, state) for name, state in states.items()}
    return {name: (gpu_type, group) for name, (gpu_type, group) in found.items() if gpu_type is not None}


def _find_unserved(
    policy: Policy, states: Mapping[str, NodeState], after: Mapping[str, tuple[str, str | None]], usage: Usage
) -> Iterator[Unserved]:
    """Yields the pods that run and that nothing could take the place of: not admitted, or no node is large enough.

    Nodes that offer nothing at the moment count as whole ones, and so do those with DRA.
    """
    largest: dict[tuple[str, str | None], int] = {}
    for name, seat in after.items():
        whole = policy.types_by_name[seat[0]]
        gpus = states[name].find_allocatable(whole.resource_name) or whole.gpus_per_node
        largest[seat] = max(gpus, largest.get(seat, 0))
    for pod in (pod for pod in usage.pods if not pod.is_leaving):
        problem = pod.home.problem or _find_lack(pod, largest)
        if problem is not None:
            yield Unserved(pod=_resident(pod), problem=problem)


def _find_lack(pod: GPUPod, largest: Mapping[tuple[str, str | None], int]) -> str | None:
    """Returns that no node of a pod's groups can hold it; ``largest``: GPUs by GPU type and slot group."""
    groups, types = pod.home.groups, pod.home.gpu_types
    if groups is None:
        return None
    for (gpu_type, group), gpus in largest.items():
        if gpus >= pod.size and group in groups and (types is None or gpu_type in types):
            return None
    return f"no node of {', '.join(groups)} has {counted(pod.size, 'GPU')}"


def groups_after(changes: Iterable[NodeChange]) -> Mapping[str, tuple[str, str | None]]:
    """Returns GPU type and slot group of the nodes that changes are about, as they are to be."""
    return {change.node: (change.gpu_type, change.after) for change in changes}


def _seats(policy: Policy, states: Mapping[str, NodeState], assigned: Plan) -> Iterator[Seat]:
    for name, (gpu_type, group) in assigned.groups.items():
        gpus = states[name].find_allocatable(policy.types_by_name[gpu_type].resource_name) or 0
        yield Seat(gpu_type=gpu_type, gpus=gpus, before=_current_group(policy, states[name]), after=group)


def _current_group(policy: Policy, state: NodeState) -> str | None:
    label = state.labels.get(policy.labels.node_group)
    return label if label in policy.groups_by_name else None
