"""The grammar of CEL; every expression here was asked of the API server of Kubernetes 1.37.2."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.webhooks.cel.syntax import (
    Call,
    Field,
    Item,
    Literal,
    Name,
    Operation,
    Unreadable,
    path_of,
    read_expression,
)


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.containers.exists(c, has(c.resources.limits.`nvidia.com/gpu`))",
        "object.?spec.?containers[?0].hasValue()",
        ".object.spec.x == 'a'",
        "object.spec.namespace == 'x' && object.spec.if == 'a'",
        "has(object.spec) ? true : false",
        "1.5e3 > 0x10 && 1u == 1u && .5 < 2 && --1 < 0 && !!true",
        "{'a': [1, 2,],}['a'][0] == 1 && {}.size() == 0",
        "{?'a': optional.of(1)}.size() == [?optional.of(1)].size()",
        "b'abc' == b\"abc\" && br'a' == b'a' && R'\\d' == '\\\\d'",
        "'\\n\\x41\\u00e9\\101' == \"é\"",
        "'''a\n'b''' == \"\"\"c\"\"\"",
        "object.spec.containers.exists(c,\n  has(c.resources)) // it's ( all right",
    ],
)
def test_what_the_api_server_reads_is_read(expression: str) -> None:
    assert not isinstance(read_expression(expression), Unreadable)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        pytest.param("request.name = 'a'", 'it has "=", where CEL has "=="', id="one-equals-sign"),
        pytest.param("true and false", 'it has "and", where CEL has "&&"', id="and"),
        pytest.param("true & false", 'it has "&", where CEL has "&&"', id="ampersand"),
        pytest.param("request.name not in ['a']", 'it has "not", where CEL has "!"', id="not-in"),
        pytest.param("true &&", "it ends too early", id="no-right-side"),
        pytest.param("&& true", 'it has "&&" where that cannot stand', id="no-left-side"),
        pytest.param("has(object.spec) ? true", "it ends too early", id="no-else"),
        pytest.param("object..spec == null", 'it has "." where that cannot stand', id="two-dots"),
        pytest.param("object.in == 1", 'it has "in" where that cannot stand', id="in-as-a-field"),
        pytest.param("true;", 'it has ";" where that cannot stand', id="semicolon"),
        pytest.param("$object.spec == null", 'it has "$" where that cannot stand', id="dollar"),
        pytest.param("{{ .Values.x }}", 'it has "}" where that cannot stand', id="template"),
        pytest.param("request.name in ('a', 'b')", 'it has "," where that cannot stand', id="tuple"),
        pytest.param("!-1 == 1", 'it has "-" where that cannot stand', id="mixed-signs"),
        pytest.param("1_0 == 10", 'it has "_0" where that cannot stand', id="underscore"),
        pytest.param("namespace == 'a'", "namespace is a word that CEL keeps for itself", id="reserved"),
        pytest.param("// nothing", "it ends too early", id="comment-alone"),
        pytest.param(
            "'\\d' == 'd'",
            "a text in it is not closed, or has a backslash before a letter that needs none",
            id="escape",
        ),
    ],
)
def test_what_it_refuses_is_told_in_its_place(expression: str, reason: str) -> None:
    assert read_expression(expression) == Unreadable(reason)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("(" * 99 + "true" + ")" * 99, id="brackets"),
        pytest.param("object" + ".a" * 999 + " == 1", id="path"),
        pytest.param("1" + " + 1" * 999 + " == 1", id="sum"),
    ],
)
def test_an_expression_that_is_too_deep_is_passed_over(expression: str) -> None:
    assert read_expression(expression) == Unreadable(None)


def test_a_long_row_of_alternatives_is_not_deep() -> None:
    assert isinstance(read_expression(" || ".join(["object.a == 1"] * 999)), Operation)


def test_a_message_is_passed_over() -> None:
    assert read_expression("google.protobuf.Duration{seconds: 1} == duration('1s')") == Unreadable(None)


def test_signs_bind_as_in_cel() -> None:
    a, b, c = Name("a"), Name("b"), Name("c")

    assert read_expression("a || b && !c") == Operation("||", (a, Operation("&&", (b, Operation("!", (c,))))))


def test_members_stand_behind_what_they_are_members_of() -> None:
    limits = Field(Field(Name("c"), "resources"), "limits", is_optional=True)
    key = Literal("text", "nvidia.com/gpu")

    assert read_expression("c.resources.?limits['nvidia.com/gpu'].size()") == Call("size", (), Item(limits, key))


def test_a_path_is_made_of_plain_names() -> None:
    node = read_expression("object.?metadata.labels")

    assert not isinstance(node, Unreadable)
    assert path_of(node) == ("object", "metadata", "labels")
