"""The shape of foreign objects as data, and what a strict decoder refuses in a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from gpupolicy.errors import FieldPath, Finding, Part
from gpupolicy.linting.foreign.durations import parse_duration
from gpupolicy.linting.foreign.findings import error, show
from gpupolicy.linting.foreign.pem import decode_base64
from gpupolicy.suggestions import hint_known

UNKNOWN_FIELD = "foreign-field-unknown"
WRONG_TYPE = "foreign-type-wrong"

SHAPE_RULES: Mapping[str, str] = {
    UNKNOWN_FIELD: "a field that the object does not have, which strict decoding refuses",
    WRONG_TYPE: "a value of another type than the field has, such as text for a number",
}

ScalarKind = Literal["text", "int32", "int64", "number", "flag", "duration", "base64", "any"]

_EXPECTED: Mapping[str, str] = {
    "text": "text",
    "int32": "a whole number",
    "int64": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "duration": "a duration such as 15s",
    "base64": "base64 text",
}


# shapes are written by position: tables of a hundred fields are read as data


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value of a kind; ``any`` takes everything. Null stands for an absent value where it is ``nullable``."""

    kind: ScalarKind
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping with known keys; ``is_open`` lets others pass.

    ``remarks`` holds hints for keys that people write there and that belong elsewhere.
    """

    fields: Mapping[str, Shape]
    remarks: Mapping[str, str] | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements have one shape."""

    element: Shape


@dataclass(frozen=True, slots=True)
class TableOf:
    """A mapping with free keys whose values have one shape."""

    value: Shape


Shape = Scalar | Fields | ListOf | TableOf

TEXT, INT32, INT64 = Scalar("text"), Scalar("int32"), Scalar("int64")
NUMBER, FLAG, BASE64, ANY = Scalar("number"), Scalar("flag"), Scalar("base64"), Scalar("any")
DURATION = Scalar("duration", nullable=False)  # null reads as an empty text there, which is no duration
DURATION_OR_NULL = Scalar("duration")


def check_shape(value: Any, shape: Shape, path: FieldPath = ()) -> Iterator[Finding]:
    """Yields unknown fields and values of a wrong type.

    Args:
        value: what the document says; null stands for an absent field, as it does for Go's decoder.
        shape: what the cluster's decoder expects there.
        path: where the value stands.

    Source: sigs.k8s.io/json, strict decoding; measured on kube-scheduler 1.37.2.
    """
    if value is None:
        if isinstance(shape, Scalar) and not shape.nullable:
            yield _wrong(None, shape.kind, path)
        return
    match shape:
        case Scalar():
            yield from _check_scalar(value, shape.kind, path)
        case Fields():
            yield from _check_fields(value, shape, path)
        case ListOf():
            yield from _check_list(value, shape, path)
        case TableOf():
            yield from _check_table(value, shape, path)
        case _:
            assert_never(shape)


def is_sound(findings: tuple[Finding, ...]) -> bool:
    """Returns whether a document has no value of a wrong type, so that its meaning can be judged."""
    return not any(finding.rule == WRONG_TYPE for finding in findings)


def _check_scalar(value: Any, kind: ScalarKind, path: FieldPath) -> Iterator[Finding]:
    if not _fits(value, kind):
        yield _wrong(value, kind, path)


def _fits(value: Any, kind: ScalarKind) -> bool:
    match kind:
        case "any":
            return True
        case "text":
            return isinstance(value, str)
        case "flag":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "int32":
            return _is_whole(value, 31)
        case "int64":
            return _is_whole(value, 63)
        case "duration":
            return isinstance(value, str) and parse_duration(value) is not None
        case "base64":
            return isinstance(value, str) and decode_base64(value) is not None
        case _:
            assert_never(kind)


def _is_whole(value: Any, bits: int) -> bool:
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return isinstance(value, int) and not isinstance(value, bool) and -(2**bits) <= value < 2**bits


def _check_fields(value: Any, shape: Fields, path: FieldPath) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield _wrong(value, "a mapping", path)
        return
    for key, element in value.items():
        if key in shape.fields:
            yield from check_shape(element, shape.fields[key], (*path, key))
        elif not shape.is_open:
            yield _unknown(str(key), shape, path)


def _check_list(value: Any, shape: ListOf, path: FieldPath) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield _wrong(value, "a list", path)
        return
    for index, element in enumerate(value):
        yield from check_shape(element, shape.element, (*path, index))


def _check_table(value: Any, shape: TableOf, path: FieldPath) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield _wrong(value, "a mapping", path)
        return
    for key, element in value.items():
        yield from check_shape(element, shape.value, (*path, str(key)))


def _unknown(key: str, shape: Fields, path: FieldPath) -> Finding:
    hint = (shape.remarks or {}).get(key) or hint_known(key, shape.fields)
    return error(UNKNOWN_FIELD, (*path, key), f"{key} is no field here", hint, part=Part.KEY)


def _wrong(value: Any, expected: str, path: FieldPath) -> Finding:
    where = next((str(step) for step in reversed(path) if isinstance(step, str)), "the document")
    hint = "put it in quotes" if expected == "text" and isinstance(value, (int, float)) else None
    return error(WRONG_TYPE, path, f"{where} is {show(value)}; {_EXPECTED.get(expected, expected)} is expected", hint)
