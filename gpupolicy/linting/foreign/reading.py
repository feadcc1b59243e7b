"""Reading foreign JSON without trusting it: what is absent or of another type reads as empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]


def child(value: object, *path: str) -> Any:
    """Returns what stands below a mapping, None where a step is missing."""
    for step in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def mapping(value: object) -> Object:
    """Returns the value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Iterator[tuple[int, Any]]:
    """Yields index and element of a list, nothing where it is none."""
    if isinstance(value, list):
        yield from enumerate(value)


def objects(value: object) -> Iterator[tuple[int, Object]]:
    """Yields index and element of a list of mappings; an empty element reads as an empty mapping."""
    for index, element in items(value):
        yield index, mapping(element)


def text(value: object) -> str:
    """Returns the value where it is text, else ``""``."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """Returns the elements of a list that are text."""
    return tuple(element for _, element in items(value) if isinstance(element, str))


def whole(value: object) -> int | None:
    """Returns the value where it is a whole number (a bool is none), else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
