"""Lines of YAML for people: comments and lists of the usual width, scalars that every reader takes alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from gpupolicy.loading.scalars import read_plain

WIDTH = 116

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")


def comment(text: str, indent: str, *, bullet: str = "") -> Iterator[str]:
    """Yields a text as comment lines of the usual width."""
    lead = f"{indent}# "
    line = bullet
    for word in _one_line(text).split(" "):
        if line.strip() and line != bullet and len(lead) + len(line) + 1 + len(word) > WIDTH:
            yield f"{lead}{line}"
            line = " " * len(bullet) + word
        else:
            line = f"{line} {word}" if line and line != bullet else f"{line}{word}"
    yield f"{lead}{line}"


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def wrapped(head: str, values: Sequence[str], tail: str, indent: str) -> Iterator[str]:
    """Yields a flow list of text, broken over lines where it is long."""
    line = head
    for position, value in enumerate(values):
        word = scalar(value) + ("," if position + 1 < len(values) else tail)
        if line != head and len(line) + 1 + len(word) > WIDTH:
            yield line
            line = f"{indent}{word}"
        else:
            line = f"{line}{word}" if line == head else f"{line} {word}"
    yield line


def flow(values: Iterable[str | int]) -> str:
    """Returns a flow list on one line."""
    return f"[{', '.join(scalar(value) for value in values)}]"


def scalar(value: str | int) -> str:
    """Returns a scalar that every YAML reader takes for the same value."""
    if isinstance(value, int):
        return str(value)
    if _PLAIN.fullmatch(value) and read_plain(value) == (value, None):
        return value
    return json.dumps(value)
