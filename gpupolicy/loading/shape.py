"""What is wrong with the shape of a policy: jsonschema decides, the words are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

from gpupolicy.errors import FieldPath, Finding, Part, Severity, format_field, shown
from gpupolicy.loading.scalars import read_plain
from gpupolicy.loading.schema import Schema, fits, read_schema
from gpupolicy.suggestions import find_nearest, hint_known

Error = Any  # jsonschema.ValidationError; typing it would import jsonschema

_TYPE_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
}
_SCALARS = (str, int, float)
_SCALAR_TYPES = {"integer": int, "boolean": bool}
_LONGEST_NUMBER = 10
_MATCH_LABELS = "matchLabels"


def find_shape_problems(value: object) -> tuple[Finding, ...]:
    """Returns what keeps a value from being a policy: unknown and missing fields, wrong types, values out of range.

    Args:
        value: the document of a policy, as plain dicts, lists and scalars.

    Returns:
        Errors in the order in which jsonschema meets them, then impossible dates; empty where the shape is right.
    """
    problems = () if fits(value) else _find_schema_problems(value)
    told = {problem.field for problem in problems}
    return (*problems, *(problem for problem in _impossible_dates(value) if problem.field not in told))


def _find_schema_problems(value: object) -> tuple[Finding, ...]:
    from jsonschema import Draft202012Validator  # heavy, and only needed where something is wrong

    errors = Draft202012Validator(read_schema()).iter_errors(value)
    findings: dict[tuple[str, FieldPath], Finding] = {}
    for finding in (finding for error in errors for finding in _describe(error)):
        findings.setdefault((finding.rule, finding.field), finding)
    return tuple(findings.values())


def _impossible_dates(value: Any) -> Iterator[Finding]:
    """Yields the dates that no calendar has; the schema's pattern lets 2027-02-30 pass."""
    part = value
    for key in ("spec", "admission", "exemptions"):
        part = part.get(key) if isinstance(part, dict) else None
    for index, exemption in enumerate(part if isinstance(part, list) else ()):
        day = exemption.get("expires") if isinstance(exemption, dict) else None
        if isinstance(day, str) and not _is_date(day):
            path = ("spec", "admission", "exemptions", index, "expires")
            yield _finding("wrong-form", path, f"expires is {show_value(day)}, a day that no calendar has")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _describe(error: Error) -> Iterator[Finding]:
    path: FieldPath = tuple(error.absolute_path)
    describe = _KEYWORDS.get(error.validator, _other)
    yield from describe(error, path)


def _finding(rule: str, path: FieldPath, message: str, hint: str | None = None, part: Part = Part.VALUE) -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, field=path, message=message, hint=hint, part=part)


def _unknown(error: Error, path: FieldPath) -> Iterator[Finding]:
    known = error.schema["properties"]
    for key, value in error.instance.items():
        if key not in known:
            hint = hint_known(key, known)
            if _MATCH_LABELS in known and _MATCH_LABELS not in error.instance and isinstance(value, _SCALARS):
                hint = f"labels stand below {_MATCH_LABELS}"
            yield _finding("unknown-field", (*path, key), f"{_where(path)} has no field {shown(key)}", hint, Part.KEY)


def _missing(error: Error, path: FieldPath) -> Iterator[Finding]:
    for key in error.validator_value:
        if key not in error.instance:
            yield _finding("missing-field", (*path, key), f"{_where(path)} lacks the field {key}", _purpose(error, key))


def _wrong_type(error: Error, path: FieldPath) -> Iterator[Finding]:
    names = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    expected = " or ".join(_TYPE_WORDS[name] for name in names)
    hint = _hint_type(error.instance, names, error.schema)
    yield _finding("wrong-type", path, f"{_name(path)} is {show_value(error.instance)}; expected is {expected}", hint)


def _hint_type(value: object, names: list[str], schema: Schema) -> str | None:
    """Returns what to write where a scalar has another type than its author thinks."""
    if names == ["string"] and isinstance(value, (bool, int, float)):
        return f"write {schema['x-form']}" if "x-form" in schema else "put it in quotes"
    if names == ["array"] and isinstance(value, _SCALARS) and fits(value, schema["items"]):
        return f"write [{show_value(value)}]"
    meant = read_plain(value)[0] if isinstance(value, str) and len(value) < _LONGEST_NUMBER else None
    if len(names) == 1 and type(meant) is _SCALAR_TYPES.get(names[0]):
        return f"write {show_value(meant)}, without quotes"
    return None


