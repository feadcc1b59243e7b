"""Strict decoding: which values a decoder of Go takes for which fields."""

from __future__ import annotations

import pytest

from gpupolicy.errors import Part
from gpupolicy.linting.foreign.shapes import (
    BASE64,
    DURATION,
    DURATION_OR_NULL,
    FLAG,
    INT32,
    INT64,
    NUMBER,
    TEXT,
    Fields,
    ListOf,
    Shape,
    TableOf,
    check_shape,
)

THING = Fields({"name": TEXT, "weights": ListOf(INT32), "labels": TableOf(TEXT)}, {"names": "write name"})


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        pytest.param(TEXT, "", id="empty-text"),
        pytest.param(TEXT, None, id="null-for-text"),
        pytest.param(INT32, 2**31 - 1, id="largest-int32"),
        pytest.param(INT32, 8.0, id="whole-float"),
        pytest.param(INT64, 2**40, id="int64"),
        pytest.param(NUMBER, 1.5, id="number"),
        pytest.param(FLAG, False, id="flag"),
        pytest.param(DURATION, "1m30s", id="duration"),
        pytest.param(DURATION_OR_NULL, None, id="null-for-an-optional-duration"),
        pytest.param(BASE64, "YQ==", id="base64"),
        pytest.param(BASE64, "Y\nQ==\n", id="base64-over-lines"),
        pytest.param(ListOf(TEXT), [], id="empty-list"),
        pytest.param(THING, {"name": "a", "weights": [1], "labels": {"b": "c"}}, id="mapping"),
        pytest.param(Fields({}, is_open=True), {"anything": 1}, id="open-mapping"),
    ],
)
def test_a_value_that_fits_is_taken(shape: Shape, value: object) -> None:
    assert list(check_shape(value, shape)) == []


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        pytest.param(TEXT, 5, "x is 5; text is expected", id="number-for-text"),
        pytest.param(TEXT, True, "x is true; text is expected", id="bool-for-text"),
        pytest.param(INT32, 2**31, "x is 2147483648; a whole number is expected", id="beyond-int32"),
        pytest.param(INT32, "8", 'x is "8"; a whole number is expected', id="text-for-number"),
        pytest.param(INT32, True, "x is true; a whole number is expected", id="bool-is-no-number"),
        pytest.param(INT64, 1.5, "x is 1.5; a whole number is expected", id="fraction"),
        pytest.param(NUMBER, "1", 'x is "1"; a number is expected', id="text-for-float"),
        pytest.param(FLAG, "true", 'x is "true"; true or false is expected', id="text-for-flag"),
        pytest.param(DURATION, 15, "x is 15; a duration such as 15s is expected", id="number-for-duration"),
        pytest.param(DURATION, None, "x is null; a duration such as 15s is expected", id="null-for-duration"),
        pytest.param(BASE64, "!!", 'x is "!!"; base64 text is expected', id="no-base64"),
        pytest.param(ListOf(TEXT), {"a": 1}, "x is a mapping; a list is expected", id="mapping-for-list"),
        pytest.param(THING, ["a"], "x is a list; a mapping is expected", id="list-for-mapping"),
        pytest.param(TableOf(TEXT), "a", 'x is "a"; a mapping is expected', id="text-for-table"),
    ],
)
def test_a_value_that_does_not_fit_is_told(shape: Shape, value: object, message: str) -> None:
    (finding,) = check_shape(value, shape, ("x",))

    assert finding.message == message


@pytest.mark.parametrize(
    ("value", "field", "hint"),
    [
        pytest.param({"weight": []}, ("weight",), "did you mean weights", id="near"),
        pytest.param({"names": []}, ("names",), "write name", id="remarked"),
        pytest.param({"zzz": 1}, ("zzz",), "known: labels, name, weights", id="far"),
        pytest.param({"Name": "a"}, ("Name",), "did you mean name", id="other-case"),
    ],
)
def test_an_unknown_key_is_pointed_at_with_a_hint(value: dict[str, object], field: tuple[str], hint: str) -> None:
    (finding,) = check_shape(value, THING)

    assert (finding.field, finding.part, finding.hint) == (field, Part.KEY, hint)


def test_a_wrong_element_is_told_by_its_place() -> None:
    fields = [finding.field for finding in check_shape({"weights": [1, "2"], "labels": {"a": 1}}, THING)]

    assert fields == [("weights", 1), ("labels", "a")]


def test_a_number_where_text_belongs_should_be_quoted() -> None:
    (finding,) = check_shape({"labels": {"a": 8}}, THING)

    assert finding.hint == "put it in quotes"
