"""Whether a plan still holds for a node: what mattered when it was made, against what is now. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpupolicy.assignment import taints_for
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Policy
from gpupolicy.rollout.ownership import label_owners
from gpupolicy.rollout.plan import NodeChange, Resident, Seen
from gpupolicy.rollout.state import NodeState, taint_key, told_taint


def mentioned_labels(policy: Policy) -> frozenset[str]:
    """Returns the keys of all labels by which a policy assigns nodes, its own ones among them."""
    keys = {policy.labels.gpu_type, policy.labels.gpu_support, policy.labels.node_group}
    keys |= {key for gpu_type in policy.gpu_types for key in _selected(gpu_type.node_selector)}
    for group in policy.slot_groups:
        for claim in group.nodes:
            keys |= {*_selected(claim.node_selector), *((claim.topology.key,) if claim.topology else ())}
    return frozenset(keys)


def look(policy: Policy, state: NodeState, gpu_type: str) -> Seen:
    """Returns what matters about a node to a plan.

    A node's resourceVersion changes with every heartbeat, so it only tells that a node is worth another look.
    """
    mentioned = mentioned_labels(policy)
    return Seen(
        resource_version=state.resource_version,
        uid=state.uid,
        labels={key: value for key, value in sorted(state.labels.items()) if key in mentioned},
        taints=_own_taints(policy, state),
        is_unschedulable=state.is_unschedulable and state.cordoned_by is None,
        allocatable=state.find_allocatable(policy.types_by_name[gpu_type].resource_name),
    )


def is_done(policy: Policy, change: NodeChange, state: NodeState) -> bool:
    """Returns whether a node already is as a change wants it: an earlier apply came this far."""
    labels = all(state.labels.get(key) == value for key, value in change.wanted.items())
    surplus = any(key in state.labels for key in change.remove)
    wanted = tuple(sorted(str(taint) for taint in taints_for(policy, change.after)))
    return labels and not surplus and _own_taints(policy, state) == wanted


def find_differences(policy: Policy, change: NodeChange, state: NodeState) -> tuple[str, ...]:
    """Returns what has changed about a node since the plan was made, as far as it matters; empty: the plan holds."""
    seen, now = change.seen, look(policy, state, change.gpu_type)
    if seen.uid and now.uid and seen.uid != now.uid:
        return ("it is another node of the same name",)
    return tuple(_differences(change, seen, now, state))


def find_newcomers(change: NodeChange, residents: Iterable[Resident]) -> tuple[str, ...]:
    """Returns pods that would be misplaced and that the plan did not know."""
    known = {str(resident) for resident in change.residents}
    return tuple(str(resident) for resident in residents if str(resident) not in known)


def _differences(change: NodeChange, seen: Seen, now: Seen, state: NodeState) -> Iterator[str]:
    for key in sorted({*seen.labels, *now.labels}):
        before, after = seen.labels.get(key), now.labels.get(key)
        if before != after and not _is_planned(change, key, after):
            owner = next(iter(label_owners(state.node, key)), None)
            by = f" (by {owner.told()})" if owner and after is not None else ""
            yield f"label {key} was {_told(before)} and is {_told(after)}{by}"
    wanted = {str(taint) for taint in change.set_taints}
    if seen.taints != now.taints and not set(now.taints) <= wanted:
        yield f"its taints were {_listed(seen.taints)} and are {_listed(now.taints)}"
    if seen.is_unschedulable != now.is_unschedulable:
        yield "it was cordoned" if now.is_unschedulable else "it was uncordoned"
    if seen.allocatable != now.allocatable:
        yield f"it offered {_told(seen.allocatable)} GPUs and offers {_told(now.allocatable)}"


def _is_planned(change: NodeChange, key: str, value: str | None) -> bool:
    return key in change.remove if value is None else change.wanted.get(key) == value


def _own_taints(policy: Policy, state: NodeState) -> tuple[str, ...]:
    key = policy.labels.node_group
    return tuple(sorted(told_taint(taint) for taint in state.taints if taint_key(taint)[0] == key))


def _selected(selector: LabelSelector | None) -> Iterator[str]:
    return (requirement.key for requirement in (selector.to_requirements() if selector else ()))


def _told(value: str | int | None) -> str:
    return "absent" if value is None else str(value)


def _listed(taints: tuple[str, ...]) -> str:
    return ", ".join(taints) or "none"
