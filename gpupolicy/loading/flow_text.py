"""Lists and mappings that stand in one line, ``[1, {a: b}]``, and where everything in them begins."""

from __future__ import annotations

import re
from typing import NamedTuple

from gpupolicy.loading.plain_text import KEY, QUOTED, OddError, read_key, read_scalar

MAX_LEVELS = 8

_WORD = r"(?:[A-Za-z0-9/._+$]|-(?=[A-Za-z0-9-]))[A-Za-z0-9/._+$=@-]*+"
_KEY = re.compile(rf"({KEY}): ++")
_SCALAR = re.compile(rf"{QUOTED}|{_WORD}(?: ++{_WORD})*+")
_EMPTY = re.compile(r"\[ *+\]|\{ *+\}")
_OPENING = re.compile(r"[\[{] *+")
_NEXT = re.compile(r" *+, *+")
_CLOSING = re.compile(r" *+([\]}])")


class Flow(NamedTuple):
    """A value and the column where it begins; its entries with the columns of their keys."""

    column: int
    value: object
    entries: dict[str | int, tuple[int, Flow]]


def read_flow(text: str, start: int, levels: int = MAX_LEVELS) -> tuple[Flow, int]:
    """Reads the value that stands in a line from a column on.

    Returns:
        The value, and the column behind it.

    Raises:
        OddError: it is not surely understood.
    """
    if empty := _EMPTY.match(text, start):
        return Flow(start, [] if text[start] == "[" else {}, {}), empty.end()
    if opening := _OPENING.match(text, start):
        return _read_collection(text, start, opening.end(), levels)
    if scalar := _SCALAR.match(text, start):
        return Flow(start, read_scalar(scalar.group()), {}), scalar.end()
    raise OddError


def _read_collection(text: str, start: int, at: int, levels: int) -> tuple[Flow, int]:
    is_list = text[start] == "["
    entries: dict[str | int, tuple[int, Flow]] = {}
    while True:
        step, begin = (len(entries), at) if is_list else _read_key(text, at)
        if step in entries or levels == 0:
            raise OddError
        flow, end = read_flow(text, begin, levels - 1)
        entries[step] = at, flow
        if (following := _NEXT.match(text, end)) is None:
            break
        at = following.end()
    closing = _CLOSING.match(text, end)
    if closing is None or closing.group(1) != ("]" if is_list else "}"):
        raise OddError
    values = {step: flow.value for step, (_, flow) in entries.items()}
    return Flow(start, list(values.values()) if is_list else values, entries), closing.end()


def _read_key(text: str, at: int) -> tuple[str, int]:
    """Returns a key, and the column of its value."""
    matched = _KEY.match(text, at)
    if matched is None:
        raise OddError
    return read_key(matched.group(1)), matched.end()
