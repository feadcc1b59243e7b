"""How many nodes each zone (or rack) gives to a claim, by what its topology says. Knows nothing of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import assert_never

from gpupolicy.model import Topology, TopologyPlacement
from gpupolicy.node import NodeView


@dataclass(slots=True)
class _Zone:
    """The nodes with one value of the label, best first; ``own`` of them, the first ones, have the group already."""

    name: str
    nodes: list[NodeView] = field(default_factory=list)
    own: int = 0

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Who comes first: nodes without the label last, then who has most of the group, then the larger zone."""
        return not self.name, -self.own, -self.size, self.name


def choose_by_topology(
    topology: Topology, nodes: Iterable[NodeView], wanted: int, is_own: Callable[[NodeView], bool]
) -> dict[str, list[NodeView]]:
    """Chooses nodes for a claim.

    ``together`` takes as few zones as can hold the nodes, and of these choices the one that keeps most nodes;
    ``spread`` takes numbers that differ by at most one as far as the zones have nodes. Nodes without the label are a
    zone of their own, the last one. Nodes chosen once are chosen again.

    Args:
        topology: the wish.
        nodes: the candidates, best first; those for which ``is_own`` holds come before the others.
        wanted: how many are wanted.
        is_own: whether a node belongs to the group already.

    Returns:
        Zone -> nodes; no zone without nodes. All candidates where there are not more than wanted.
    """
    zones = _by_zone(topology.key, nodes, is_own)
    wanted = min(wanted, sum(zone.size for zone in zones))
    match topology.placement:
        case TopologyPlacement.TOGETHER:
            amounts = _amounts_together(zones, wanted)
        case TopologyPlacement.SPREAD:
            amounts = _amounts_spread(zones, wanted)
        case _:
            assert_never(topology.placement)
    return {zone.name: zone.nodes[: amounts[zone.name]] for zone in zones if amounts.get(zone.name)}


def _by_zone(key: str, nodes: Iterable[NodeView], is_own: Callable[[NodeView], bool]) -> list[_Zone]:
    zones: dict[str, _Zone] = {}
    for node in nodes:
        name = node.labels.get(key, "")
        zone = zones.setdefault(name, _Zone(name))
        zone.nodes.append(node)
        zone.own += is_own(node)
    return sorted(zones.values(), key=lambda zone: zone.rank)


def _amounts_together(zones: list[_Zone], wanted: int) -> dict[str, int]:
    """Keeps own nodes first and then fills up, so that a node which joins a zone moves nobody."""
    chosen = _fewest_zones(zones, wanted)
    amounts: dict[str, int] = {}
    left = wanted
    for zone in chosen:
        amounts[zone.name] = min(zone.own, left)
        left -= amounts[zone.name]
    for zone in chosen:
        more = min(zone.size - amounts[zone.name], left)
        amounts[zone.name] += more
        left -= more
    return amounts


def _fewest_zones(zones: list[_Zone], wanted: int) -> list[_Zone]:
    """Returns as few zones as can hold the nodes: those of the best rank that keep the number smallest.

    ``largest`` are the zones that would complete the choice; the others have to make up for the ones they replace.
    """
    largest: dict[str, _Zone] = {}
    spare = -wanted
    for zone in sorted(zones, key=lambda zone: (not zone.name, -zone.size, zone.rank)):
        if spare >= 0:
            break
        largest[zone.name] = zone
        spare += zone.size
    chosen: list[_Zone] = []
    for zone in zones:
        if not largest:
            break
        if zone.name in largest:
            del largest[zone.name]
            chosen.append(zone)
        elif (lost := next(reversed(largest.values())).size - zone.size) <= spare:
            largest.popitem()
            spare -= lost
            chosen.append(zone)
    return chosen


def _amounts_spread(zones: list[_Zone], wanted: int) -> dict[str, int]:
    """Empties the zones that have less than an equal share, and divides the rest equally among the others."""
    amounts: dict[str, int] = {}
    left = wanted
    rising = sorted(zones, key=lambda zone: zone.size)
    for position, zone in enumerate(rising):
        if zone.size > left // (len(rising) - position):
            break
        amounts[zone.name] = zone.size
        left -= zone.size
    larger = [zone for zone in zones if zone.name not in amounts]
    share, rest = divmod(left, len(larger)) if larger else (0, 0)
    for position, zone in enumerate(larger):
        amounts[zone.name] = share + (position < rest)
    return amounts
