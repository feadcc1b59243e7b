"""What becomes free when: pods that say when they end, and the slots that are free from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import nsmallest

from gpupolicy.inventory.figures import Release
from gpupolicy.inventory.slots import Room, count_slots
from gpupolicy.inventory.usage import GPUPod, NodeUsage

MOST_RELEASES = 100  # told of each group; the rest is a number

FindRoom = Callable[[str, NodeUsage], Room]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Releases by time, how many moments more there are, and the GPUs of pods that do not say when they end."""

    releases: tuple[Release, ...] = ()
    more: int = 0
    gpus_without_end: int = 0


def find_ends(
    pods: Iterable[GPUPod],
    usage: Mapping[str, NodeUsage],
    find_room: FindRoom,
    free_slots: Mapping[int, int],
    now: datetime | None,
) -> Ends:
    """Works out what the ends of pods set free.

    Args:
        pods: the GPU pods on the nodes of one slot group.
        usage: what is held by node name.
        find_room: what a node (by name) has left beside a usage.
        free_slots: slots that are free now, by size.
        now: the moment by which a pod is overdue; None: none is.
    """
    moments: dict[datetime, list[GPUPod]] = {}
    gpus_without_end = 0
    for pod in pods:
        if pod.ends_at is None:
            gpus_without_end += pod.size
        else:
            moments.setdefault(pod.ends_at.replace(microsecond=0), []).append(pod)
    nodes = _Nodes(usage, find_room, dict(free_slots))
    return Ends(
        releases=tuple(nodes.release(at, moments[at], now) for at in nsmallest(MOST_RELEASES, moments)),
        more=max(0, len(moments) - MOST_RELEASES),
        gpus_without_end=gpus_without_end,
    )


class _Nodes:
    """The nodes of a group while one pod after the other leaves them."""

    def __init__(self, usage: Mapping[str, NodeUsage], find_room: FindRoom, free: dict[int, int]) -> None:
        self._usage, self._find_room, self._free = usage, find_room, free
        self._now: dict[str, NodeUsage] = {}

    def release(self, at: datetime, pods: Sequence[GPUPod], now: datetime | None) -> Release:
        """Takes the pods off their nodes and tells what that leaves."""
        for pod in pods:
            self._leave(pod)
        gpus = sum(pod.size for pod in pods)
        overdue = now is not None and at < now
        return Release(at=at, pods=len(pods), gpus=gpus, free_slots=dict(self._free), overdue=overdue)

    def _leave(self, pod: GPUPod) -> None:
        before = self._now.get(pod.node, self._usage[pod.node])
        after = replace(
            before,
            gpus={name: amount - pod.gpus.get(name, 0) for name, amount in before.gpus.items()},
            cpu_milli=before.cpu_milli - pod.requests.cpu_milli,
            memory_bytes=before.memory_bytes - pod.requests.memory_bytes,
            pods=before.pods - 1,
        )
        self._now[pod.node] = after
        old, new = self._find_room(pod.node, before), self._find_room(pod.node, after)
        for size in self._free:
            self._free[size] += count_slots(new, size)[2] - count_slots(old, size)[2]
