"""Which node belongs to which slot group, and the label changes that make it so. Pure: takes nodes, returns a plan.

For each GPU type the claims are served in this order: names, selectors, counts, and last the weights, which share what
is left by largest remainder. Names and a selector in one claim must both fit, and a count beside them limits them. A
node keeps its group while the group's number allows; else the emptiest nodes move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpupolicy.errors import FieldPath, UsageError
from gpupolicy.labels import matches_glob
from gpupolicy.model import GPUType, NodeClaim, Policy
from gpupolicy.node import JSONMap, NodeView

_NO_USE: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Labels to set on a node and label keys to remove from it, with the reason in one line."""

    node: str
    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
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
class _Claim:
    """A claim of one slot group, and its place in the policy."""

    group: str
    claim: NodeClaim
    path: FieldPath


@dataclass(frozen=True, slots=True)
class _Seat:
    """The group that takes a node, and why."""

    group: str | None
    reason: str


def assign(policy: Policy, nodes: Iterable[JSONMap], *, used: Mapping[str, int] = _NO_USE) -> Plan:
    """Decides the GPU type and the slot group of every node.

    Args:
        policy: the policy.
        nodes: Nodes as the Kubernetes API prints them; their order does not matter.
        used: GPUs in use by node name (a node that is not named has none); the emptiest nodes move first.

    Returns:
        The plan, by node name. Nodes of no GPU type are not in it; a second call on labels as planned changes nothing.

    Raises:
        UsageError: a node has no name, or a name stands twice.
    """
    views = _by_name(nodes)
    skipped: list[Skipped] = []
    typed: dict[str, list[NodeView]] = {gpu_type.name: [] for gpu_type in policy.gpu_types}
    type_reasons: dict[str, str] = {}
    for view in views:
        gpu_type, reason = _find_type(policy, view)
        if gpu_type is None:
            skipped += [Skipped(node=view.name, reason=reason)] if reason else []
        elif _offers_none(gpu_type, view):
            skipped.append(Skipped(node=view.name, reason=f"offers no {gpu_type.resource_name} (status.allocatable)"))
        else:
            typed[gpu_type.name].append(view)
            type_reasons[view.name] = reason
    seats = {
        name: (gpu_type.name, seat)
        for gpu_type in policy.gpu_types
        for name, seat in _divide(policy, gpu_type, typed[gpu_type.name], used).items()
    }
    changes = (
        _find_change(policy, view, *seats[view.name], type_reasons[view.name]) for view in views if view.name in seats
    )
    return Plan(
        changes=tuple(change for change in changes if change is not None),
        groups={view.name: (seats[view.name][0], seats[view.name][1].group) for view in views if view.name in seats},
        skipped=tuple(skipped),
    )


def labels_for(policy: Policy, gpu_type: str, group: str | None) -> dict[str, str]:
    """Returns the labels that the policy wants on a node of a type and group."""
    labels = {policy.labels.gpu_type: gpu_type, policy.labels.gpu_support: "true"}
    return labels if group is None else {**labels, policy.labels.node_group: group}


def largest_remainder(total: int, weights: Iterable[int]) -> tuple[int, ...]:
    """Returns whole shares of ``total`` in proportion to the weights; equal remainders: the earlier weight first.

    The shares sum up to ``total``, or to 0 where no weight is above 0.
    """
    weights = tuple(weights)
    whole = sum(weights)
    if whole <= 0:
        return (0,) * len(weights)
    shares = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    return tuple(shares)


def _by_name(nodes: Iterable[JSONMap]) -> list[NodeView]:
    views: dict[str, NodeView] = {}
    for view in map(NodeView, nodes):
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


def _claims(policy: Policy, gpu_type: GPUType) -> list[_Claim]:
    return [
        _Claim(group.name, claim, ("spec", "slotGroups", i, "nodes", j))
        for i, group in enumerate(policy.slot_groups)
        for j, claim in enumerate(group.nodes)
        if claim.gpu_type == gpu_type.name
    ]


def _divide(policy: Policy, gpu_type: GPUType, views: list[NodeView], used: Mapping[str, int]) -> dict[str, _Seat]:
    """Gives every node of one type its seat."""
    claims = _claims(policy, gpu_type)
    division = _Division(policy, views, used)
    whole = [claim for claim in claims if claim.claim.count is None]
    for claim in whole:
        if claim.claim.names:
            division.take(claim, "names it")
    for claim in whole:
        if not claim.claim.names and claim.claim.node_selector is not None:
            division.take(claim, "selects it")
    for claim in division.by_narrowness(claim for claim in claims if claim.claim.count is not None):
        nodes = "1 node" if claim.claim.count == 1 else f"{claim.claim.count} nodes"
        division.take(claim, f"takes {nodes} of GPU type {gpu_type.name}")
    division.share([claim for claim in claims if claim.claim.weight])
    for view in division.free:
        division.seats[view.name] = _Seat(None, "no slot group claims it")
    return division.seats


