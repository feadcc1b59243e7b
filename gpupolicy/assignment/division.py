"""The nodes of one GPU type, divided among the slot groups that claim them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, islice

from gpupolicy.assignment.names import NodeNames
from gpupolicy.assignment.plan import Seat
from gpupolicy.assignment.topology import choose_by_topology
from gpupolicy.errors import FieldPath
from gpupolicy.model import GPUType, NodeClaim, Policy, Topology, TopologyPlacement
from gpupolicy.node import NodeView

_NOBODY: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim of one slot group, and its place in the policy."""

    group: str
    claim: NodeClaim
    path: FieldPath


def divide(
    policy: Policy,
    gpu_type: GPUType,
    views: list[NodeView],
    used: Mapping[str, int],
    running: Mapping[str, Sequence[int]],
) -> dict[str, Seat]:
    """Gives every node of one type its seat.

    Args:
        policy: the policy.
        gpu_type: the type.
        views: its nodes, by name.
        used: GPUs in use by node name.
        running: requests of the pods on a node, by its name.

    Returns:
        Node name -> seat, for all nodes.
    """
    claims = _claims(policy, gpu_type)
    division = _Division(policy, gpu_type, views, used, running)
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
    for name in division.free:
        division.seats[name] = Seat(None, "no slot group claims it")
    return division.seats


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


def _claims(policy: Policy, gpu_type: GPUType) -> list[_Claim]:
    return [
        _Claim(group.name, claim, ("spec", "slotGroups", i, "nodes", j))
        for i, group in enumerate(policy.slot_groups)
        for j, claim in enumerate(group.nodes)
        if claim.gpu_type == gpu_type.name
    ]