def _not_allowed(error: Error, path: FieldPath) -> Iterator[Finding]:
    allowed: list[str] = error.validator_value
    yield _finding(
        "value-not-allowed",
        path,
        f"{_name(path)} is {show_value(error.instance)}; expected is {_alternatives(allowed)}",
        _hint_value(error.instance, allowed),
    )


def _hint_value(value: object, allowed: list[str]) -> str | None:
    if isinstance(value, bool):
        words = [word for word in allowed if read_plain(word)[0] is value]
        return f'put "{words[0]}" in quotes' if words else None
    if isinstance(value, (dict, list)):
        inside = [word for word in allowed if word in (value.values() if isinstance(value, dict) else value)]
        return f"did you mean {inside[0]}" if len(inside) == 1 else None
    nearest = _find_word(str(value), allowed) if value is not None else None
    if nearest is None:
        return "put it in quotes: without them 1.30 is the number 1.3" if isinstance(value, float) else None
    is_plain = isinstance(value, str) and isinstance(read_plain(nearest)[0], str)
    return f"did you mean {nearest}" if is_plain else f'did you mean "{nearest}", in quotes'


def _find_word(text: str, allowed: list[str]) -> str | None:
    """Returns the choice that a text holds (1.37 in v1.37.2), else the nearest; no number is near to another."""
    held = [word for word in allowed if word in text]
    return held[0] if len(held) == 1 else find_nearest(text, [word for word in allowed if not word[0].isdigit()])


def _out_of_range(error: Error, path: FieldPath) -> Iterator[Finding]:
    if error.instance != int(error.instance):
        return  # no whole number, which is told
    low, high = error.schema["minimum"], error.schema["maximum"]
    message = f"{_name(path)} is {error.instance}; expected is a number from {low} to {high}"
    yield _finding("value-out-of-range", path, message)


def _empty(error: Error, path: FieldPath) -> Iterator[Finding]:
    kind = "an empty list; expected is at least one entry" if isinstance(error.instance, list) else "an empty text"
    yield _finding("empty-value", path, f"{_name(path)} is {kind}")


def _wrong_form(error: Error, path: FieldPath) -> Iterator[Finding]:
    form = error.schema["x-form"]
    yield _finding("wrong-form", path, f"{_name(path)} is {show_value(error.instance)}; expected is {form}")


def _no_alternative(error: Error, path: FieldPath) -> Iterator[Finding]:
    names = [name for part in error.validator_value for name in part["required"]]
    message = f"{_where(path)} says no nodes; expected is at least one of {', '.join(names)}"
    yield _finding("missing-field", path, message)


def _other(error: Error, path: FieldPath) -> Iterator[Finding]:
    yield _finding(
        "value-not-allowed", path, f"{_name(path)} is {show_value(error.instance)}, which the format has not"
    )


def _not_the_constant(error: Error, path: FieldPath) -> Iterator[Finding]:
    message = f"{_name(path)} is {show_value(error.instance)}; expected is {error.validator_value}"
    yield _finding("value-not-allowed", path, message)


_KEYWORDS: dict[str, Callable[[Error, FieldPath], Iterator[Finding]]] = {
    "additionalProperties": _unknown,
    "required": _missing,
    "type": _wrong_type,
    "enum": _not_allowed,
    "const": _not_the_constant,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "minItems": _empty,
    "minLength": _empty,
    "pattern": _wrong_form,
    "anyOf": _no_alternative,
}


def _purpose(error: Error, key: str) -> str | None:
    description: str | None = error.schema["properties"].get(key, {}).get("description")
    if not description:
        return None
    begins_small = description[1:2].islower() or description[1:2] == " "  # no abbreviation, such as GPUs or API
    return f"{key}: {description[0].lower() if begins_small else description[0]}{description[1:].rstrip('.')}"


def _where(path: FieldPath) -> str:
    return format_field(path) if path else "the document"


def _name(path: FieldPath) -> str:
    if path and isinstance(path[-1], int) and len(path) > 1:
        return f"an entry of {path[-2]}"
    return str(path[-1]) if path else "the document"


def _alternatives(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def show_value(value: object) -> str:
    """Returns a value for messages, as YAML has it; of mappings, lists and long texts only what they are."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = str(value) if not isinstance(value, str) else f'"{value}"'
    return shown(text) if len(text) <= 60 else f"{shown(text[:40])}... ({len(text)} characters)"
