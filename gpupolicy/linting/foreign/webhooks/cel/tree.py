"""The tree of a CEL expression: its nodes, and ways through them. Knows no grammar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number, truth value or null. A number keeps no value: nothing here counts."""

    kind: str
    value: str | bool | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A name at the beginning of a path."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """``of.name``, or ``of.?name``."""

    of: Node
    name: str
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """``of[key]``, or ``of[?key]``."""

    of: Node
    key: Node
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """``name(arguments)``, or ``of.name(arguments)``."""

    name: str
    arguments: tuple[Node, ...]
    of: Node | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """A sign and what stands around it; ``?:`` has three operands."""

    sign: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """A list, or the keys and values of a map in turn."""

    kind: str
    parts: tuple[Node, ...]


Node = Literal | Name | Field | Item | Call | Operation | Collection


def walk(node: Node) -> Iterator[Node]:
    """Yields a node and everything in it."""
    yield node
    for part in parts_of(node):
        yield from walk(part)


def parts_of(node: Node) -> tuple[Node, ...]:
    """Returns the nodes right below a node."""
    match node:
        case Field():
            return (node.of,)
        case Item():
            return (node.of, node.key)
        case Call():
            return node.arguments if node.of is None else (node.of, *node.arguments)
        case Operation():
            return node.operands
        case Collection():
            return node.parts
        case _:
            return ()


def path_of(node: Node) -> tuple[str, ...]:
    """Returns the names of a plain path such as ``object.metadata.labels``; ``()`` for anything else."""
    if isinstance(node, Name):
        return (node.name,)
    if isinstance(node, Field) and (before := path_of(node.of)):
        return (*before, node.name)
    return ()


def words(text: str) -> frozenset[str]:
    """Returns the words of a text: tables of many names are read best as one."""
    return frozenset(text.split())
