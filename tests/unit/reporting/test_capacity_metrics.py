"""Capacity as Prometheus metrics."""

from __future__ import annotations

from datetime import UTC, datetime

from builders import gpu_type, group, policy
from fleet_builders import running, seated
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from gpupolicy import Capacity, capacity
from gpupolicy.reporting.capacity_metrics import CapacityCollector, capacity_to_metrics

ONE = policy(group("SLOT-4", 4, types=("V100",)), types=(gpu_type("V100"),))
PLACE = {"gpu_type": "V100", "slot_group": "SLOT-4"}


def counted(*pods: dict[str, object]) -> Capacity:
    return capacity(ONE, [seated("a", "SLOT-4"), seated("b", None)], pods, now=datetime(2026, 11, 29, tzinfo=UTC))


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The values by name and labels, as Prometheus reads them."""
    families = text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(text: str, name: str, **labels: str) -> float:
    return samples(text)[name, tuple(sorted(labels.items()))]


def test_the_figures_are_those_of_the_report() -> None:
    text = capacity_to_metrics(counted(running("p", 4, "a"), running("q", 1, "a"), running("r", 4, None)))

    assert value(text, "gpupolicy_nodes", **PLACE) == 1
    assert value(text, "gpupolicy_nodes_unlabelled") == 1
    assert value(text, "gpupolicy_gpus_allocatable", **PLACE) == 8
    assert value(text, "gpupolicy_gpus_used", **PLACE) == 5
    assert value(text, "gpupolicy_gpus_free", **PLACE) == 3
    assert value(text, "gpupolicy_gpus_stranded", **PLACE, reason="leftover") == 3
    assert value(text, "gpupolicy_slots", **PLACE, size="4") == 2
    assert value(text, "gpupolicy_slots_used", **PLACE, size="4") == 2
    assert value(text, "gpupolicy_slots_free", **PLACE, size="4") == 0
    assert value(text, "gpupolicy_slots_blocked", **PLACE, size="4") == 0
    assert value(text, "gpupolicy_largest_fit_gpus", **PLACE) == 0
    assert value(text, "gpupolicy_pods_misplaced", reason="not-served") == 1
    assert value(text, "gpupolicy_pods_pending", size="4") == 1
    assert value(text, "gpupolicy_capacity_read_timestamp_seconds") == 1795910400


def test_no_pod_can_add_a_series() -> None:
    few = samples(capacity_to_metrics(counted()))
    many = samples(capacity_to_metrics(counted(*(running(f"p{i}", i, None) for i in range(3, 90)))))

    assert set(few) == set(many)
    assert many["gpupolicy_pods_pending", (("size", "other"),)] == 85


def test_a_collector_gives_the_last_reading_and_nothing_before_the_first() -> None:
    readings: list[Capacity] = []
    registry = CollectorRegistry()
    registry.register(CapacityCollector(lambda: readings[-1] if readings else None))

    before = registry.get_sample_value("gpupolicy_gpus_used", PLACE)
    readings.append(counted(running("p", 4, "a")))

    assert (before, registry.get_sample_value("gpupolicy_gpus_used", PLACE)) == (None, 4)
