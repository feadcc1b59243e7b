"""Slots of one node, and what of its free GPUs is stranded."""

from __future__ import annotations

import pytest

from gpupolicy.inventory.figures import Obstacle
from gpupolicy.inventory.slots import Room, count_slots, fill, find_stranded

MANY = 2**62


def room(
    total: int, used: int, *, cpu: int = MANY, memory: int = MANY, pods: int = MANY, obstacle: Obstacle | None = None
) -> Room:
    free = max(0, total - used)
    return Room(total=total, used=used, free=free, cpu=cpu, memory=memory, pods=pods, obstacle=obstacle)


@pytest.mark.parametrize(
    ("left", "size", "slots"),
    [
        pytest.param(room(8, 0), 4, (2, 0, 2, 0), id="empty"),
        pytest.param(room(8, 1), 4, (2, 1, 1, 0), id="one-gpu-takes-a-slot-of-four"),
        pytest.param(room(8, 8), 1, (8, 8, 0, 0), id="full"),
        pytest.param(room(7, 8), 4, (1, 1, 0, 0), id="overcommitted"),
        pytest.param(room(7, 0), 8, (0, 0, 0, 0), id="too-small"),
        pytest.param(room(8, 0, cpu=5), 4, (2, 0, 1, 1), id="cpu-for-five"),
        pytest.param(room(8, 0, memory=3), 4, (2, 0, 0, 2), id="memory-for-three"),
        pytest.param(room(8, 0, pods=3), 1, (8, 0, 3, 5), id="three-pods-more"),
        pytest.param(room(8, 4, obstacle=Obstacle.CORDONED), 4, (2, 1, 0, 1), id="cordoned"),
    ],
)
def test_slots_are_total_used_free_and_blocked(left: Room, size: int, slots: tuple[int, int, int, int]) -> None:
    assert count_slots(left, size) == slots


@pytest.mark.parametrize(
    ("left", "sizes", "stranded"),
    [
        pytest.param(room(8, 1), (1, 2, 4), {}, id="every-gpu-has-a-use"),
        pytest.param(room(8, 5), (4,), {"leftover": 3}, id="fewer-than-a-request"),
        pytest.param(room(8, 1), (4,), {"leftover": 3}, id="after-a-request"),
        pytest.param(room(8, 5), (2, 3), {}, id="three-fit-where-twos-leave-one"),
        pytest.param(room(8, 0, cpu=5), (4,), {"cpu": 4}, id="cpu"),
        pytest.param(room(8, 0, cpu=5, memory=2), (1,), {"memory": 6}, id="the-scarcer-is-the-reason"),
        pytest.param(room(8, 1, pods=1), (1, 2, 4), {"pods": 3}, id="one-pod-of-four-is-all"),
        pytest.param(room(8, 1, memory=0), (4,), {"leftover": 3, "memory": 4}, id="two-reasons"),
        pytest.param(room(8, 1, obstacle=Obstacle.NOT_READY), (1,), {"not-ready": 7}, id="not-ready"),
        pytest.param(room(8, 8, obstacle=Obstacle.NOT_READY), (1,), {}, id="nothing-free"),
        pytest.param(room(8, 0), (), {"leftover": 8}, id="no-request-is-served"),
    ],
)
def test_stranded_gpus_have_a_reason(left: Room, sizes: tuple[int, ...], stranded: dict[str, int]) -> None:
    assert find_stranded(left, sizes) == stranded


def test_a_node_with_very_many_units_is_filled_with_the_smallest_request() -> None:
    assert fill((2, 3), 10_001, 10_001) == 10_000
