"""What match conditions may name, call and give."""

from __future__ import annotations

import pytest
from cel_cases import COMPILED, NOT_COMPILED

from gpupolicy.linting.foreign.webhooks.cel.names import Problem, find_problem
from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression


def problem_of(expression: str) -> Problem | None:
    """What is wrong with an expression that can be read."""
    tree = read_expression(expression)
    assert not isinstance(tree, Unreadable), tree
    return find_problem(tree)


@pytest.mark.parametrize("expression", COMPILED)
def test_what_the_api_server_compiles_has_no_problem(expression: str) -> None:
    assert problem_of(expression) is None


@pytest.mark.parametrize(("expression", "what", "hint"), NOT_COMPILED)
def test_what_it_does_not_compile_is_told(expression: str, what: str, hint: str | None) -> None:
    assert problem_of(expression) == (what, hint)
