"""A policy whose shape is wrong in small ways, as its author will have meant it: so that the rules find the rest, too.

Only for telling more in one run: a mended policy is never used.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.loading.shape import find_shape_problems

_MEANT = "did you mean "
_BEARABLE = frozenset({"empty-value", "value-out-of-range"})  # of the right type, so a policy can be built from it
_LARGEST = 100_000  # the rules reckon with every number up to this in no time


def mend(value: object, problems: Iterable[Finding]) -> dict[str, Any] | None:
    """Returns a mended copy of a policy's document; None where too much is guesswork.

    A misspelt key or word becomes the nearest that is known, a number in quotes a number, a lone entry a list; a part
    that says nothing readable, or nothing at all, and may be left out is left out. What is missing stays missing.

    Args:
        value: the document, as plain dicts, lists and scalars.
        problems: what ``find_shape_problems`` says of it.
    """
    mended: Any = deepcopy(value)
    for problem in problems:
        if problem.rule == "missing-field":
            continue
        if problem.field and isinstance(problem.field[-1], int):
            _leave_out(mended, problem.field[:-1])
        elif problem.rule == "empty-value":
            mended = _without(mended, problem.field)
        else:
            _mend(mended, problem)
    if not isinstance(mended, dict) or any(left.rule not in _BEARABLE for left in find_shape_problems(mended)):
        return None
    return mended


def _find_parent(document: Any, field: FieldPath) -> Any:
    """Returns what holds a field; None where an earlier mending has taken it away."""
    for step in field[:-1]:
        if isinstance(document, dict) and step not in document:
            return None
        document = document[step]
    return document if isinstance(document, dict) and field and field[-1] in document else None


def _leave_out(document: Any, field: FieldPath) -> None:
    """Takes a list away whole: without one of its entries the others would stand at other places."""
    parent = _find_parent(document, field)
    if parent is not None:
        del parent[field[-1]]


def _without(document: Any, field: FieldPath) -> Any:
    """Returns a copy without a part that says nothing; the document itself where that part has to be there."""
    shorter = deepcopy(document)
    _leave_out(shorter, field)
    return shorter if _missing(shorter) <= _missing(document) else document


def _missing(document: object) -> set[FieldPath]:
    return {problem.field for problem in find_shape_problems(document) if problem.rule == "missing-field"}


def _mend(document: Any, problem: Finding) -> None:
    parent = _find_parent(document, problem.field)
    if parent is None:
        return
    key = problem.field[-1]
    found = parent[key]
    meant = problem.hint.removeprefix(_MEANT) if problem.hint and problem.hint.startswith(_MEANT) else None
    if problem.rule == "unknown-field":
        del parent[key]
        if meant is not None:
            parent.setdefault(meant, found)
    elif problem.rule == "value-not-allowed" and meant is not None:
        parent[key] = meant.split('"')[1] if meant.startswith('"') else meant
    elif problem.rule == "value-out-of-range" and found > 0:
        parent[key] = int(min(found, _LARGEST))
    elif isinstance(found, str) and found.isascii() and found.isdigit() and problem.rule == "wrong-type":
        parent[key] = min(int(found[:9]), _LARGEST)
    elif problem.rule == "wrong-type" and isinstance(found, (str, int)) and problem.message.endswith("is a list"):
        parent[key] = [found]
    else:
        del parent[key]
