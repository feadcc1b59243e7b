"""Block YAML as manifests are written, read line by line: much faster than by libyaml, to which all else is left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from gpupolicy.loading.flow_text import Flow, read_flow
from gpupolicy.loading.plain_text import BLANK, END, KEY, QUOTED, OddError, has_odd_characters, read_key, read_scalar
from gpupolicy.loading.unreadable import MAX_DOCUMENTS

MAX_LINE = 1000  # characters; longer lines are rare, and not worth their place in memory
MAX_LEVELS = 90  # of mappings and lists inside each other: all that the others read, but for the last few
MAX_LINES = 1_000_000  # each takes 16 bytes at once
_KNOWN_LINES = 8192  # manifests repeat each other's lines

_TEXT = rf"(?:[^{BLANK}:]++|:(?=[^{BLANK}]))*+"  # a colon is text where something follows it
_PLAIN = rf"(?:[A-Za-z0-9/._~+$(^]|-(?=[^{BLANK}])){_TEXT}(?: ++(?=[^{BLANK}#:]){_TEXT})*+"
_LINE = re.compile(
    rf" *+(?P<dash>- ++)?(?:(?P<key>{KEY}):(?= |\Z) *+)?(?:(?P<value>{_PLAIN}|{QUOTED})?{END}|(?P<flow>[\[{{].*+))"
)
_END = re.compile(END)
_SEPARATOR = re.compile(r"--- *")

NO_DASH = -1
_NO_KEY = ""
NOTHING = object()  # behind the colon: a nested value follows, or null

Block = tuple[dict[str, object], int, int, int, str]  # value, index, line of the value, line of the text, text


class Line(NamedTuple):
    """What a line says: the columns of its dash and of what follows, key and value; a separator has neither column."""

    dash: int
    column: int
    key: str
    value: object


_SEPARATING = Line(NO_DASH, NO_DASH, _NO_KEY, NOTHING)


def read_blocks(text: str) -> list[Block] | None:
    """Reads a text of one or more mappings in block style.

    Args:
        text: the whole text, without a byte order mark.

    Returns:
        The documents that hold something; None where a line may mean more than this reader sees in it.
    """
    if has_odd_characters(text) or text.count("\n") >= MAX_LINES:
        return None
    try:
        return list(_read_documents(text.split("\n")))
    except OddError:
        return None


def _read_documents(written: Sequence[str]) -> Iterator[Block]:
    lines = read_lines(written)
    separators = [number for number, line in enumerate(lines) if line is _SEPARATING]
    if len(separators) >= MAX_DOCUMENTS:
        raise OddError
    index = 0
    for first, last in pairwise((NO_DASH, *separators, len(lines))):
        begin = next((number for number in range(first + 1, last) if lines[number] is not None), None)
        if begin is not None:
            start = begin if first < 0 else first
            text = "\n".join(written[start:last]) + ("\n" if last < len(lines) else "")
            yield read_mapping(lines[begin:last]), index, begin + 1, start + 1, text
        index += first >= 0 or begin is not None


def read_lines(written: Sequence[str]) -> list[Line | None]:
    """Returns what each line says, None for one that says nothing.

    Raises:
        OddError: a line is not surely understood.
    """
    return list(map(_read_line, written))


def read_mapping(lines: Sequence[Line | None]) -> dict[str, object]:
    """Returns the mapping that the lines of a document stand for; one pass without calls, for this is where time goes.

    Args:
        lines: they begin with its first key.

    Raises:
        OddError: they stand for something else.
    """
    root: dict[str, object] = {}
    containers: list[Any] = [None, root]
    columns = [NO_DASH, lines[0].column if lines[0] else 0]
    waiting = _NO_KEY  # the key of the line before, where nothing stands behind its colon
    for line in lines:
        if line is None:
            continue
        dash, column, key, value = line
        begin = column if dash == NO_DASH else dash
        if waiting:
            if begin > columns[-1] or dash == columns[-1]:
                if len(columns) > MAX_LEVELS:
                    raise OddError
                opened: Any = {} if dash == NO_DASH else []
                containers[-1][waiting] = opened
                containers.append(opened)
                columns.append(begin)
            waiting = _NO_KEY
        while columns[-1] > begin:
            del columns[-1], containers[-1]
        container = containers[-1]
        if dash != NO_DASH:
            if type(container) is not list or columns[-1] != dash:
                raise OddError
            if not key:
                container.append(value if type(value) is str else _own(value))
                continue
            opened = {}
            container.append(opened)
            container = opened
            containers.append(container)
            columns.append(column)
        elif type(container) is list:  # one that stands at the column of the key above it
            del columns[-1], containers[-1]
            container = containers[-1]
        if columns[-1] != column or type(container) is not dict or not key or key in container:
            raise OddError
        if value is NOTHING:
            waiting, value = key, None
        container[key] = value if type(value) is str else _own(value)
    return root


def _own(value: object) -> object:
    """Returns a value that no other document has: that of a line is read once for all that say the same."""
    if type(value) is list:
        return [_own(item) for item in value]
    return {key: _own(item) for key, item in value.items()} if type(value) is dict else value


@lru_cache(maxsize=_KNOWN_LINES)
def _read_line(text: str) -> Line | None:
    if text.startswith("---") and _SEPARATOR.fullmatch(text):
        return _SEPARATING
    matched = _match(text)
    dash, key, value, flow = matched.groups()
    if key is None and value is None and flow is None:
        if dash is not None:
            raise OddError
        return None
    column = matched.start("key" if key is not None else "value" if value is not None else "flow")
    return Line(matched.start("dash"), column, _NO_KEY if key is None else read_key(key), _read_value(matched))


def _match(text: str) -> re.Match[str]:
    matched = _LINE.fullmatch(text) if len(text) <= MAX_LINE else None
    if matched is None:
        raise OddError
    return matched


def _read_value(matched: re.Match[str]) -> object:
    value = matched.group("value")
    if value is not None:
        return read_scalar(value, matched.group("key") or _NO_KEY)
    return _read_flow(matched).value if matched.group("flow") else NOTHING


def _read_flow(matched: re.Match[str]) -> Flow:
    flow, end = read_flow(matched.string, matched.start("flow"))
    if not _END.fullmatch(matched.string, end):
        raise OddError
    return flow


def find_flow(text: str) -> Flow:
    """Returns the value of a line, with its column; that of null stands behind the colon."""
    matched = _match(text)
    if matched.group("flow"):
        return _read_flow(matched)
    start = matched.start("value")
    return Flow(start if start >= 0 else matched.end("key") + 1, None, {})
