"""``gpupolicy.capacity``: the figures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import builders
from builders import gpu_type, group, node, policy
from fleet_builders import running, seated

import gpupolicy
from gpupolicy.inventory.figures import (
    Capacity,
    GPUs,
    GroupRoom,
    Obstacle,
    Pending,
    PerGPU,
    Release,
    Slots,
    Stranded,
)
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Admission, NodeClaim, Policy, Routing, SlotGroup

V100 = gpu_type("V100", aliases=("v100",))
CLASSIC = policy(*(group(f"SLOT-{size}", size, types=("V100",)) for size in (1, 2, 4, 8)), types=(V100,))
RESERVE = policy(
    group("SMALL", 1, 2, 4, types=("V100",)), group("LARGE", 8, types=("V100",), overflow=("SMALL",)), types=(V100,)
)


def of(counted: Capacity, name: str) -> GroupRoom:
    """The figures of a group."""
    (found,) = (each for each in counted.groups if each.slot_group == name)
    return found


def rules(counted: Capacity) -> list[str]:
    return [finding.rule for finding in counted.findings]


def count(governing: Policy, nodes: list[dict[str, Any]], *pods: dict[str, Any], **options: Any) -> Capacity:
    return gpupolicy.capacity(governing, nodes, pods, **options)


def test_five_gpus_in_use_leave_no_slot_of_four() -> None:
    counted = count(CLASSIC, [seated("a", "SLOT-4")], running("p", 4, "a"), running("q", 1, "a"))

    four = of(counted, "SLOT-4")
    assert four.gpus == GPUs(total=8, used=5, free=3)
    assert four.slots == (Slots(size=4, total=2, used=2, free=0, blocked=0),)
    assert (four.largest_fit, four.stranded) == (0, 3)
    assert four.stranded_by == (Stranded(reason=Obstacle.LEFTOVER, gpus=3, node_count=1, nodes=("a",)),)


def test_spread_pods_leave_many_gpus_and_no_room_for_a_large_one() -> None:
    """The failure that slot groups are for."""
    nodes = [seated(f"n{i}", "LARGE") for i in range(5)]

    counted = count(RESERVE, nodes, *(running(f"p{i}", 1, f"n{i}") for i in range(5)))

    assert (counted.types[0].gpus.free, counted.types[0].largest_fit, counted.types[0].stranded) == (35, 0, 35)


def test_every_group_of_the_policy_has_figures_also_without_nodes() -> None:
    counted = count(CLASSIC, [seated("a", "SLOT-4")])

    assert [(each.slot_group, each.nodes) for each in counted.groups] == [
        ("SLOT-1", 0),
        ("SLOT-2", 0),
        ("SLOT-4", 1),
        ("SLOT-8", 0),
    ]


def test_sizes_of_overflow_are_counted_beside_the_groups_own() -> None:
    counted = count(RESERVE, [seated("a", "SMALL"), seated("b", "LARGE")], running("p", 8, "b"))

    small = of(counted, "SMALL")
    assert [slots.size for slots in small.slots] == [1, 2, 4]
    assert small.overflow_slots == (Slots(size=8, total=1, used=0, free=1, blocked=0),)
    assert small.largest_fit == 4
    assert counted.types[0].largest_fit == 8
    assert dict(counted.types[0].free_slots) == {1: 8, 2: 4, 4: 2, 8: 1}


def test_a_node_that_is_cordoned_blocks_its_slots_and_strands_its_gpus() -> None:
    counted = count(CLASSIC, [seated("a", "SLOT-4", unschedulable=True), seated("b", "SLOT-4")], running("p", 4, "a"))

    assert of(counted, "SLOT-4").slots == (Slots(size=4, total=4, used=1, free=2, blocked=1),)
    assert of(counted, "SLOT-4").stranded_by == (
        Stranded(reason=Obstacle.CORDONED, gpus=4, node_count=1, nodes=("a",)),
    )


def test_cpu_that_other_pods_hold_blocks_slots() -> None:
    greedy = running("p", None, "a", requests={"cpu": "90"})

    by_default = of(count(CLASSIC, [seated("a", "SLOT-4")], greedy), "SLOT-4")
    more = of(count(CLASSIC, [seated("a", "SLOT-4")], greedy, per_gpu=PerGPU(cpu_milli=2000)), "SLOT-4")

    assert (by_default.slots[0].free, more.slots[0].free) == (1, 0)
    assert [(each.reason, each.gpus) for each in more.stranded_by] == [(Obstacle.CPU, 8)]


def test_a_node_full_of_pods_takes_no_more() -> None:
    nodes = [seated("a", "SLOT-1", allocatable={"pods": "3"})]

    counted = count(CLASSIC, nodes, *(running(f"p{i}", None, "a") for i in range(2)))

    assert of(counted, "SLOT-1").slots == (Slots(size=1, total=8, used=0, free=1, blocked=7),)
    assert [(each.reason, each.gpus) for each in of(counted, "SLOT-1").stranded_by] == [(Obstacle.PODS, 7)]


def test_amounts_that_a_node_does_not_list_limit_nothing() -> None:
    bare = seated("a", "SLOT-1")
    bare["status"]["allocatable"] = {builders.GPU: "8"}

    assert of(count(CLASSIC, [bare]), "SLOT-1").slots[0].free == 8


def test_a_node_that_lost_a_gpu_is_overcommitted_and_has_no_less_than_nothing() -> None:
    counted = count(CLASSIC, [seated("a", "SLOT-8", gpus=7)], running("p", 8, "a"))

    eight = of(counted, "SLOT-8")
    assert eight.gpus == GPUs(total=7, used=8, free=0, overcommitted=1)
    assert eight.slots == (Slots(size=8, total=0, used=0, free=0, blocked=0),)
    assert [f.message for f in counted.findings] == ["node a offers 7 GPUs, and its pods hold 8"]


def test_nodes_without_a_group_are_named_with_the_reason() -> None:
    nodes = [seated("a", None), seated("b", "SLOT-9"), seated("c", "SLOT-1", gpu_type=None), node("cpu", gpus=0)]

    counted = count(CLASSIC, nodes, running("p", 2, "a"))

    assert [(each.node, each.gpu_type, each.gpus.free, each.reason) for each in counted.unlabelled] == [
        ("a", "V100", 6, "no label my.gpu.cluster/node-group"),
        ("b", "V100", 8, "the policy has no slot group SLOT-9"),
        ("c", None, 8, "no GPU type of the policy has its labels"),
    ]
    assert counted.nodes == 2


def test_a_node_that_several_types_select_is_told_as_such() -> None:
    every = LabelSelector(match_labels={"gpu": "yes"})
    doubtful = policy(types=(gpu_type("A", node_selector=every), gpu_type("B", node_selector=every)))

    (found,) = count(doubtful, [node("a", labels={"gpu": "yes"})]).unlabelled

    assert (found.gpu_type, found.reason) == (None, "its labels fit several GPU types: A, B")


def test_unlabelled_nodes_can_be_counted_as_the_policy_would_label_them() -> None:
    nodes = [seated(f"n{i}", None) for i in range(8)]

    counted = count(CLASSIC, [*nodes, nodes[0], node("")], running("p", 8, "n7"), as_planned=True)

    assert [each.nodes for each in counted.groups] == [2, 2, 2, 2]
    assert counted.unlabelled == ()
    assert sum(each.gpus.used for each in counted.groups) == 8
    assert rules(counted) == ["node-repeated", "node-without-name"]


def test_a_type_behind_dra_is_said_to_be_uncounted_never_guessed() -> None:
    dra = gpu_type("V100", device_classes=("gpu.nvidia.com",))
    bare = seated("a", "SLOT-1")
    del bare["status"]["allocatable"][builders.GPU]

    counted = count(policy(group("SLOT-1", 1, types=("V100",)), types=(dra,)), [bare])

    assert (of(counted, "SLOT-1").nodes, of(counted, "SLOT-1").uncounted_nodes) == (1, 1)
    assert of(counted, "SLOT-1").gpus == GPUs()
    assert [each.reason for each in counted.uncounted] == [
        "status.allocatable lists no nvidia.com/gpu; devices of class gpu.nvidia.com stand in ResourceSlices, "
        "which are not read"
    ]


def test_each_mig_profile_is_a_type_of_its_own() -> None:
    profile = "nvidia.com/mig-1g.5gb"
    slices = gpu_type("A100-1G", 56, resource_name=profile, request_sizes=(1,))
    mig = policy(SlotGroup(name="MIG", sizes=(1,), nodes=(NodeClaim(gpu_type="A100-1G", weight=1),)), types=(slices,))
    pod = running("p", None, "a")
    pod["spec"]["containers"] = [builders.container(1, resource=profile)]

    counted = count(mig, [seated("a", "MIG", gpu_type="A100-1G", gpus=56, resource=profile)], pod)

    assert of(counted, "MIG").slots == (Slots(size=1, total=56, used=1, free=55, blocked=0),)


def test_types_are_found_by_their_selector_where_the_label_is_missing() -> None:
    selected = gpu_type("V100", node_selector=LabelSelector(match_labels={"product": "v"}))
    one = seated("a", "SLOT-1", gpu_type=None)
    one["metadata"]["labels"]["product"] = "v"

    assert of(count(policy(group("SLOT-1", 1, types=("V100",)), types=(selected,)), [one]), "SLOT-1").nodes == 1


def test_pods_on_nodes_that_are_not_there_are_told_and_counted_nowhere() -> None:
    counted = count(CLASSIC, [seated("a", "SLOT-4")], running("p", 4, "gone"))

    assert of(counted, "SLOT-4").gpus.used == 0
    assert [f.message for f in counted.findings] == ["pod team-a/p (4 GPUs) is on gone, a node that is not there"]


def test_many_strays_and_overcommitted_nodes_are_told_as_a_number() -> None:
    nodes = [seated(f"n{i}", "SLOT-8", gpus=7) for i in range(22)]
    pods = [running(f"p{i}", 8, f"n{i}") for i in range(22)] + [running(f"q{i}", 8, "gone") for i in range(23)]

    messages = [finding.message for finding in count(CLASSIC, nodes, *pods).findings]

    assert (messages.count("and 2 more nodes"), messages.count("and 3 more pods"), len(messages)) == (1, 1, 42)


def test_waiting_pods_are_counted_by_size() -> None:
    counted = count(
        CLASSIC, [seated("a", "SLOT-4")], *(running(f"p{i}", size, None) for i, size in enumerate((8, 1, 8)))
    )

    assert counted.pending == (Pending(size=1, pods=1), Pending(size=8, pods=2))


def test_a_pod_that_is_being_deleted_holds_its_gpus_and_is_not_misplaced() -> None:
    leaving = running("p", 1, "a", metadata={"deletionTimestamp": "2026-11-29T12:00:00Z"})

    counted = count(CLASSIC, [seated("a", "SLOT-8")], leaving)

    assert (sum(room.gpus.used for room in counted.groups), counted.misplaced) == (1, ())


def test_misplaced_pods_are_part_of_the_figures() -> None:
    assert [each.pod.name for each in count(CLASSIC, [seated("a", "SLOT-8")], running("p", 1, "a")).misplaced] == ["p"]


def test_no_node_at_all_gives_empty_figures() -> None:
    counted = count(CLASSIC, [])

    assert (counted.nodes, [each.nodes for each in counted.groups]) == (0, [0, 0, 0, 0])


class TestWhatBecomesFreeWhen:
    """Ends of pods, and the slots that are free from then on."""

    NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)

    def test_slots_are_free_once_the_pods_that_hold_them_end(self) -> None:
        pods = (
            running("p", 4, "a", activeDeadlineSeconds=3600),
            running("q", 2, "a", activeDeadlineSeconds=7200),
            running("r", 1, "a", activeDeadlineSeconds=7200),
            running("s", 4, "b"),
        )

        four = of(count(CLASSIC, [seated("a", "SLOT-4"), seated("b", "SLOT-4")], *pods, now=self.NOON), "SLOT-4")

        assert four.slots[0].free == 1
        assert four.releases == (
            Release(at=self.NOON.replace(hour=13), pods=1, gpus=4, free_slots={4: 2}),
            Release(at=self.NOON.replace(hour=14), pods=2, gpus=3, free_slots={4: 3}),
        )
        assert four.gpus_without_end == 4

    def test_a_pod_past_its_end_is_overdue(self) -> None:
        late = running("p", 8, "a", activeDeadlineSeconds=60)

        (release,) = of(
            count(CLASSIC, [seated("a", "SLOT-8")], late, now=self.NOON.replace(hour=14)), "SLOT-8"
        ).releases

        assert release.overdue

    def test_the_first_hundred_moments_are_told(self) -> None:
        pods = (running(f"p{i}", 1, "a", activeDeadlineSeconds=60 + i) for i in range(103))

        one = of(count(CLASSIC, [seated("a", "SLOT-1", gpus=110)], *pods), "SLOT-1")

        assert (len(one.releases), one.more_releases) == (100, 3)

    def test_cpu_that_a_pod_gives_back_counts_as_well(self) -> None:
        greedy = running("p", 1, "a", requests={"cpu": "95"}, activeDeadlineSeconds=60)

        one = of(count(CLASSIC, [seated("a", "SLOT-1")], greedy), "SLOT-1")

        assert (one.slots[0].free, one.releases[0].free_slots) == (1, {1: 8})


def test_a_node_in_a_group_that_takes_no_pods_of_its_resource_has_no_slots() -> None:
    """The label is right for the scheduler, but no pod that asks for slices is sent to that group."""
    mig = "nvidia.com/mig-1g.5gb"
    slices = gpu_type("A100-MIG", resource_name=mig)
    governing = policy(group("SLOT-1", 1, types=("V100",)), group("MIG", 1, types=("A100-MIG",)), types=(V100, slices))

    counted = count(governing, [seated("a", "SLOT-1", gpu_type="A100-MIG", resource=mig)])

    (room,) = (each for each in counted.groups if each.nodes)
    assert (room.slots, room.largest_fit, room.stranded) == ((), 0, 8)


def test_a_node_of_a_type_that_its_group_does_not_claim_has_slots_where_pods_of_another_type_come() -> None:
    """Required affinity asks for the group alone, as all types of the group will do."""
    governing = policy(
        group("SMALL", 1, types=("V100",)), group("T4S", 1, types=("T4",)), types=(V100, gpu_type("T4", gpus=4))
    )

    counted = count(governing, [seated("a", "SMALL", gpu_type="T4", gpus=4)])

    (room,) = (each for each in counted.groups if each.nodes)
    assert [(slots.size, slots.free) for slots in room.slots] == [(1, 4)]


def test_without_routing_groups_are_counted_by_the_sizes_that_the_policy_gives_them() -> None:
    off = policy(
        group("SMALL", 1, 2, 4, types=("V100",)),
        group("LARGE", 8, types=("V100",), overflow=("SMALL",)),
        types=(V100,),
        admission=Admission(routing=Routing.OFF),
    )

    small = of(count(off, [seated("a", "SMALL")]), "SMALL")

    assert [(slots.size, slots.free) for slots in small.slots] == [(1, 8), (2, 4), (4, 2)]
    assert [(slots.size, slots.free) for slots in small.overflow_slots] == [(8, 1)]


def test_a_node_that_the_plan_leaves_alone_is_counted_by_its_labels() -> None:
    counted = count(CLASSIC, [seated("a", "SLOT-4"), seated("b", "SLOT-8", gpus=0)], as_planned=True)

    assert counted.unlabelled == ()
    assert of(counted, "SLOT-8").nodes == 1