class _Division:
    """The nodes of one type while they are given out; ``free`` are those that nobody has yet, by name."""

    def __init__(self, policy: Policy, views: list[NodeView], used: Mapping[str, int]) -> None:
        self.policy, self.used = policy, used
        self.free = list(views)
        self.seats: dict[str, _Seat] = {}

    def take(self, claim: _Claim, why: str) -> None:
        """Serves a claim by names, selector or count."""
        candidates = [view for view in self.free if _is_claimed(claim.claim, view)]
        wanted = len(candidates) if claim.claim.count is None else claim.claim.count
        self._seat(self._by_preference(candidates, claim.group)[:wanted], claim, why)

    def by_narrowness(self, claims: Iterable[_Claim]) -> list[_Claim]:
        """Orders claims with a count: who has the least choice goes first, so that nobody wider takes it away."""
        return sorted(claims, key=lambda claim: sum(_is_claimed(claim.claim, view) for view in self.free))

    def share(self, claims: list[_Claim]) -> None:
        """Shares the free nodes by weight: a group keeps its fullest nodes up to its share, the rest is dealt out."""
        first = {claim.group: claim for claim in reversed(claims)}
        groups = list(dict.fromkeys(claim.group for claim in claims))
        weights = {g: sum(c.claim.weight or 0 for c in claims if c.group == g) for g in groups}
        total = len(self.free)
        quotas = dict(zip(groups, largest_remainder(total, weights.values()), strict=True))
        whys = {
            g: f"has a share of {quotas[g]} of {total} nodes (weight {weights[g]} of {sum(weights.values())})"
            for g in groups
        }
        for group in groups:
            kept = [view for view in self._by_preference(self.free, group) if self._current(view) == group]
            self._seat(kept[: quotas[group]], first[group], whys[group])
            quotas[group] -= min(len(kept), quotas[group])
        for group in groups:
            self._seat(self.free[: quotas[group]], first[group], whys[group])

    def _seat(self, chosen: list[NodeView], claim: _Claim, why: str) -> None:
        seat = _Seat(claim.group, f"slot group {claim.group} {why} ({self.policy.cite(*claim.path)})")
        self.seats.update((view.name, seat) for view in chosen)
        self.free = [view for view in self.free if view.name not in self.seats]

    def _by_preference(self, views: list[NodeView], group: str) -> list[NodeView]:
        """Orders nodes for a group: its own, fullest first; those without a group; those of others, emptiest first."""

        def key(view: NodeView) -> tuple[int, int, str]:
            current, gpus = self._current(view), self.used.get(view.name, 0)
            if current == group:
                return 0, -gpus, view.name
            return (1 if current is None else 2), gpus, view.name

        return sorted(views, key=key)

    def _current(self, view: NodeView) -> str | None:
        label = view.labels.get(self.policy.labels.node_group)
        return label if label in self.policy.groups_by_name else None


def _is_claimed(claim: NodeClaim, view: NodeView) -> bool:
    if claim.names and not matches_glob(view.name, claim.names):
        return False
    return claim.node_selector is None or claim.node_selector.matches(view.labels)


def _find_change(policy: Policy, view: NodeView, gpu_type: str, seat: _Seat, type_reason: str) -> Change | None:
    wanted = labels_for(policy, gpu_type, seat.group)
    missing = {key: value for key, value in wanted.items() if view.labels.get(key) != value}
    owned = (policy.labels.gpu_type, policy.labels.gpu_support, policy.labels.node_group)
    surplus = tuple(key for key in owned if key in view.labels and key not in wanted)
    if not missing and not surplus:
        return None
    reasons = "; ".join(_reasons(policy, missing, surplus, type_reason, seat.reason))
    return Change(node=view.name, set=missing, remove=surplus, reason=reasons)


def _reasons(
    policy: Policy, missing: Mapping[str, str], surplus: tuple[str, ...], type_reason: str, group_reason: str
) -> Iterator[str]:
    group_changes = policy.labels.node_group in missing or surplus
    if policy.labels.gpu_type in missing or not group_changes:
        yield type_reason
    if group_changes:
        yield group_reason
