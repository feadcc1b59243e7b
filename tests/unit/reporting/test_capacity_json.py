"""The CapacityReport."""

from __future__ import annotations

from datetime import UTC, datetime

from builders import gpu_type, group, owned, policy
from fleet_builders import running, seated

from gpupolicy import capacity
from gpupolicy.reporting.capacity_json import capacity_to_json

ONE = policy(group("SLOT-4", 4, types=("V100",)), types=(gpu_type("V100"),))
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_the_report_has_the_shape_that_programs_read() -> None:
    pods = [running("p", 4, "a", activeDeadlineSeconds=60), owned(running("q", 1, "a"), "Job"), running("r", 4, None)]

    report = capacity_to_json(capacity(ONE, [seated("a", "SLOT-4"), seated("b", None)], pods, now=NOON))

    assert report == {
        "kind": "CapacityReport",
        "policy": "test",
        "readAt": "2026-11-29T12:00:00Z",
        "perGPU": {"cpuMilli": 1000, "memoryBytes": 2**30},
        "groups": [
            {
                "gpuType": "V100",
                "slotGroup": "SLOT-4",
                "nodes": 1,
                "uncountedNodes": 0,
                "gpus": {"total": 8, "used": 5, "free": 3, "overcommitted": 0},
                "slots": [{"size": 4, "total": 2, "used": 2, "free": 0, "blocked": 0}],
                "overflowSlots": [],
                "largestFit": 0,
                "stranded": 3,
                "strandedBy": [{"reason": "leftover", "gpus": 3, "nodeCount": 1, "nodes": ["a"]}],
                "releases": [
                    {
                        "at": "2026-11-29T12:01:00Z",
                        "pods": 1,
                        "gpus": 4,
                        "freeSlots": [{"size": 4, "free": 1}],
                        "overdue": False,
                    }
                ],
                "moreReleases": 0,
                "gpusWithoutEnd": 1,
            }
        ],
        "types": [
            {
                "gpuType": "V100",
                "nodes": 1,
                "gpus": {"total": 8, "used": 5, "free": 3, "overcommitted": 0},
                "freeSlots": [
                    {"size": 1, "free": 0},
                    {"size": 2, "free": 0},
                    {"size": 4, "free": 0},
                    {"size": 8, "free": 0},
                ],
                "largestFit": 0,
                "stranded": 3,
            }
        ],
        "misplaced": [
            {
                "namespace": "team-a",
                "pod": "q",
                "owner": {"kind": "Job", "name": "x"},
                "node": "a",
                "gpus": {"nvidia.com/gpu": 1},
                "gpuType": "V100",
                "slotGroup": "SLOT-4",
                "slotGroups": [],
                "reason": "not-served",
                "message": "no slot group that its namespace may use serves requests for 1 GPU",
            }
        ],
        "unlabelled": [
            {
                "node": "b",
                "gpuType": "V100",
                "gpus": {"total": 8, "used": 0, "free": 8, "overcommitted": 0},
                "reason": "no label my.gpu.cluster/node-group",
            }
        ],
        "uncounted": [],
        "pending": [{"size": 4, "pods": 1}],
        "findings": [],
        "whatIf": None,
        "summary": {"nodes": 2, "nodesRead": 2, "podsRead": 3},
    }


def test_what_would_be_has_the_same_shapes() -> None:
    counted = capacity(ONE, [seated("a", "SLOT-4")], [running("p", 4, "a")], what_if=["SLOT-4: +1", "SLOT-4: -2"])

    outlook = capacity_to_json(counted)["whatIf"]

    assert isinstance(outlook, dict)
    assert outlook["changes"] == ["SLOT-4: +1", "SLOT-4: -2"]
    assert outlook["nodes"] == [
        {"node": "new-1", "gpuType": "V100", "from": None, "to": "SLOT-4"},
        {"node": "new-1", "gpuType": "V100", "from": "SLOT-4", "to": None},
        {"node": "a", "gpuType": "V100", "from": "SLOT-4", "to": None},
    ]
    assert [group["nodes"] for group in outlook["groups"]] == [0]
    assert (outlook["misplaced"], outlook["displaced"]) == ([], ["team-a/p"])


def test_findings_have_the_shape_that_they_have_everywhere() -> None:
    report = capacity_to_json(capacity(ONE, [seated("a", "SLOT-4", gpus=0)], []))

    assert report["findings"] == [
        {
            "rule": "node-without-gpus",
            "severity": "warning",
            "message": "node a is of type V100 and offers no nvidia.com/gpu",
            "hint": None,
            "field": "nodes.a",
            "file": None,
            "line": None,
            "column": None,
        }
    ]
