"""Laws of ``capacity``."""

from __future__ import annotations

from typing import Any

from builders import gpu_type, group, policy
from fleet_builders import running, seated
from hypothesis import given
from hypothesis import strategies as st

from gpupolicy import Capacity, capacity
from gpupolicy.inventory.figures import Slots

TYPES = ("V100", "A100")
POLICY = policy(
    group("SMALL", 1, 2, 4), group("SLOT-4", 4, overflow=("SMALL",)), group("SLOT-8", 8, overflow=("SMALL", "SLOT-4"))
)
MIXED = policy(group("SLOT-2", 2, types=("V100",)), group("SLOT-3", 3, 5, types=("V100",)), types=(gpu_type("V100"),))
NAMES = [f"n{i}" for i in range(5)]
GROUPS = [None, *(each.name for each in (*POLICY.slot_groups, *MIXED.slot_groups)), "SLOT-9"]


@st.composite
def fleets(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to five nodes in any group, some small, cordoned, or short of cpu or pods."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    return [
        seated(
            name,
            draw(st.sampled_from(GROUPS)),
            gpus=draw(st.sampled_from((0, "1", 7, "8"))),
            gpu_type=draw(st.sampled_from((*TYPES, None))),
            allocatable=draw(st.sampled_from(({}, {"cpu": "6"}, {"pods": "2"}, {"memory": "3Gi"}))),
            unschedulable=draw(st.booleans()),
        )
        for name in names
    ]


@st.composite
def workloads(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to eight pods on any node, on none, or on one that is not there."""
    return [
        running(
            f"p{i}",
            draw(st.sampled_from((None, 1, 2, 3, 4, 8))),
            draw(st.sampled_from((*NAMES, "gone", None))),
            requests=draw(st.sampled_from(({}, {"cpu": "2", "memory": "1Gi"}))),
            activeDeadlineSeconds=draw(st.sampled_from((None, 60, 3600))),
        )
        for i in range(draw(st.integers(0, 8)))
    ]


GOVERNING = st.sampled_from((POLICY, MIXED))


def all_slots(counted: Capacity) -> list[Slots]:
    return [slots for each in counted.groups for slots in (*each.slots, *each.overflow_slots)]


@given(GOVERNING, fleets(), workloads())
def test_slots_are_used_free_or_blocked(governing: Any, nodes: Any, pods: Any) -> None:
    counted = capacity(governing, nodes, pods)

    assert all(each.total == each.used + each.free + each.blocked for each in all_slots(counted))
    assert all(min(each.used, each.free, each.blocked) >= 0 for each in all_slots(counted))


@given(GOVERNING, fleets(), workloads())
def test_gpus_are_used_or_free_and_never_less_than_none(governing: Any, nodes: Any, pods: Any) -> None:
    counted = capacity(governing, nodes, pods)

    for each in counted.groups:
        assert each.gpus.total == each.gpus.used + each.gpus.free - each.gpus.overcommitted
        assert 0 <= each.stranded <= each.gpus.free
        assert sum(reason.gpus for reason in each.stranded_by) == each.stranded


@given(GOVERNING, fleets(), workloads(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_pods_does_not_matter(governing: Any, nodes: Any, pods: Any, random: Any) -> None:
    others = (random.sample(nodes, len(nodes)), random.sample(pods, len(pods)))

    assert capacity(governing, nodes, pods) == capacity(governing, *others)


@given(GOVERNING, fleets(), workloads(), st.sampled_from(NAMES), st.sampled_from((None, 1, 4, 8)))
def test_a_further_pod_never_adds_a_free_slot(governing: Any, nodes: Any, pods: Any, node: str, gpus: Any) -> None:
    before = capacity(governing, nodes, pods)
    after = capacity(governing, nodes, [*pods, running("one-more", gpus, node, requests={"cpu": "3"})])

    for one, other in zip(all_slots(before), all_slots(after), strict=True):
        assert (one.total, one.used, one.free) == (other.total, min(one.used, other.used), max(one.free, other.free))


@given(GOVERNING, fleets(), workloads())
def test_free_slots_only_grow_while_pods_end(governing: Any, nodes: Any, pods: Any) -> None:
    for each in capacity(governing, nodes, pods).groups:
        free = {slots.size: slots.free for slots in (*each.slots, *each.overflow_slots)}
        for release in each.releases:
            assert all(release.free_slots[size] >= slots for size, slots in free.items())
            free = dict(release.free_slots)


@given(GOVERNING, fleets(), workloads())
def test_nothing_is_stranded_where_the_smallest_request_is_one_and_the_node_is_free(
    governing: Any, nodes: Any, pods: Any
) -> None:
    for each in capacity(governing, nodes, pods).groups:
        leftover = [stranded.gpus for stranded in each.stranded_by if str(stranded.reason) == "leftover"]
        assert not (leftover and any(slots.size == 1 for slots in each.slots))
