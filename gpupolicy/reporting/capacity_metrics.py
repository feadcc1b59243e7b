"""Capacity as Prometheus metrics. Labels are bounded: types, groups and sizes of the policy, and fixed reasons.

``CapacityCollector`` is for the registry of a process that goes on running; ``capacity_to_metrics`` is for one text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from gpupolicy.inventory.figures import Capacity, Obstacle, Slots
from gpupolicy.inventory.misplaced import Misplacement

_GROUP = ("gpu_type", "slot_group")
_OTHER = "other"


class CapacityCollector(Collector):
    """Gives the figures of the last reading each time somebody asks; none while there is no reading."""

    def __init__(self, current: Callable[[], Capacity | None]) -> None:
        """Takes what returns the last reading."""
        self._current = current

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yields the metrics."""
        capacity = self._current()
        if capacity is not None:
            yield from to_families(capacity)


def capacity_to_metrics(capacity: Capacity) -> str:
    """Returns the figures in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(CapacityCollector(lambda: capacity))
    return generate_latest(registry).decode("utf-8")


def to_families(capacity: Capacity) -> Iterator[GaugeMetricFamily]:
    """Yields the metrics of a reading, in a fixed order."""
    yield from _of_nodes(capacity)
    yield from _of_slots(capacity)
    yield from _of_pods(capacity)
    if capacity.now is not None:
        read = _family("capacity_read_timestamp_seconds", "When the cluster was last read.")
        read.add_metric((), capacity.now.timestamp())
        yield read


def _of_nodes(capacity: Capacity) -> Iterator[GaugeMetricFamily]:
    nodes = _family("nodes", "Nodes of a GPU type in a slot group.", *_GROUP)
    uncounted = _family("nodes_uncounted", "Nodes that do not say how many GPUs they have.", *_GROUP)
    total = _family("gpus_allocatable", "GPUs that the nodes offer.", *_GROUP)
    used = _family("gpus_used", "GPUs that pods hold.", *_GROUP)
    free = _family("gpus_free", "GPUs that no pod holds.", *_GROUP)
    stranded = _family("gpus_stranded", "Free GPUs that no pod of the group can take now.", *_GROUP, "reason")
    for group in capacity.groups:
        labels = (group.gpu_type, group.slot_group)
        nodes.add_metric(labels, group.nodes)
        uncounted.add_metric(labels, group.uncounted_nodes)
        total.add_metric(labels, group.gpus.total)
        used.add_metric(labels, group.gpus.used)
        free.add_metric(labels, group.gpus.free)
        by_reason = {each.reason: each.gpus for each in group.stranded_by}
        for reason in Obstacle:
            stranded.add_metric((*labels, str(reason)), by_reason.get(reason, 0))
    unlabelled = _family("nodes_unlabelled", "GPU nodes in no slot group.")
    unlabelled.add_metric((), len(capacity.unlabelled))
    yield from (nodes, uncounted, unlabelled, total, used, free, stranded)


def _of_slots(capacity: Capacity) -> Iterator[GaugeMetricFamily]:
    families = {
        "total": _family("slots", "Slots of a size, by what the nodes offer.", *_GROUP, "size"),
        "used": _family("slots_used", "Slots that the GPUs in use leave no room for.", *_GROUP, "size"),
        "free": _family("slots_free", "Slots that a pod could take now.", *_GROUP, "size"),
        "blocked": _family("slots_blocked", "Slots with GPUs free and something else against them.", *_GROUP, "size"),
    }
    largest = _family("largest_fit_gpus", "The largest request of the group that fits now.", *_GROUP)
    for group in capacity.groups:
        largest.add_metric((group.gpu_type, group.slot_group), group.largest_fit)
        for slots in (*group.slots, *group.overflow_slots):
            labels = (group.gpu_type, group.slot_group, str(slots.size))
            for name, family in families.items():
                family.add_metric(labels, _amount(slots, name))
    yield from (*families.values(), largest)


def _amount(slots: Slots, name: str) -> int:
    return {"total": slots.total, "used": slots.used, "free": slots.free, "blocked": slots.blocked}[name]


def _of_pods(capacity: Capacity) -> Iterator[GaugeMetricFamily]:
    misplaced = _family("pods_misplaced", "GPU pods where the policy would not put them.", "reason")
    by_reason = Counter(each.reason for each in capacity.misplaced)
    for reason in Misplacement:
        misplaced.add_metric((str(reason),), by_reason[reason])
    pending = _family("pods_pending", "GPU pods without a node; sizes that are not admitted count as other.", "size")
    sizes = sorted({size for gpu_type in capacity.types for size in gpu_type.free_slots})
    waiting: Counter[str] = Counter()
    for each in capacity.pending:
        waiting[str(each.size) if each.size in sizes else _OTHER] += each.pods
    for size in (*map(str, sizes), _OTHER):
        pending.add_metric((size,), waiting[size])
    yield from (misplaced, pending)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gpupolicy_{name}", text, labels=labels)
