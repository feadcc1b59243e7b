"""A small model of where kube-scheduler puts GPU pods: one resource, one pod after the other, nothing leaves.

It knows only which node scores best, by free GPUs; cpu, memory and the other plugins are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Strategy(StrEnum):
    """What the scheduler prefers: the emptiest node (Kubernetes' default) or the fullest that still fits."""

    SPREAD = "spread"
    PACK = "pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What stands where: requests (GPUs of one pod) by node, free GPUs by node, and requests that found no room."""

    placed: Mapping[str, tuple[int, ...]]
    free: Mapping[str, int]
    pending: tuple[int, ...]

    @property
    def free_gpus(self) -> int:
        """Free GPUs over all nodes."""
        return sum(self.free.values())

    @property
    def largest_fit(self) -> int:
        """The largest request that some node could still take."""
        return max(self.free.values(), default=0)


def place_pods(
    requests: Iterable[int],
    nodes: Mapping[str, int],
    strategy: Strategy,
    may_use: Callable[[int, str], bool] = lambda request, node: True,
) -> Layout:
    """Places requests one after the other, each on the node that the strategy prefers.

    Args:
        requests: GPUs of each pod, in order of arrival.
        nodes: GPUs of each node.
        strategy: which node wins among those with room; ties go to the first name.
        may_use: whether a request may use a node, as node affinity would say.

    Returns:
        The layout after the last request.
    """
    free = dict(nodes)
    placed: dict[str, list[int]] = {node: [] for node in nodes}
    pending: list[int] = []
    sign = 1 if strategy is Strategy.PACK else -1
    for request in requests:
        fitting = [node for node in free if free[node] >= request and may_use(request, node)]
        if not fitting:
            pending.append(request)
            continue
        best = min(fitting, key=lambda node: (sign * free[node], node))
        free[best] -= request
        placed[best].append(request)
    return Layout(placed={n: tuple(p) for n, p in placed.items()}, free=free, pending=tuple(pending))
