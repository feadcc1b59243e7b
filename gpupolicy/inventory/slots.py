"""Slots of one node: how many of a size it has, holds and could take now, and which free GPUs are stranded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpupolicy.inventory.figures import GPUs, Obstacle, PerGPU
from gpupolicy.inventory.fleet import NodeState
from gpupolicy.inventory.usage import NodeUsage

_NO_LIMIT = 2**62
_MOST_GPUS_TRIED = 4096  # of one node; beyond it the smallest size decides


@dataclass(frozen=True, slots=True)
class Room:
    """What one node has left, in GPUs. ``cpu`` and ``memory`` are the GPUs that these would do for."""

    total: int
    used: int
    free: int
    cpu: int
    memory: int
    pods: int
    obstacle: Obstacle | None

    @property
    def gpus(self) -> GPUs:
        """The node's GPUs."""
        overcommitted = max(0, self.used - self.total)
        return GPUs(total=self.total, used=self.used, free=self.free, overcommitted=overcommitted)


def find_room(node: NodeState, usage: NodeUsage, per_gpu: PerGPU) -> Room:
    """Returns what a node has left beside what its pods hold."""
    total, used = node.gpus or 0, sum(map(usage.find_gpus, node.names))
    return Room(
        total=total,
        used=used,
        free=max(0, total - used),
        cpu=_left(node.cpu_milli, usage.cpu_milli, per_gpu.cpu_milli),
        memory=_left(node.memory_bytes, usage.memory_bytes, per_gpu.memory_bytes),
        pods=_left(node.pods, usage.pods, 1),
        obstacle=node.obstacle,
    )


def _left(allocatable: int | None, held: int, need: int) -> int:
    return _NO_LIMIT if allocatable is None or need <= 0 else max(0, allocatable - held) // need


def count_slots(room: Room, size: int) -> tuple[int, int, int, int]:
    """Returns a node's slots of a size: total, used, free, blocked."""
    total, left = room.total // size, room.free // size
    free = 0 if room.obstacle else min(left, room.cpu // size, room.memory // size, room.pods)
    return total, total - left, free, left - free


def find_stranded(room: Room, sizes: tuple[int, ...]) -> Mapping[Obstacle, int]:
    """Returns the free GPUs of a node that pods of the sizes could not take now, by reason.

    What no sum of the sizes fills is left over; of the rest the scarcest of cpu, memory and pods is the reason.
    """
    if room.obstacle or not room.free:
        return {room.obstacle: room.free} if room.obstacle and room.free else {}
    filled = fill(sizes, room.free, _NO_LIMIT)
    limits = (
        (fill(sizes, min(room.free, room.cpu), _NO_LIMIT), Obstacle.CPU),
        (fill(sizes, min(room.free, room.memory), _NO_LIMIT), Obstacle.MEMORY),
        (fill(sizes, room.free, room.pods), Obstacle.PODS),
    )
    usable = fill(sizes, min(room.free, room.cpu, room.memory), room.pods)
    stranded = {Obstacle.LEFTOVER: room.free - filled, min(limits, key=lambda limit: limit[0])[1]: filled - usable}
    return {reason: gpus for reason, gpus in stranded.items() if gpus}


def fill(sizes: tuple[int, ...], gpus: int, pods: int) -> int:
    """Returns the most GPUs, at most ``gpus``, that at most ``pods`` pods of the sizes can take."""
    if not sizes or gpus <= 0 or pods <= 0:
        return 0
    if gpus > _MOST_GPUS_TRIED:
        return min(gpus // sizes[0], pods) * sizes[0]
    if sizes[0] == 1 and pods >= gpus:
        return gpus
    return _fill(sizes, gpus, min(pods, gpus))


@lru_cache(maxsize=4096)
def _fill(sizes: tuple[int, ...], gpus: int, pods: int) -> int:
    fewest = [0] + [_NO_LIMIT] * gpus  # pods that it takes at least to fill exactly so many GPUs
    for amount in range(1, gpus + 1):
        fewest[amount] = 1 + min((fewest[amount - size] for size in sizes if size <= amount), default=_NO_LIMIT)
    return max(amount for amount in range(gpus + 1) if fewest[amount] <= pods)
