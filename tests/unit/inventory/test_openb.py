"""``capacity`` of the openb cluster against a count made from the published CSV files with plain arithmetic."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from commands import run

import gpupolicy
from gpupolicy.inventory.figures import Capacity
from gpupolicy.reporting.capacity_text import format_capacity

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "openb.md"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the openb data set is not here")


def openb() -> Any:
    """benchmarks/openb.py, which is no package."""
    spec = importlib.util.spec_from_file_location("openb", ROOT / "benchmarks" / "openb.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["openb"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=[None, 60.0], ids=["busiest-moment", "60-percent"])
def items(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Nodes and pods, at the busiest moment of the trace and with 60% of the GPUs asked for."""
    cluster = openb().cluster(DATA, fill=request.param)
    return list(cluster["items"])


def counted(items: list[dict[str, Any]]) -> Capacity:
    """Our count."""
    nodes, pods = ([item for item in items if item["kind"] == kind] for kind in ("Node", "Pod"))
    return gpupolicy.capacity(gpupolicy.load(ROOT / "benchmarks" / "openb.yaml"), nodes, pods)


def rows(file: str) -> dict[str, dict[str, str]]:
    with (DATA / file).open(newline="") as lines:
        return {row.get("sn") or row["name"]: row for row in csv.DictReader(lines)}


def by_hand(items: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[int, ...]]:
    """Nodes, GPUs total and used, slots total, used and free by model, group and size.

    Of the objects only two things are taken: which node a pod is on, and which group a node is in.
    """
    held: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    pods = rows("openb_pod_list_default.csv")
    for item in items:
        if item["kind"] == "Pod" and "nodeName" in item["spec"]:
            pod = pods[item["metadata"]["name"]]
            amounts = (int(pod["num_gpu"]), int(pod["cpu_milli"]), int(pod["memory_mib"]), 1)
            held[item["spec"]["nodeName"]] = [
                a + b for a, b in zip(held[item["spec"]["nodeName"]], amounts, strict=True)
            ]
    sizes = {"SLOT-SMALL": {"G2": (1, 2, 4, 8), "P100": (1, 2), "A10": (1,)}, "SLOT-8": {"G2": (8,), "G3": (8,)}}
    sums: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0] * 6)
    nodes = rows("openb_node_list_all_node.csv")
    for item in items:
        group = item["metadata"].get("labels", {}).get("my.gpu.cluster/node-group")
        if item["kind"] != "Node" or group is None:
            continue
        node = nodes[item["metadata"]["name"]]
        total, (used, cpu, memory, count) = int(node["gpu"]), held[item["metadata"]["name"]]
        by_cpu, by_memory = (int(node["cpu_milli"]) - cpu) // 1000, (int(node["memory_mib"]) - memory) // 1024
        for size in sizes[group].get(node["model"], (1, 2, 4)):
            room = (total - used) // size
            free = min(room, by_cpu // size, by_memory // size, 110 - count)
            amounts = (1, total, used, total // size, total // size - room, free)
            sums[node["model"], group, size] = [
                a + b for a, b in zip(sums[node["model"], group, size], amounts, strict=True)
            ]
    return {key: tuple(values) for key, values in sums.items()}


def test_capacity_agrees_with_a_count_by_hand(items: list[dict[str, Any]]) -> None:
    ours = {
        (each.gpu_type, each.slot_group, slots.size): (
            *(each.nodes, each.gpus.total, each.gpus.used),
            *(slots.total, slots.used, slots.free),
        )
        for each in counted(items).groups
        for slots in (*each.slots, *each.overflow_slots)
    }

    assert ours == by_hand(items)


def test_every_gpu_of_the_cluster_is_counted(items: list[dict[str, Any]]) -> None:
    assert sum(each.gpus.total for each in counted(items).types) == 6212


class TestThePage:
    """docs/openb.md shows what the program prints."""

    def test_the_policy_is_the_one_that_lints_clean(self) -> None:
        policy = ROOT / "benchmarks" / "openb.yaml"

        assert policy.read_text().partition("apiVersion")[2] in PAGE.read_text()
        assert run("lint", policy).out == ""

    @pytest.mark.parametrize("way", ["spread", "pack", "groups"])
    def test_the_figures_are_those_of_the_program(self, way: str) -> None:
        found = counted(list(openb().cluster(DATA, fill=60, by=way)["items"]))

        assert row_of(way, found) in PAGE.read_text()

    def test_the_table_is_the_programs(self) -> None:
        found = counted(list(openb().cluster(DATA, fill=60)["items"]))

        assert format_capacity(found) in PAGE.read_text()


def row_of(way: str, found: Capacity) -> str:
    """The line of the page about a way of placing pods."""
    gpus = sum(each.gpus.free for each in found.types)
    eights = sum(each.free_slots.get(8, 0) for each in found.types)
    stranded = sum(each.stranded for each in found.types)
    waiting = sum(each.pods for each in found.pending if each.size == 8)
    largest = max(each.largest_fit for each in found.types)
    return f"| {way} | {gpus:,} | {largest} | {eights} | {stranded} | {waiting} | {len(found.misplaced)} |"
