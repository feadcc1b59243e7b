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


def work_out(node: Node, known: Known) -> object:
    """Returns the value of an expression, ``UNKNOWN`` where it hangs on what is not known.

    Args:
        node: the expression.
        known: values by path, such as ``("request", "namespace")``.
    """
    if (path := path_of(node)) in known:
        return known[path]
    match node:
        case Literal():
            return UNKNOWN if node.kind in ("number", "bytes") else node.value
        case Collection():
            return tuple(work_out(part, known) for part in node.parts) if node.kind == "list" else UNKNOWN
        case Operation():
            return _operation(node, known)
        case Call():
            return _call(node, known)
        case _:
            return UNKNOWN


def _operation(node: Operation, known: Known) -> object:
    values = [work_out(operand, known) for operand in node.operands]
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


def _call(node: Call, known: Known) -> object:
    if node.of is None:
        return UNKNOWN
    subject = work_out(node.of, known)
    if node.name == "orValue":
        return subject
    if node.name in ("exists", "all") and isinstance(subject, tuple) and len(node.arguments) == 2:
        values = list(_for_each(node, subject, known))
        return _any(values) if node.name == "exists" else _all(values)
    arguments = [work_out(argument, known) for argument in node.arguments]
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


def _for_each(node: Call, elements: tuple[object, ...], known: Known) -> Iterator[object]:
    variable, condition = node.arguments
    for element in elements:
        yield UNKNOWN if element is UNKNOWN else work_out(condition, {**known, path_of(variable): element})


def _matches(pattern: str, text: str) -> object:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return UNKNOWN


def _all(values: list[object]) -> object:
    return False if False in values else True if all(value is True for value in values) else UNKNOWN


def _any(values: list[object]) -> object:
    return True if True in values else False if all(value is False for value in values) else UNKNOWN
