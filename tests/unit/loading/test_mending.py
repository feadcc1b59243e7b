"""A policy of the wrong shape is mended as far as it is sure what is meant, so that one run tells everything."""

from __future__ import annotations

from copy import deepcopy
from json import dumps
from typing import Any

import pytest

from gpupolicy.linting import lint_text
from gpupolicy.loading.mending import mend
from gpupolicy.loading.shape import find_shape_problems

GOOD: dict[str, Any] = {
    "apiVersion": "gpupolicy.dev/v1alpha1",
    "kind": "GPUPolicy",
    "metadata": {"name": "test"},
    "spec": {
        "gpuTypes": [{"name": "A100", "gpusPerNode": 8, "aliases": ["a100"]}],
        "slotGroups": [{"name": "ALL", "sizes": [1], "nodes": [{"gpuType": "A100", "weight": 1}]}],
        "admission": {"routing": "required"},
    },
}


def spoilt(part: str, index: int | None, key: str, value: object, *, instead_of: str | None = None) -> dict[str, Any]:
    """The good policy with one field of a part set, perhaps instead of another."""
    document = deepcopy(GOOD)
    target = document["spec"][part] if index is None else document["spec"][part][index]
    target.pop(instead_of, None)
    target[key] = value
    return document


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(spoilt("gpuTypes", 0, "gpusPerNod", 8, instead_of="gpusPerNode"), id="misspelt-key"),
        pytest.param(spoilt("gpuTypes", 0, "gpusPerNode", "8"), id="number-in-quotes"),
        pytest.param(spoilt("gpuTypes", 0, "aliases", "a100"), id="lone-entry"),
        pytest.param(spoilt("admission", None, "routing", "requird"), id="misspelt-word"),
        pytest.param(spoilt("admission", None, "colour", "blue"), id="key-that-means-nothing"),
        pytest.param(spoilt("admission", None, "requestSizes", []), id="empty-list-that-may-be-left-out"),
        pytest.param(spoilt("admission", None, "requestSizes", 8), id="one-number-where-a-word-may-stand"),
        pytest.param(spoilt("gpuTypes", 0, "resourceName", ""), id="empty-text-that-may-be-left-out"),
    ],
)
def test_what_is_surely_meant_is_mended(document: dict[str, Any]) -> None:
    assert mend(document, find_shape_problems(document)) == GOOD


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(spoilt("gpuTypes", 0, "colour", "blue", instead_of="gpusPerNode"), id="missing"),
        pytest.param(spoilt("slotGroups", 0, "sizes", ["one"]), id="unreadable-and-needed"),
    ],
)
def test_what_would_be_guesswork_is_not(document: dict[str, Any]) -> None:
    assert mend(document, find_shape_problems(document)) is None


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        pytest.param(99_999_999_999, "value-out-of-range", id="eleven-digits"),
        pytest.param(1e30, "value-out-of-range", id="float"),
        pytest.param(int("9" * 400), "wrong-type", id="more-than-a-float-holds"),
    ],
)
def test_a_number_beyond_reckoning_is_told_and_the_rest_is_judged(number: float, rule: str) -> None:
    document = spoilt("gpuTypes", 0, "gpusPerNode", number)
    document["spec"]["slotGroups"][0]["overflow"] = ["ALL"]

    found = [finding.rule for finding in lint_text(dumps(document))]

    assert found == [rule, "overflow-to-itself"]


def test_a_group_without_sizes_that_overflows_is_told() -> None:
    document = spoilt("slotGroups", 0, "sizes", [])
    document["spec"]["slotGroups"] += [{"name": "MORE", "sizes": [1], "nodes": [{"gpuType": "A100", "weight": 1}]}]
    document["spec"]["slotGroups"][0]["overflow"] = ["MORE"]

    assert [finding.rule for finding in lint_text(dumps(document))] == ["empty-value"]


def test_a_day_that_no_calendar_has_is_told_beside_other_faults() -> None:
    document = spoilt("admission", None, "exemptions", [{"reason": "x", "expires": "2027-02-30", "namespaces": ["a"]}])
    document["spec"]["gpuTypes"][0]["gpusPerNode"] = 5000

    found = [(finding.rule, finding.field[-1]) for finding in lint_text(dumps(document))]

    assert sorted(found) == [("value-out-of-range", "gpusPerNode"), ("wrong-form", "expires")]


def test_five_faults_of_five_kinds_are_named_in_one_run() -> None:
    text = """\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: five}
spec:
  gpuTypes:
    - name: V100
      gpusPerNode: 8
      gpusPerNode: 8
      nodeSelektor: {matchLabels: {product: V100}}
  slotGroups:
    - name: SMALL
      sizes: [1, 2, 3, 4, 8]
      nodes: [{gpuType: V100, weight: 3}]
      overflow: [LARGE]
  scheduler:
    profiles:
      - schedulerName: gpu-packing
        scoringStrategy: {type: MostAllocated, resources: [{name: nvidia.com/gpu, weight: 1000}]}
"""

    found = [(finding.line, finding.column, finding.rule) for finding in lint_text(text)]

    assert found == [
        (8, 7, "duplicate-key"),
        (9, 7, "unknown-field"),
        (12, 21, "slot-size-not-admitted"),
        (14, 18, "overflow-unknown"),
        (18, 91, "value-out-of-range"),
    ]
