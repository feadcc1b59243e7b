"""What a pod holds of a node's cpu and memory: Kubernetes' effective request, in whole millicores and bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from gpupolicy.inventory.resizing import NOTHING_HELD, Held, find_held
from gpupolicy.pod import Container, PodView
from gpupolicy.quantity import QuantityError, parse_quantity


@dataclass(frozen=True, slots=True)
class Requests:
    """An amount of cpu (millicores) and memory (bytes)."""

    cpu_milli: int = 0
    memory_bytes: int = 0


NOTHING = Requests()


def read_requests(view: PodView) -> Requests:
    """Returns what the scheduler counts against the node while the pod is there.

    Containers and restartable init containers add up, an ordinary init container needs its own amount and that of the
    restartable ones before it, the larger phase counts, and the overhead comes on top; what stands in the pod's own
    resources takes the place of what its containers say.

    Raises:
        QuantityError: an amount is no quantity.

    Source: kubernetes/component-helpers resource/helpers.go.
    """
    held = find_held(view.pod)
    cpu, memory = _add(_read(container, held) for container in view.containers)
    if view.init_containers:
        cpu, memory = _with_inits(cpu, memory, view.init_containers, held)
    if view.spec.get("resources") is not None:
        own = view.pod_level_resources
        cpu = _find(own, "cpu", milli, cpu)
        memory = _find(own, "memory", whole, memory)
    overhead = view.overhead
    if overhead:
        cpu, memory = cpu + milli(overhead.get("cpu")), memory + whole(overhead.get("memory"))
    return Requests(cpu, memory)


def milli(value: object) -> int:
    """Returns a quantity in thousandths, rounded up, at least 0.

    Raises:
        QuantityError: it is none.
    """
    return _scaled(_hashable(value), 1000)


def whole(value: object) -> int:
    """Returns a quantity in whole units, rounded up, at least 0.

    Raises:
        QuantityError: it is none.
    """
    return _scaled(_hashable(value), 1)


@lru_cache(maxsize=4096, typed=True)  # typed: True must not find what 1 left
def _scaled(value: str | int | float | None, scale: int) -> int:
    return max(0, -int(-(parse_quantity(value) * scale) // 1))


def _hashable(value: object) -> str | int | float | None:
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise QuantityError("a mapping or list is not a quantity")


def _read(container: Container, held: Held = NOTHING_HELD) -> tuple[int, int]:
    requests, limits = container.requests, container.limits
    cpu = milli(requests["cpu"] if "cpu" in requests else limits.get("cpu"))
    memory = whole(requests["memory"] if "memory" in requests else limits.get("memory"))
    parts = held.parts.get(container.field)
    if not parts:
        return cpu, memory
    amounts = [(milli(part.get("cpu")), whole(part.get("memory"))) for part in parts]
    wished = [] if held.is_infeasible else [(cpu, memory)]
    return max(cpu for cpu, _ in (*amounts, *wished)), max(memory for _, memory in (*amounts, *wished))


def _add(amounts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    cpu = memory = 0
    for more_cpu, more_memory in amounts:
        cpu += more_cpu
        memory += more_memory
    return cpu, memory


def _with_inits(cpu: int, memory: int, inits: Iterable[Container], held: Held) -> tuple[int, int]:
    """Returns the larger of what runs and of what is in use while init containers run, one after the other."""
    side_cpu = side_memory = peak_cpu = peak_memory = 0
    for container in inits:
        own_cpu, own_memory = _read(container, held if container.restartable else NOTHING_HELD)
        peak_cpu, peak_memory = max(peak_cpu, side_cpu + own_cpu), max(peak_memory, side_memory + own_memory)
        if container.restartable:
            side_cpu, side_memory = side_cpu + own_cpu, side_memory + own_memory
    return max(cpu + side_cpu, peak_cpu), max(memory + side_memory, peak_memory)


def _find(own: Container, name: str, read: Callable[[object], int], otherwise: int) -> int:
    for part in (own.requests, own.limits):
        if name in part:
            return read(part[name])
    return otherwise
