"""CEL read as text: what an expression leans on."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.webhooks.expressions import (
    find_syntax_problem,
    guards_kind,
    guards_null,
    object_parts,
    old_object_parts,
    uses_namespace_object,
)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("has(object.spec", "it opens ( without closing it", id="open"),
        pytest.param("has(object.spec))", "it closes ) without opening it", id="closed-twice"),
        pytest.param("[1, 2)", "it closes ) without opening it", id="mixed"),
        pytest.param("request.namespace == 'a", "a text in it is not closed", id="quote"),
    ],
)
def test_brackets_and_quotes_have_to_fit(expression: str, problem: str) -> None:
    assert find_syntax_problem(expression) == problem


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.containers.exists(c, has(c.resources.limits))",
        "request.namespace != '('",
        "request.namespace != 'it\\'s'",
        'request.namespace != "a\'b"',
        "request.namespace.matches(r'\\(')",
        "'''a'b''' == 'c'",
        "true // it's ( all right\n",
        "{'a': [1, 2]}['a'][0] == 1",
    ],
)
def test_what_stands_in_texts_and_comments_does_not_count(expression: str) -> None:
    assert find_syntax_problem(expression) is None


def test_the_parts_of_the_object_are_those_read_without_a_question_mark() -> None:
    expression = "object.spec.x && object.?status.y.hasValue() && oldObject.kind == 'object.metadata'"

    assert object_parts(expression) == ("spec",)


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        pytest.param("object.spec != oldObject.spec", ("spec",), id="compared"),
        pytest.param("oldObject == null || object.spec != oldObject.spec", (), id="looked-for"),
        pytest.param("request.operation == 'UPDATE' && oldObject.spec.x == 1", (), id="at-updates"),
        pytest.param("has(oldObject.spec) && oldObject.spec.x == 1", (), id="asked-for"),
        pytest.param("object.?spec != oldObject.?spec", (), id="optional"),
    ],
)
def test_the_parts_of_the_old_object_are_those_read_without_a_look(expression: str, parts: tuple[str, ...]) -> None:
    assert old_object_parts(expression) == parts


@pytest.mark.parametrize("expression", ["namespaceObject.metadata.name == 'a'", "has(namespaceObject.metadata)"])
def test_namespace_object_is_seen(expression: str) -> None:
    assert uses_namespace_object(expression)


def test_a_field_called_namespace_object_is_something_else() -> None:
    assert not uses_namespace_object("object.namespaceObject == 'namespaceObject'")


@pytest.mark.parametrize("expression", ["object != null", "request.operation != 'DELETE'", "object.?spec.hasValue()"])
def test_a_guard_against_a_missing_object_is_seen(expression: str) -> None:
    assert guards_null(expression)


@pytest.mark.parametrize(
    "expression",
    ["request.kind.kind == 'Pod'", "request.subResource == ''", "has(object.spec)", "object.?spec.hasValue()"],
)
def test_a_guard_against_another_kind_of_object_is_seen(expression: str) -> None:
    assert guards_kind(expression)


def test_an_expression_without_a_guard_has_none() -> None:
    assert (guards_null("object.spec.x == 1"), guards_kind("object.spec.x == 1")) == (False, False)
