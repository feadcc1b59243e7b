"""The outcome of an assignment: labels and taints to set and to remove, each change with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpupolicy.model import Policy, Taint
from gpupolicy.node import JSONMap, NodeView


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Labels and taints to set on a node and to remove from it, with the reason in one line.

    ``remove`` are label keys. A taint is known by key and effect: one that is set replaces the value of one that is
    there, and ``remove_taints`` are those that go without a successor. All of them have the policy's own keys.
    """

    node: str
    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    set_taints: tuple[Taint, ...] = ()
    remove_taints: tuple[Taint, ...] = ()
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A node that is left as it is although its type is known or in doubt, with the reason."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The outcome. ``groups``: node -> (GPU type, slot group); the group is None where no claim takes the node."""

    changes: tuple[Change, ...] = ()
    groups: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Seat:
    """The group that takes a node, and why."""

    group: str | None
    reason: str


def labels_for(policy: Policy, gpu_type: str, group: str | None) -> dict[str, str]:
    """Returns the labels that the policy wants on a node of a type and group."""
    labels = {policy.labels.gpu_type: gpu_type, policy.labels.gpu_support: "true"}
    return labels if group is None else {**labels, policy.labels.node_group: group}


def taints_for(policy: Policy, group: str | None) -> tuple[Taint, ...]:
    """Returns the taints that the policy wants on a node of a group: at most one; others are none of its business."""
    taint = policy.taints_by_group.get(group) if group is not None else None
    return () if taint is None else (taint,)


def find_change(policy: Policy, view: NodeView, gpu_type: str, seat: Seat, type_reason: str) -> Change | None:
    """Returns what has to be changed on a node of a type that sits in a group; None where it is as it should be."""
    wanted = labels_for(policy, gpu_type, seat.group)
    missing = {key: value for key, value in wanted.items() if view.labels.get(key) != value}
    owned = (policy.labels.gpu_type, policy.labels.gpu_support, policy.labels.node_group)
    surplus = tuple(key for key in owned if key in view.labels and key not in wanted)
    set_taints, remove_taints = _compare_taints(policy, view, seat.group)
    if not (missing or surplus or set_taints or remove_taints):
        return None
    reasons = [*_label_reasons(policy, missing, surplus, type_reason, seat.reason)]
    if set_taints or remove_taints:
        reasons.append(_taint_reason(policy, seat))
    return Change(
        node=view.name,
        set=missing,
        remove=surplus,
        set_taints=set_taints,
        remove_taints=remove_taints,
        reason="; ".join(dict.fromkeys(reasons)),
    )


def _compare_taints(policy: Policy, view: NodeView, group: str | None) -> tuple[tuple[Taint, ...], tuple[Taint, ...]]:
    """Returns the taints to set and to remove, of those with our key."""
    wanted = taints_for(policy, group)
    present = [_read_taint(raw) for raw in view.taints if raw.get("key") == policy.labels.node_group]
    kept = {taint.effect for taint in wanted}
    return (
        tuple(taint for taint in wanted if taint not in present),
        tuple(taint for taint in present if taint.effect not in kept),
    )


def _read_taint(raw: JSONMap) -> Taint:
    value, effect = raw.get("value"), raw.get("effect")
    return Taint(
        key=str(raw.get("key")),
        value=value if isinstance(value, str) else "",
        effect=effect if isinstance(effect, str) else "",
    )


def _label_reasons(
    policy: Policy, missing: Mapping[str, str], surplus: tuple[str, ...], type_reason: str, group_reason: str
) -> Iterator[str]:
    group_changes = policy.labels.node_group in missing or surplus
    if policy.labels.gpu_type in missing or (missing and not group_changes):
        yield type_reason
    if group_changes:
        yield group_reason


def _taint_reason(policy: Policy, seat: Seat) -> str:
    if seat.group is None:
        return seat.reason
    index = list(policy.groups_by_name).index(seat.group)
    cited = policy.cite("spec", "slotGroups", index, "taint")
    for taint in taints_for(policy, seat.group):
        return f"slot group {seat.group} has a taint of effect {taint.effect} ({cited})"
    return f"slot group {seat.group} has no taint ({cited})"
