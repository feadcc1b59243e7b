"""Laws of the assignment of nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from builders import GROUP, TYPE, policy
from hypothesis import given
from hypothesis import strategies as st

from gpupolicy.assignment import Change, Plan, assign, largest_remainder, taints_for
from gpupolicy.model import GPUType, NodeClaim, Policy, SlotGroup, TaintEffect, Topology, TopologyPlacement

GROUPS = ("A", "B", "C")
TYPES = ("V100", "A100")
NODE_NAMES = st.integers(min_value=0, max_value=30).map(lambda number: f"gpu-{number:02}")
GLOBS = st.sampled_from(("gpu-0*", "gpu-1?", "gpu-*", "gpu-05", "other"))
ZONES = st.sampled_from(("a", "b", "c", None))
TOPOLOGIES = st.none() | st.builds(
    Topology, placement=st.sampled_from(TopologyPlacement), key=st.sampled_from(("zone", "rack"))
)
TAINTS = st.none() | st.sampled_from(TaintEffect)
Node = dict[str, object]


@st.composite
def claims(draw: st.DrawFn) -> NodeClaim:
    """Claims of every kind."""
    return NodeClaim(
        gpu_type=draw(st.sampled_from(TYPES)),
        names=draw(st.lists(GLOBS, max_size=2).map(tuple)),
        count=draw(st.none() | st.integers(min_value=0, max_value=9)),
        weight=draw(st.none() | st.integers(min_value=0, max_value=5)),
        topology=draw(TOPOLOGIES),
    )


@st.composite
def policies(draw: st.DrawFn, claims: st.SearchStrategy[NodeClaim]) -> Policy:
    """Policies of two types and three groups, some of them tainted."""
    groups = [
        SlotGroup(
            name=name, sizes=(8,), nodes=_loadable(draw(st.lists(claims, min_size=1, max_size=4))), taint=draw(TAINTS)
        )
        for name in GROUPS
    ]
    return policy(*groups, types=tuple(GPUType(name=name, gpus_per_node=8) for name in TYPES))


def _loadable(claims: list[NodeClaim]) -> tuple[NodeClaim, ...]:
    """The claims without the topologies that lint calls an error: beside another claim with a choice."""
    choosing = Counter(claim.gpu_type for claim in claims if claim.count or claim.weight)
    return tuple(replace(c, topology=c.topology if choosing[c.gpu_type] < 2 else None) for c in claims)


WEIGHTED = st.builds(
    NodeClaim, gpu_type=st.sampled_from(TYPES), weight=st.integers(min_value=1, max_value=5), topology=TOPOLOGIES
)


@st.composite
def inventories(draw: st.DrawFn) -> list[Node]:
    """Nodes of both types, some of them in a group already."""
    names = draw(st.lists(NODE_NAMES, unique=True, max_size=20))
    return [
        _node(
            name,
            {
                TYPE: draw(st.sampled_from(TYPES)),
                GROUP: draw(st.none() | st.sampled_from((*GROUPS, "GONE"))),
                "zone": draw(ZONES),
                "rack": draw(ZONES),
            },
            draw(st.lists(NODE_TAINTS, max_size=2, unique_by=lambda taint: (taint["key"], taint["effect"]))),
        )
        for name in names
    ]


NODE_TAINTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from((GROUP, "nvidia.com/gpu")),
        "value": st.sampled_from(GROUPS),
        "effect": st.sampled_from([str(effect) for effect in TaintEffect]),
    }
)


def _node(name: str, labels: dict[str, str | None], taints: list[dict[str, str]]) -> Node:
    return {
        "metadata": {"name": name, "labels": {key: value for key, value in labels.items() if value is not None}},
        "spec": {"taints": taints},
        "status": {"allocatable": {"nvidia.com/gpu": "8"}},
    }


USE = st.dictionaries(NODE_NAMES, st.integers(min_value=0, max_value=8))


def _applied(nodes: list[Node], plan: Plan) -> list[Node]:
    changes = {change.node: change for change in plan.changes}
    applied = []
    for node in nodes:
        metadata = node["metadata"]
        assert isinstance(metadata, dict)
        change = changes.get(metadata["name"])
        labels = {**metadata["labels"], **(change.set if change else {})}
        kept = {key: value for key, value in labels.items() if not change or key not in change.remove}
        taints = _tainted(node, change) if change else _taints(node)
        applied.append({**node, "metadata": {**metadata, "labels": kept}, "spec": {"taints": taints}})
    return applied


def _taints(node: Node) -> list[dict[str, str]]:
    spec = node["spec"]
    assert isinstance(spec, dict)
    return list(spec["taints"])


def _tainted(node: Node, change: Change) -> list[dict[str, str]]:
    gone = {(taint.key, taint.effect) for taint in (*change.set_taints, *change.remove_taints)}
    kept = [taint for taint in _taints(node) if (taint["key"], taint["effect"]) not in gone]
    return kept + [taint.to_json() for taint in change.set_taints]


@given(policies(WEIGHTED), inventories(), USE)
def test_every_typed_node_is_in_exactly_one_group_where_weights_take_the_rest(
    chosen: Policy, nodes: list[Node], used: dict[str, int]
) -> None:
    served = {claim.gpu_type for group in chosen.slot_groups for claim in group.nodes}

    plan = assign(chosen, nodes, used=used)

    assert len(plan.groups) == len(nodes)
    assert {group for gpu_type, group in plan.groups.values() if gpu_type in served} <= set(GROUPS)


@given(policies(WEIGHTED), inventories(), USE)
def test_groups_have_their_share_by_largest_remainder(chosen: Policy, nodes: list[Node], used: dict[str, int]) -> None:
    plan = assign(chosen, nodes, used=used)

    for gpu_type in TYPES:
        weights = [
            sum(claim.weight or 0 for claim in group.nodes if claim.gpu_type == gpu_type)
            for group in chosen.slot_groups
        ]
        placed = Counter(group for owner, group in plan.groups.values() if owner == gpu_type)
        total = placed.total() if any(weights) else 0
        assert tuple(placed[name] for name in GROUPS) == largest_remainder(total, weights)


@given(policies(claims()), inventories(), USE)
def test_a_second_assignment_changes_nothing(chosen: Policy, nodes: list[Node], used: dict[str, int]) -> None:
    once = assign(chosen, nodes, used=used)

    twice = assign(chosen, _applied(nodes, once), used=used)

    assert twice.changes == ()
    assert twice.groups == once.groups


@given(policies(claims()), inventories(), USE, st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_does_not_matter(
    chosen: Policy, nodes: list[Node], used: dict[str, int], random: object
) -> None:
    shuffled = sorted(nodes, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert assign(chosen, shuffled, used=used) == assign(chosen, nodes, used=used)


def without_topology(chosen: Policy) -> Policy:
    groups = (
        replace(group, nodes=tuple(replace(claim, topology=None) for claim in group.nodes))
        for group in chosen.slot_groups
    )
    return replace(chosen, slot_groups=tuple(groups))


@given(policies(WEIGHTED), inventories(), USE)
def test_a_topology_decides_which_nodes_but_not_how_many(
    chosen: Policy, nodes: list[Node], used: dict[str, int]
) -> None:
    anywhere = assign(without_topology(chosen), nodes, used=used)

    assert Counter(assign(chosen, nodes, used=used).groups.values()) == Counter(anywhere.groups.values())


COUNTED = st.builds(
    NodeClaim, gpu_type=st.just("V100"), count=st.integers(min_value=1, max_value=9), topology=TOPOLOGIES.filter(bool)
)


@st.composite
def counted_policies(draw: st.DrawFn) -> Policy:
    """Policies of one group that takes a number of nodes."""
    return policy(SlotGroup(name="A", sizes=(8,), nodes=(draw(COUNTED),)))


def _by_zone(chosen: Policy, nodes: list[Node], used: dict[str, int]) -> tuple[Counter[str], Counter[str]]:
    """How many nodes each zone gives to the group A, and how many it has."""
    (claim,) = chosen.slot_groups[0].nodes
    groups = assign(chosen, nodes, used=used).groups
    taken: Counter[str] = Counter()
    there: Counter[str] = Counter()
    for node in nodes:
        metadata = node["metadata"]
        assert isinstance(metadata, dict)
        assert claim.topology is not None
        zone = metadata["labels"].get(claim.topology.key, "")
        gpu_type, group = groups[metadata["name"]]
        there[zone] += gpu_type == "V100"
        taken[zone] += group == "A"
    return taken, there


@given(counted_policies(), inventories(), USE)
def test_a_zone_gives_two_less_than_another_only_where_it_has_no_more_or_the_nodes_are_kept_together(
    chosen: Policy, nodes: list[Node], used: dict[str, int]
) -> None:
    (claim,) = chosen.slot_groups[0].nodes
    taken, there = _by_zone(chosen, nodes, used)
    assert claim.topology is not None

    assert claim.topology.placement is TopologyPlacement.TOGETHER or all(
        taken[zone] == there[zone] for zone in taken if taken[zone] + 1 < max(taken.values())
    )


@given(counted_policies(), inventories(), USE)
def test_nodes_that_are_together_need_as_few_zones_as_possible(
    chosen: Policy, nodes: list[Node], used: dict[str, int]
) -> None:
    (claim,) = chosen.slot_groups[0].nodes
    taken, there = _by_zone(chosen, nodes, used)
    assert claim.topology is not None
    zones = sum(1 for zone in taken if zone and taken[zone])
    largest = sorted((there[zone] for zone in there if zone), reverse=True)

    assert (
        claim.topology.placement is TopologyPlacement.SPREAD or sum(largest[: zones - 1]) < taken.total() or not zones
    )


@given(policies(claims()), inventories(), USE)
def test_after_a_plan_each_node_has_the_taint_of_its_group_and_those_of_others_as_they_were(
    chosen: Policy, nodes: list[Node], used: dict[str, int]
) -> None:
    plan = assign(chosen, nodes, used=used)

    for before, after in zip(nodes, _applied(nodes, plan), strict=True):
        metadata = after["metadata"]
        assert isinstance(metadata, dict)
        ours = [taint for taint in _taints(after) if taint["key"] == GROUP]
        wanted = taints_for(chosen, plan.groups[metadata["name"]][1])
        assert ours == [taint.to_json() for taint in wanted]
        assert [t for t in _taints(after) if t["key"] != GROUP] == [t for t in _taints(before) if t["key"] != GROUP]


@given(policies(WEIGHTED), inventories(), USE, USE)
def test_use_decides_who_moves_but_not_how_many(
    chosen: Policy, nodes: list[Node], used: dict[str, int], otherwise: dict[str, int]
) -> None:
    anywhere = without_topology(chosen)
    first, second = assign(anywhere, nodes, used=used), assign(anywhere, nodes, used=otherwise)

    assert Counter(first.groups.values()) == Counter(second.groups.values())
    assert _moves(first) == _moves(second)


def _moves(plan: Plan) -> int:
    return sum(1 for change in plan.changes if GROUP in change.set or GROUP in change.remove)


@given(st.integers(min_value=0, max_value=10_000), st.lists(st.integers(min_value=0, max_value=1000), max_size=8))
def test_shares_sum_up_and_none_is_off_by_a_whole_one(total: int, weights: list[int]) -> None:
    shares = largest_remainder(total, weights)
    whole = sum(weights)

    assert sum(shares) == (total if whole else 0)
    assert (
        all(abs(share * whole - total * weight) < whole for share, weight in zip(shares, weights, strict=True))
        or not whole
    )
