"""Which zones give the nodes that a count or a weight takes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from builders import GROUP, TYPE, node, policy

from gpupolicy.assignment import assign
from gpupolicy.model import NodeClaim, Policy, SlotGroup, Topology, TopologyPlacement

ZONE = "topology.kubernetes.io/zone"
TOGETHER, SPREAD = (Topology(placement=placement) for placement in TopologyPlacement)
Nodes = list[dict[str, object]]


def claim(topology: Topology | None = None, **fields: object) -> NodeClaim:
    return NodeClaim(gpu_type="V100", topology=topology, **fields)  # type: ignore[arg-type]


def groups(**claims: NodeClaim) -> Policy:
    """A policy with a slot group for each keyword."""
    return policy(*(SlotGroup(name=name, sizes=(8,), nodes=(claim,)) for name, claim in claims.items()))


def fleet(own: Mapping[str, str] | None = None, **zones: int) -> Nodes:
    """So many nodes in each zone, called a1, a2, ...; zone ``none`` stands for no label. ``own``: node -> group."""
    names = [(zone, f"{zone}{number}") for zone, nodes in zones.items() for number in range(1, nodes + 1)]
    return [_node(name, {} if zone == "none" else {ZONE: zone}, (own or {}).get(name)) for zone, name in names]


def _node(name: str, zone: Mapping[str, str], group: str | None) -> dict[str, object]:
    return node(name, labels={TYPE: "V100", **zone, **({GROUP: group} if group else {})})


def taken(chosen: Policy, nodes: Nodes, group: str = "A") -> list[str]:
    """Names of the nodes that a group has."""
    return [name for name, (_, owner) in assign(chosen, nodes).groups.items() if owner == group]


@pytest.mark.parametrize(
    ("wanted", "zones", "names"),
    [
        pytest.param(2, {"a": 1, "b": 2, "c": 3}, ["c1", "c2"], id="the-largest-zone"),
        pytest.param(4, {"a": 2, "b": 3, "c": 2}, ["a1", "b1", "b2", "b3"], id="the-last-zone-in-part"),
        pytest.param(2, {"b": 2, "a": 2}, ["a1", "a2"], id="equal-zones-by-name"),
        pytest.param(2, {"a": 2, "none": 5}, ["a1", "a2"], id="nodes-without-the-label-last"),
        pytest.param(4, {"a": 2, "none": 5}, ["a1", "a2", "none1", "none2"], id="nodes-without-the-label-where-needed"),
        pytest.param(9, {"a": 1, "b": 1}, ["a1", "b1"], id="all-where-there-are-too-few"),
    ],
)
def test_together_takes_as_few_zones_as_possible(wanted: int, zones: dict[str, int], names: list[str]) -> None:
    assert taken(groups(A=claim(TOGETHER, count=wanted)), fleet(**zones)) == names


@pytest.mark.parametrize(
    ("wanted", "zones", "names"),
    [
        pytest.param(4, {"a": 3, "b": 3}, ["a1", "a2", "b1", "b2"], id="equal"),
        pytest.param(3, {"a": 3, "b": 3}, ["a1", "a2", "b1"], id="the-rest-goes-to-the-first"),
        pytest.param(3, {"a": 2, "b": 3}, ["a1", "b1", "b2"], id="the-rest-goes-to-the-largest"),
        pytest.param(5, {"a": 1, "b": 4, "c": 4}, ["a1", "b1", "b2", "c1", "c2"], id="a-small-zone-gives-all"),
        pytest.param(3, {"a": 2, "none": 5}, ["a1", "a2", "none1"], id="nodes-without-the-label-last"),
        pytest.param(9, {"a": 1, "b": 1}, ["a1", "b1"], id="all-where-there-are-too-few"),
    ],
)
def test_spread_takes_from_all_zones_alike(wanted: int, zones: dict[str, int], names: list[str]) -> None:
    assert taken(groups(A=claim(SPREAD, count=wanted)), fleet(**zones)) == names


def test_a_zone_that_grows_moves_no_group_that_is_together() -> None:
    """Else every new node could drain a whole group."""
    own = {"a1": "A", "a2": "A"}

    assert taken(groups(A=claim(TOGETHER, count=2)), fleet(own, a=2, b=5)) == ["a1", "a2"]


def test_together_keeps_what_it_has_as_long_as_it_needs_no_more_zones() -> None:
    own = {"a1": "A", "b1": "A", "c1": "A"}

    assert taken(groups(A=claim(TOGETHER, count=5)), fleet(own, a=2, b=3, c=4)) == ["b1", "c1", "c2", "c3", "c4"]


def test_the_rest_of_a_spread_stays_where_it_is() -> None:
    assert taken(groups(A=claim(SPREAD, count=3)), fleet({"b1": "A", "b2": "A"}, a=3, b=3)) == ["a1", "b1", "b2"]


def test_in_a_zone_the_fullest_nodes_stay_and_the_emptiest_move() -> None:
    chosen = groups(A=claim(SPREAD, count=2), B=claim(weight=1))
    nodes = fleet({"a1": "A", "a2": "A", "b1": "B", "b2": "B"}, a=2, b=2)

    plan = assign(chosen, nodes, used={"a2": 4, "b1": 8, "b2": 1})

    assert {name for name, (_, group) in plan.groups.items() if group == "A"} == {"a2", "b2"}


def test_a_share_by_weight_is_together_too() -> None:
    chosen = groups(B=claim(weight=1), A=claim(TOGETHER, weight=1))

    assert taken(chosen, fleet(a=2, b=2)) == ["a1", "a2"]


def test_who_wants_a_whole_zone_chooses_before_who_takes_from_all() -> None:
    chosen = groups(B=claim(SPREAD, weight=1), A=claim(TOGETHER, weight=1))

    assert taken(chosen, fleet(a=2, b=2)) == ["a1", "a2"]


def test_a_share_leaves_to_others_what_they_keep() -> None:
    chosen = groups(A=claim(SPREAD, weight=1), B=claim(weight=1))

    assert taken(chosen, fleet({"a1": "B", "b1": "B"}, a=2, b=2)) == ["a2", "b2"]


@pytest.mark.parametrize(
    ("topology", "wanted", "reasons"),
    [
        pytest.param(TOGETHER, 2, {f"together in {ZONE} a"}, id="together"),
        pytest.param(
            TOGETHER,
            3,
            {f"together in 2 zones, 2 in {ZONE} a", f"together in 2 zones, 1 in nodes without {ZONE}"},
            id="together-in-several",
        ),
        pytest.param(SPREAD, 2, {f"spread, 1 in {ZONE} a", f"spread, 1 in nodes without {ZONE}"}, id="spread"),
    ],
)
def test_a_change_says_the_zone(topology: Topology, wanted: int, reasons: set[str]) -> None:
    plan = assign(groups(A=claim(topology, count=wanted)), fleet(a=2, none=2))

    told = {change.reason for change in plan.changes if GROUP in change.set}
    assert told == {f"slot group A takes {wanted} nodes of GPU type V100, {reason} (policy)" for reason in reasons}


def test_another_label_may_say_where_nodes_stand() -> None:
    rack = Topology(placement=TopologyPlacement.TOGETHER, key="rack")
    nodes = [node(f"n{i}", labels={TYPE: "V100", "rack": "r1" if i else "r0"}) for i in range(3)]

    assert taken(groups(A=claim(rack, count=2)), nodes) == ["n1", "n2"]
