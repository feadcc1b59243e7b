"""The view on a foreign node."""

from __future__ import annotations

import pytest
from builders import GPU, node

from gpupolicy.node import NodeView


def test_a_node_tells_its_name_labels_and_gpus() -> None:
    view = NodeView(node("a", gpus=8, labels={"x": "y"}))

    assert (view.name, view.labels, view.find_allocatable(GPU)) == ("a", {"x": "y"}, 8)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({}, id="empty"),
        pytest.param({"metadata": None, "status": None}, id="nulls"),
        pytest.param({"metadata": {"name": 3, "labels": []}, "status": {"allocatable": "x"}}, id="other-types"),
    ],
)
def test_parts_of_another_shape_count_as_empty(broken: dict[str, object]) -> None:
    view = NodeView(broken)

    assert (view.name, view.labels, view.find_allocatable(GPU)) == ("", {}, None)


def test_label_values_that_are_no_text_are_left_out() -> None:
    assert NodeView({"metadata": {"labels": {"a": 1, "b": "2"}}}).labels == {"b": "2"}


@pytest.mark.parametrize(
    ("written", "units"),
    [
        pytest.param("8", 8, id="text"),
        pytest.param(8, 8, id="number"),
        pytest.param("1k", 1000, id="suffix"),
        pytest.param(8.0, 8, id="whole-float"),
        pytest.param(None, 0, id="null"),
    ],
)
def test_an_amount_is_read_as_kubernetes_reads_it(written: object, units: int | None) -> None:
    assert NodeView({"status": {"allocatable": {GPU: written}}}).find_allocatable(GPU) == units


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        pytest.param("-1", "is -1, which is no whole number of at least 0", id="negative"),
        pytest.param("8.5", "is 8.5, which is no whole number of at least 0", id="part-of-a-gpu"),
        pytest.param("8Gi", "is 8Gi, and no node has more than 1024", id="binary-suffix"),
        pytest.param("1e30", "is 1e30, and no node has more than 1024", id="exponent"),
        pytest.param("1025", "is 1025, and no node has more than 1024", id="too-many"),
        pytest.param("many", 'cannot be read: "many" is not a quantity', id="word"),
        pytest.param(float("nan"), 'cannot be read: "nan" is not a quantity', id="nan"),
        pytest.param([8], "cannot be read: a list is not a quantity", id="list"),
        pytest.param(True, "cannot be read: true is not a quantity", id="boolean"),
    ],
)
def test_an_amount_that_is_no_number_of_gpus_counts_as_none_and_says_why(written: object, problem: str) -> None:
    view = NodeView({"status": {"allocatable": {GPU: written}}})

    assert (view.find_allocatable(GPU), view.find_amount_problem(GPU)) == (0, problem)


def test_taints_that_are_no_mappings_are_left_out() -> None:
    assert NodeView({"spec": {"taints": ["x", {"key": "a"}]}}).taints == ({"key": "a"},)
