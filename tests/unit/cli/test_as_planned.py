"""``--as-planned`` of capacity and audit: the groups are those of ``nodes plan``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import GROUP, TYPE, owned, pod
from commands import POLICY, run
from fake_node_api import FakeNodeApi, live_node

SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
HELD = owned({**pod(8), "metadata": {"name": "eight", "namespace": "team-a"}}, "Job")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A node in each group by our apply; the one of SLOT-8, with a pod, was then moved to SLOT-1 by hand."""
    api = FakeNodeApi(*(live_node(name) for name in "abcd"))
    for name, group in zip("abcd", ("SLOT-1", "SLOT-2", "SLOT-4", "SLOT-8"), strict=True):
        for key, value in {TYPE: "V100", SUPPORT: "true", GROUP: group}.items():
            api.labels(name)[key] = value
            api.own(name, key, "gpupolicy", "Apply")
    api.label("d", GROUP, "SLOT-1")
    running: dict[str, Any] = {**HELD, "spec": {**HELD["spec"], "nodeName": "d"}, "status": {"phase": "Running"}}
    items = [{"kind": "Node", **node} for node in api.nodes.values()] + [{"kind": "Pod", **running}]
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return file


def test_the_plan_moves_the_node_back_that_was_changed_by_hand(dump: Path) -> None:
    (change,) = json.loads(run("nodes", "plan", POLICY, "--from", dump, "--format", "json").out)["changes"]

    assert (change["node"], change["slotGroup"]["to"], change["pods"]) == ("d", "SLOT-8", [])


@pytest.mark.parametrize(("options", "misplaced"), [((), 1), (("--as-planned",), 0)], ids=["as-it-is", "as-planned"])
def test_capacity_counts_with_the_groups_of_the_plan(dump: Path, options: tuple[str, ...], misplaced: int) -> None:
    report = json.loads(run("capacity", POLICY, "--from", dump, "--format", "json", *options).out)

    assert len(report["misplaced"]) == misplaced


def test_the_audit_judges_by_the_groups_of_the_plan(dump: Path) -> None:
    assert "0 misplaced" in run("audit", POLICY, "--from", dump, "--as-planned").err