class _Division:
    """The nodes of one type while they are given out; ``free`` are those that nobody has yet, by name.

    Nodes are put in order once, so that a claim looks at hardly more of them than it takes: ``members`` are the names
    of each group's nodes, fullest first, ``loose`` those without a group and ``taken`` the others, emptiest first.
    ``short`` are the GPUs of nodes that offer too few for some group of the type: of equal nodes they move first.
    """

    def __init__(
        self,
        policy: Policy,
        gpu_type: GPUType,
        views: list[NodeView],
        used: Mapping[str, int],
        running: Mapping[str, Sequence[int]],
    ) -> None:
        self.policy, self.running = policy, running
        key, groups = policy.labels.node_group, policy.groups_by_name
        labels = ((view.name, view.labels.get(key, "")) for view in views)
        self.current = {name: label for name, label in labels if label in groups}
        self.free = {view.name: view for view in views}
        self.short = _find_short(policy, gpu_type, views)
        emptiest = sorted(self.free, key=lambda name: (used.get(name, 0), name not in self.short, name))
        self.loose = [name for name in emptiest if name not in self.current]
        self.taken = [name for name in emptiest if name in self.current]
        self.members: dict[str, list[str]] = {}
        for name in sorted(
            self.current, key=lambda name: (-used.get(name, 0), self._lacks_slot(name, self.current[name]), name)
        ):
            self.members.setdefault(self.current[name], []).append(name)
        self.names = NodeNames(self.free)
        self.seats: dict[str, Seat] = {}

    def take(self, claim: _Claim, why: str) -> None:
        """Serves a claim by names, selector or count."""
        candidates = self._candidates(claim.claim)
        wanted = len(candidates) if claim.claim.count is None else claim.claim.count
        self._choose(candidates, wanted, claim, why)

    def by_narrowness(self, claims: Iterable[_Claim]) -> list[_Claim]:
        """Orders claims with a count: who has the least choice goes first, so that nobody wider takes it away."""
        return sorted(claims, key=lambda claim: len(self._candidates(claim.claim)))

    def share(self, claims: list[_Claim]) -> None:
        """Shares the free nodes by weight.

        A group keeps its fullest nodes up to its share, the rest is dealt out. Who has a topology chooses first, while
        zones are whole; it leaves to the others what they keep, as far as its zones allow.
        """
        first = {claim.group: claim for claim in reversed(claims)}
        groups = list(dict.fromkeys(claim.group for claim in claims))
        weights = {g: sum(c.claim.weight or 0 for c in claims if c.group == g) for g in groups}
        total = len(self.free)
        quotas = dict(zip(groups, largest_remainder(total, weights.values()), strict=True))
        whys = {
            g: f"has a share of {quotas[g]} of {total} nodes (weight {weights[g]} of {sum(weights.values())})"
            for g in groups
        }
        self._deal(quotas, first, whys)

    def _deal(self, quotas: dict[str, int], first: Mapping[str, _Claim], whys: Mapping[str, str]) -> None:
        """Gives each group its share, in the name of its first claim."""
        kept = self._kept(quotas)
        choosers = _choosers((group, first[group].claim.topology) for group in quotas)
        for group in choosers:
            held = frozenset(view.name for g in quotas if g != group for view in kept[g])
            self._choose(self.free, quotas[group], first[group], whys[group], held)
        others = [group for group in quotas if group not in choosers]
        for group in others:
            mine = [view for view in kept[group] if view.name in self.free]
            self._seat(mine, first[group], whys[group])
            quotas[group] -= len(mine)
        for group in others:
            self._choose(self.free, quotas[group], first[group], whys[group])

    def _kept(self, quotas: Mapping[str, int]) -> dict[str, list[NodeView]]:
        """Returns the nodes that each group keeps of those that are free: its fullest, as many as its share."""
        return {group: [*islice(self._own(self.free, group), quota)] for group, quota in quotas.items()}

    def _candidates(self, claim: NodeClaim) -> Mapping[str, NodeView]:
        """Returns the free nodes that a claim's names and selector fit; all of them are not copied."""
        found: Mapping[str, NodeView] = self.free
        if claim.names:
            found = {name: found[name] for name in self.names.find(claim.names) if name in found}
        if claim.node_selector is not None:
            matches = claim.node_selector.matches
            found = {name: view for name, view in found.items() if matches(view.labels)}
        return found

    def _choose(
        self, candidates: Mapping[str, NodeView], wanted: int, claim: _Claim, why: str, held: Set[str] = _NOBODY
    ) -> None:
        """Seats as many candidates as are wanted, by the claim's topology; ``held`` are better left to others."""
        ordered = self._by_preference(candidates, claim.group, held)
        topology = claim.claim.topology
        if topology is None:
            self._seat([*islice(ordered, wanted)], claim, why)
            return
        zones = choose_by_topology(
            topology, [*ordered], wanted, lambda view: self.current.get(view.name) == claim.group
        )
        for zone, views in zones.items():
            self._seat(views, claim, f"{why}, {_describe(topology, zone, len(views), len(zones))}")

    def _seat(self, chosen: Iterable[NodeView], claim: _Claim, why: str) -> None:
        seat = Seat(claim.group, f"slot group {claim.group} {why} ({self.policy.cite(*claim.path)})")
        for view in chosen:
            self.seats[view.name] = seat
            del self.free[view.name]

    def _by_preference(self, views: Mapping[str, NodeView], group: str, held: Set[str]) -> Iterator[NodeView]:
        """Yields nodes for a group: its own, fullest first; those without a group; those of others, emptiest first.

        Nodes that have no slot of the group are the last of all.
        """
        yield from self._own(views, group)
        others = chain(self._loose_for(group), (name for name in self.taken if self.current[name] != group))
        later, last = [], []
        for name in others:
            if name not in views:
                continue
            if self._lacks_slot(name, group):
                last.append(views[name])
            elif name in held:
                later.append(views[name])
            else:
                yield views[name]
        yield from later
        yield from last

    def _loose_for(self, group: str) -> Sequence[str]:
        """Orders the nodes without a group: with pods that may stay, then idle ones, then with pods that may not."""
        if not self.running:
            return self.loose
        sizes = self.policy.groups_by_name[group].sizes

        def key(name: str) -> tuple[int, int]:
            requests = self.running.get(name, ())
            staying = sum(request for request in requests if request in sizes)
            return sum(requests) - staying, -staying

        return sorted(self.loose, key=key)

    def _lacks_slot(self, name: str, group: str) -> bool:
        """Whether a node offers fewer GPUs than any request of a group."""
        return name in self.short and self.short[name] < min(self.policy.groups_by_name[group].sizes)

    def _own(self, views: Mapping[str, NodeView], group: str) -> Iterator[NodeView]:
        return (views[name] for name in self.members.get(group, ()) if name in views)


def _find_short(policy: Policy, gpu_type: GPUType, views: Iterable[NodeView]) -> Mapping[str, int]:
    """Returns the GPUs of nodes without a slot for some group that claims their type: a GPU lost, a smaller model."""
    smallest = (min(group.sizes) for group in policy.slot_groups if group.serves(gpu_type.name))
    wanted = min(max(smallest, default=0), gpu_type.gpus_per_node)
    offered = ((view.name, view.find_allocatable(gpu_type.resource_name)) for view in views)
    return {name: gpus for name, gpus in offered if gpus is not None and gpus < wanted}


def _choosers(wishes: Iterable[tuple[str, Topology | None]]) -> list[str]:
    """Returns the groups that have a topology: those that want to be together before those that are spread."""
    found = [(group, wish.placement) for group, wish in wishes if wish is not None]
    return [group for placement in TopologyPlacement for group, wanted in found if wanted is placement]


def _describe(topology: Topology, zone: str, nodes: int, zones: int) -> str:
    place = f"{topology.key} {zone}" if zone else f"nodes without {topology.key}"
    if topology.placement is TopologyPlacement.SPREAD:
        return f"spread, {nodes} in {place}"
    return f"together in {place}" if zones == 1 else f"together in {zones} zones, {nodes} in {place}"
