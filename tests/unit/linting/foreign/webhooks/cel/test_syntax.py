"""The grammar of CEL."""

from __future__ import annotations

import pytest
from cel_cases import NOT_READ, READ

from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression
from gpupolicy.linting.foreign.webhooks.cel.tree import Call, Field, Item, Literal, Name, Operation, path_of


@pytest.mark.parametrize("expression", READ)
def test_what_the_api_server_reads_is_read(expression: str) -> None:
    assert not isinstance(read_expression(expression), Unreadable)


@pytest.mark.parametrize(("expression", "reason"), NOT_READ)
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
