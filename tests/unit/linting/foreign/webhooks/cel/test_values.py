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


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("^(a+)+$", id="repeated-group"),
        pytest.param("a*a*a*a*a*a*a*b", id="many-repetitions"),
        pytest.param("a?" * 40 + "a" * 40, id="many-options"),
        pytest.param("(a*|b)" * 8 + "c", id="groups-in-a-row"),
        pytest.param("[" * 200_000, id="long"),
        pytest.param("a{99999999999999}", id="huge-number"),
        pytest.param("(" * 5000 + "a" + ")" * 5000, id="deep"),
        pytest.param("[[:alpha:]]", id="class-of-re2"),
    ],
)
def test_a_pattern_that_python_may_try_for_ever_or_reads_otherwise_is_not_worked_out(pattern: str) -> None:
    text = "a" * 60 + "!"

    assert value_of(f"'{text}'.matches('{pattern}')") is UNKNOWN


@pytest.mark.parametrize(
    "pattern", ["^(kube-.*|openshift-.*|istio-.*)$", "^kube-[a-z+*]+$", r"^kube\-system$", "^(?:kube)-(?P<rest>.+)$"]
)
def test_a_plain_pattern_is_worked_out(pattern: str) -> None:
    assert value_of(f"request.namespace.matches(r'{pattern}')") is True


@pytest.mark.parametrize("count", [pytest.param(8, id="nested"), pytest.param(2, id="long")])
def test_lists_gone_through_in_lists_end(count: int) -> None:
    names = ",".join(f"'a{number}'" for number in range(3000 if count == 2 else 8))
    inner = ".exists(x, ".join([f"[{names}]"] * count)

    assert value_of(f"{inner}.exists(x, x == 'z'{')' * count}") is UNKNOWN
