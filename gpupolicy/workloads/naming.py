"""Paths by name: an entry of a list is known again by what it is called, wherever it stands now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from gpupolicy.errors import FieldPath

Thing = TypeVar("Thing")

_NAMES = ("name", "groupName")  # by which the entries of a list are told apart


def name_path(value: object, path: FieldPath) -> FieldPath:
    """Returns a path in which entries of lists go by their names, so that inserting one does not shift the others."""
    steps: list[str | int] = []
    for step in path:
        value = entry_at(value, step)
        name = next((value[key] for key in _NAMES if key in value), None) if isinstance(value, Mapping) else None
        steps.append(f"={name}" if isinstance(step, int) and isinstance(name, str) else step)
    return tuple(steps)


def entry_at(value: object, step: str | int) -> object:
    """Returns what stands in a mapping or a list at a step of a path; None where nothing does."""
    if isinstance(value, Mapping):
        return value.get(step)
    is_in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
    return value[step] if is_in_list else None  # type: ignore[index]  # both are settled


def number_equals(named: Iterable[tuple[object, Thing]]) -> Iterator[tuple[tuple[object, int], Thing]]:
    """Yields things by names of their own: of equal names each with the number of its turn."""
    seen: Counter[object] = Counter()
    for name, thing in named:
        seen[name] += 1
        yield (name, seen[name]), thing
