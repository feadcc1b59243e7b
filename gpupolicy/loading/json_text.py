"""JSON read as JSON: much faster than as YAML, and what kubectl does too. Anything odd is left to the YAML reader."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from gpupolicy.loading.scalars import read_plain
from gpupolicy.loading.unreadable import MAX_DEPTH, MAX_DOCUMENTS, too_many_documents

_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class _NotPlainError(ValueError):
    """JSON that the YAML reader has to look at: repeated keys, NaN."""


def read_json(text: str) -> list[tuple[object, int, int]] | None:
    """Reads a text of one or more JSON documents.

    Args:
        text: the whole text.

    Returns:
        For each document its value and the slice (start, end) of the text; None where the text is no plain JSON, so
        that the YAML reader judges it.

    Raises:
        UnreadableError: there are too many documents.
    """
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    try:
        return list(_read_all(_ESCAPE.sub(_replace_half, text) if "\\ud" in text or "\\uD" in text else text))
    except (ValueError, RecursionError):
        return None


def _read_all(text: str) -> Iterator[tuple[object, int, int]]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_to_mapping, parse_int=_to_integer, parse_float=_to_float, parse_constant=_refuse
    )
    start, documents = _skip_space(text, 0), 0
    while start < len(text):
        value, end = decoder.raw_decode(text, start)
        if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
            raise _NotPlainError
        yield value, start, end
        documents += 1
        if documents > MAX_DOCUMENTS:
            raise too_many_documents(text.count("\n", 0, start) + 1)
        start = _skip_space(text, end)


def hide_surrogates(text: str) -> str:
    """Returns a text as long as before without the escapes by which JSON writes characters beyond the first plane.

    libyaml takes neither of the two that make one; for who asks it where things stand, any other will do.
    """
    return _SURROGATE.sub(r"\\ufffd", text)


def _replace_half(found: re.Match[str]) -> str:
    """Returns an escape as Go reads it: half of a surrogate pair is U+FFFD; as long as before."""
    return r"\ufffd" if found[1] else found[0]


def _skip_space(text: str, start: int) -> int:
    matched = _SPACE.match(text, start)
    return matched.end() if matched else start


def _is_deeper(value: object, levels: int) -> bool:
    """Returns whether more than so many collections stand inside each other; goes level by level."""
    row: list[object] = [value]
    for _ in range(levels):
        row = [child for parent in row for child in _children(parent)]
        if not row:
            return False
    return True


def _children(value: object) -> list[object]:
    if type(value) is dict:
        return [child for child in value.values() if type(child) in (dict, list)]
    return [child for child in value if type(child) in (dict, list)] if type(value) is list else []


def _to_mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _NotPlainError
    return mapping


def _to_integer(digits: str) -> object:
    return int(digits) if len(digits) < 19 else read_plain(digits)[0]


def _to_float(text: str) -> object:
    return read_plain(text)[0]


def _refuse(name: str) -> object:
    raise _NotPlainError(name)
