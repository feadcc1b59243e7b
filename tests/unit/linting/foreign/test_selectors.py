"""Label selectors that the API server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from gpupolicy.linting.foreign.selectors import find_selector_problems


def expressions(**fields: Any) -> dict[str, Any]:
    """A selector of one expression."""
    return {"matchExpressions": [fields]}


@pytest.mark.parametrize(
    ("selector", "path"),
    [
        pytest.param(expressions(key="a", operator="in", values=["b"]), ("matchExpressions", 0, "operator"), id="case"),
        pytest.param(expressions(key="a", operator="Gt", values=["1"]), ("matchExpressions", 0, "operator"), id="gt"),
        pytest.param(expressions(key="a", operator="NotIn"), ("matchExpressions", 0), id="no-values"),
        pytest.param(
            expressions(key="a", operator="Exists", values=["b"]), ("matchExpressions", 0, "values"), id="values"
        ),
        pytest.param(expressions(key="a b", operator="Exists"), ("matchExpressions", 0, "key"), id="key"),
        pytest.param(
            expressions(key="a", operator="In", values=["b c"]), ("matchExpressions", 0, "values"), id="value"
        ),
        pytest.param({"matchLabels": {"a": "b c"}}, ("matchLabels", "a"), id="match-label"),
    ],
)
def test_the_place_of_a_refused_part_is_told(selector: dict[str, Any], path: tuple[str | int, ...]) -> None:
    assert [found for found, _ in find_selector_problems(selector)] == [path]


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {"a": ""}}, expressions(key="a", operator="Exists")])
def test_a_selector_that_is_taken_has_no_problem(selector: object) -> None:
    assert list(find_selector_problems(selector)) == []
