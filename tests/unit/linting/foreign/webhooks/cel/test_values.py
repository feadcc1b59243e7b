"""Expressions worked out as far as a request is known."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression
from gpupolicy.linting.foreign.webhooks.cel.values import UNKNOWN, work_out

KNOWN = {("request", "namespace"): "kube-system", ("object",): object()}


def value_of(expression: str) -> object:
    """What an expression gives for a request in kube-system."""
    tree = read_expression(expression)
    assert not isinstance(tree, Unreadable), tree
    return work_out(tree, KNOWN)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("request.namespace != 'kube-system'", False),
        ("!(request.namespace in ['a', 'kube-system'])", False),
        ("!request.namespace.startsWith('kube-')", False),
        ("request.namespace.endsWith('m') || object.x", True),
        ("request.namespace.contains('x') && object.x", False),
        ("request.namespace.matches('^kube-.*$')", True),
        ("['a', 'kube-system'].exists(n, n == request.namespace)", True),
        ("['a', 'kube-'].all(n, !request.namespace.startsWith(n))", False),
        ("request.?namespace.orValue('') == 'kube-system'", True),
        ("request.namespace == 'a' ? object.x : false", False),
        ("object == null", False),
        ("false", False),
    ],
)
def test_what_hangs_on_known_parts_is_worked_out(expression: str, value: bool) -> None:
    assert value_of(expression) is value


@pytest.mark.parametrize(
    "expression",
    [
        "request.name == 'a'",
        "!object.x",
        "request.namespace == object.x",
        "request.namespace in object.x",
        "request.namespace in ['a', object.x]",
        "request.namespace == 'kube-system' && object.x",
        "request.namespace.matches('[')",
        "request.namespace.size() == 3",
        "1 == 2",
    ],
)
def test_the_rest_is_not_known(expression: str) -> None:
    assert value_of(expression) is UNKNOWN
