"""What an expression gives for a request of which some parts are known; most of an object never is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Literal as Only

from gpupolicy.linting.foreign.webhooks.cel.tree import Call, Collection, Literal, Node, Operation, path_of


class Unknown(Enum):
    """The value of what depends on more than is known."""

    UNKNOWN = "unknown"


UNKNOWN: Only[Unknown.UNKNOWN] = Unknown.UNKNOWN
Known = Mapping[tuple[str, ...], object]
Fuel = Iterator[int]  # one for each part that may still be looked at: lists in lists take no end

_MOST_PARTS = 200_000
_MOST_TRIES = 1_000_000  # of a pattern on a text: Python tries what RE2 sees at once
_LONGEST_PATTERN = 10_000
_SINGLE = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\(\?(?:P?<\w+>|\w*:)?", re.DOTALL)
_REPEATED_GROUP = re.compile(r"\)[*+{]")


def work_out(node: Node, known: Known) -> object:
    """Returns the value of an expression, ``UNKNOWN`` where it hangs on what is not known, or takes long.

    Args:
        node: the expression.
        known: values by path, such as ``("request", "namespace")``.
    """
    return _work_out(node, known, iter(range(_MOST_PARTS)))


def _work_out(node: Node, known: Known, fuel: Fuel) -> object:
    if next(fuel, None) is None:
        return UNKNOWN
    if (path := path_of(node)) in known:
        return known[path]
    match node:
        case Literal():
            return UNKNOWN if node.kind in ("number", "bytes") else node.value
        case Collection():
            return tuple(_work_out(part, known, fuel) for part in node.parts) if node.kind == "list" else UNKNOWN
        case Operation():
            return _operation(node, known, fuel)
        case Call():
            return _call(node, known, fuel)
        case _:
            return UNKNOWN


def _operation(node: Operation, known: Known, fuel: Fuel) -> object:
    values = [_work_out(operand, known, fuel) for operand in node.operands]
    match node.sign:
        case "!":
            return not values[0] if isinstance(values[0], bool) else UNKNOWN
        case "&&":
            return _all(values)
        case "||":
            return _any(values)
        case "==":
            return UNKNOWN if UNKNOWN in values else values[0] == values[1]
        case "!=":
            return UNKNOWN if UNKNOWN in values else values[0] != values[1]
        case "in":
            elements = values[1] if isinstance(values[1], tuple) else None
            if values[0] is UNKNOWN or elements is None:
                return UNKNOWN
            return _any([UNKNOWN if element is UNKNOWN else element == values[0] for element in elements])
        case "?:":
            return values[1 if values[0] else 2] if isinstance(values[0], bool) else UNKNOWN
        case _:
            return UNKNOWN


def _call(node: Call, known: Known, fuel: Fuel) -> object:
    if node.of is None:
        return UNKNOWN
    subject = _work_out(node.of, known, fuel)
    if node.name == "orValue":
        return subject
    if node.name in ("exists", "all") and isinstance(subject, tuple) and len(node.arguments) == 2:
        values = list(_for_each(node, subject, known, fuel))
        return _any(values) if node.name == "exists" else _all(values)
    arguments = [_work_out(argument, known, fuel) for argument in node.arguments]
    if not isinstance(subject, str) or len(arguments) != 1 or not isinstance(arguments[0], str):
        return UNKNOWN
    match node.name:
        case "startsWith":
            return subject.startswith(arguments[0])
        case "endsWith":
            return subject.endswith(arguments[0])
        case "contains":
            return arguments[0] in subject
        case "matches":
            return _matches(arguments[0], subject)
        case _:
            return UNKNOWN


def _for_each(node: Call, elements: tuple[object, ...], known: Known, fuel: Fuel) -> Iterator[object]:
    variable, condition = node.arguments
    for element in elements:
        inside = {**known, path_of(variable): element}
        yield UNKNOWN if element is UNKNOWN else _work_out(condition, inside, fuel)


def _matches(pattern: str, text: str) -> object:
    if len(pattern) > _LONGEST_PATTERN or "[[" in pattern or _tries(pattern, len(text)) > _MOST_TRIES:
        return UNKNOWN  # [[ begins a class of its own in RE2
    try:
        return re.search(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return UNKNOWN


def _tries(pattern: str, length: int) -> int:
    """Returns a bound on what Python tries: each repetition may end at each place of the text."""
    plain = _SINGLE.sub(lambda found: "(" if found[0].startswith("(") else "x", pattern)
    if _REPEATED_GROUP.search(plain):
        return _MOST_TRIES + 1
    repetitions = max(sum(map(branch.count, "*+?{")) for branch in plain.split("|"))
    tries: int = (length + 1) ** min(1 + repetitions * (1 + plain.count("(")), 64)
    return tries


def _all(values: list[object]) -> object:
    return False if False in values else True if all(value is True for value in values) else UNKNOWN


def _any(values: list[object]) -> object:
    return True if True in values else False if all(value is False for value in values) else UNKNOWN
