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
        pytest.param("8k", 8000, id="suffix"),
        pytest.param("-1", 0, id="negative"),
        pytest.param("many", None, id="no-quantity"),
    ],
)
def test_an_amount_is_read_as_kubernetes_reads_it(written: object, units: int | None) -> None:
    assert NodeView({"status": {"allocatable": {GPU: written}}}).find_allocatable(GPU) == units


def test_taints_that_are_no_mappings_are_left_out() -> None:
    assert NodeView({"spec": {"taints": ["x", {"key": "a"}]}}).taints == ({"key": "a"},)
