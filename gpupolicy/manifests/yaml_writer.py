"""Plain values as YAML or JSON text, quoted wherever a YAML 1.1 reader would guess."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from gpupolicy.loading.scalars import read_plain

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")


def write_scalar(value: object) -> str:
    """Returns a scalar as it may stand anywhere in a YAML text."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and read_plain(value) == (value, None):
        return value
    return _quoted(value)


def _quoted(value: object) -> str:
    """Returns a scalar as JSON; what cannot be printed is escaped, because some of it breaks lines in YAML."""
    return json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())


def write_flow(value: object, *, as_json: bool = False) -> str:
    """Returns a value on one line: JSON, or YAML without needless quotes."""
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{write_scalar(key)}: {write_flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write_flow(entry) for entry in value) + "]"
    return write_scalar(value)


def write_block(value: object, column: int) -> str:
    """Returns a collection in block style at a column, without the indentation of its first line and without line end.

    Lists inside of mappings are not indented further, as kubectl prints them.
    """
    return ("\n" + " " * column).join(_lines(value))


def write_entry(key: str, value: object, column: int) -> str:
    """Returns ``key: value`` of a block mapping at a column, likewise."""
    return write_block({key: value}, column)


def write_item(value: object, column: int) -> str:
    """Returns ``- value`` of a block list at a column, likewise."""
    return write_block([value], column)


def is_block(value: object) -> bool:
    """Returns whether a value takes lines of its own in block style."""
    return isinstance(value, (dict, list)) and bool(value)


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, entry in value.items():
            yield from _entry_lines(write_scalar(key), entry)
    elif isinstance(value, list) and value:
        for entry in value:
            first, *rest = _lines(entry)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield write_flow(value)


def _entry_lines(key: str, value: object) -> Iterator[str]:
    if not is_block(value):
        yield f"{key}: {write_flow(value)}"
        return
    yield f"{key}:"
    indent = "" if isinstance(value, list) else "  "
    yield from (f"{indent}{line}" for line in _lines(value))
