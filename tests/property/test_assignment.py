"""Laws of the assignment of nodes."""

from __future__ import annotations

from collections import Counter

from builders import GROUP, TYPE, policy
from hypothesis import given
from hypothesis import strategies as st

from gpupolicy.assignment import Plan, assign, largest_remainder
from gpupolicy.model import GPUType, NodeClaim, Policy, SlotGroup

GROUPS = ("A", "B", "C")
TYPES = ("V100", "A100")
NODE_NAMES = st.integers(min_value=0, max_value=30).map(lambda number: f"gpu-{number:02}")
GLOBS = st.sampled_from(("gpu-0*", "gpu-1?", "gpu-*", "gpu-05", "other"))
Node = dict[str, object]


@st.composite
def claims(draw: st.DrawFn) -> NodeClaim:
    """Claims of every kind."""
    return NodeClaim(
        gpu_type=draw(st.sampled_from(TYPES)),
        names=draw(st.lists(GLOBS, max_size=2).map(tuple)),
        count=draw(st.none() | st.integers(min_value=0, max_value=9)),
        weight=draw(st.none() | st.integers(min_value=0, max_value=5)),
    )


@st.composite
def policies(draw: st.DrawFn, claims: st.SearchStrategy[NodeClaim]) -> Policy:
    """Policies of two types and three groups."""
    groups = [
        SlotGroup(name=name, sizes=(8,), nodes=tuple(draw(st.lists(claims, min_size=1, max_size=4)))) for name in GROUPS
    ]
    return policy(*groups, types=tuple(GPUType(name=name, gpus_per_node=8) for name in TYPES))


WEIGHTED = st.builds(NodeClaim, gpu_type=st.sampled_from(TYPES), weight=st.integers(min_value=1, max_value=5))


@st.composite
def inventories(draw: st.DrawFn) -> list[Node]:
    """Nodes of both types, some of them in a group already."""
    names = draw(st.lists(NODE_NAMES, unique=True, max_size=20))
    return [
        _node(name, draw(st.sampled_from(TYPES)), draw(st.none() | st.sampled_from((*GROUPS, "GONE"))))
        for name in names
    ]


def _node(name: str, gpu_type: str, group: str | None) -> Node:
    labels = {TYPE: gpu_type, **({GROUP: group} if group else {})}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}


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
        applied.append({**node, "metadata": {**metadata, "labels": kept}})
    return applied


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


@given(policies(WEIGHTED), inventories(), USE, USE)
def test_use_decides_who_moves_but_not_how_many(
    chosen: Policy, nodes: list[Node], used: dict[str, int], otherwise: dict[str, int]
) -> None:
    first, second = assign(chosen, nodes, used=used), assign(chosen, nodes, used=otherwise)

    assert Counter(first.groups.values()) == Counter(second.groups.values())
    assert len(first.changes) == len(second.changes)


@given(st.integers(min_value=0, max_value=10_000), st.lists(st.integers(min_value=0, max_value=1000), max_size=8))
def test_shares_sum_up_and_none_is_off_by_a_whole_one(total: int, weights: list[int]) -> None:
    shares = largest_remainder(total, weights)
    whole = sum(weights)

    assert sum(shares) == (total if whole else 0)
    assert (
        all(abs(share * whole - total * weight) < whole for share, weight in zip(shares, weights, strict=True))
        or not whole
    )
