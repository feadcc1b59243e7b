"""A YAML text as a tree of spans: where each value starts and ends in the text, so that it can be edited in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from gpupolicy.loading.json_text import hide_surrogates


class NodeKind(StrEnum):
    """What a node is in the text, an alias being not yet what it names."""

    SCALAR = "scalar"
    ALIAS = "alias"
    MAPPING = "mapping"
    SEQUENCE = "sequence"


@dataclass(slots=True, kw_only=True)
class Node:
    """A value in the text: ``text[start:end]``, without the blank lines and comments behind a block.

    ``column`` counts from 0: of the first key, or of the dash. ``entries`` are pairs of key (None in a list) and value.
    """

    kind: NodeKind
    start: int
    end: int
    column: int
    is_flow: bool = False
    anchor: str | None = None
    text: str = ""
    style: str | None = None
    entries: list[tuple[Node | None, Node]] = field(default_factory=list)

    def keys(self) -> dict[str, Node]:
        """Returns the values of a mapping by key, the last of repeated keys."""
        return {key.text: value for key, value in self.entries if key is not None}


def read_trees(text: str) -> dict[int, Node]:
    """Returns the tree of each document that is not empty, by its index in the stream.

    Raises:
        yaml.YAMLError: the text is no YAML; callers have read it before.
    """
    return dict(_Reader(hide_surrogates(text)).documents())


class _Reader:
    """Builds nodes from libyaml's events."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parser = CParser(text)

    def documents(self) -> Iterator[tuple[int, Node]]:
        """Yields index and root of each document."""
        index = 0
        while type(event := self._next()) is not StreamEndEvent:
            if type(event) is DocumentStartEvent:
                yield index, self._node(self._next())
                index += 1

    def _next(self) -> Any:
        return self._parser.get_event()

    def _node(self, event: Any) -> Node:
        kind = type(event)
        start, end = event.start_mark.index, event.end_mark.index
        column = event.start_mark.column
        if kind is AliasEvent:
            return Node(kind=NodeKind.ALIAS, start=start, end=end, column=column, anchor=event.anchor)
        if kind is ScalarEvent:
            return self._scalar(event, start, end)
        is_mapping = kind is MappingStartEvent
        node = Node(
            kind=NodeKind.MAPPING if is_mapping else NodeKind.SEQUENCE,
            start=start,
            end=end,
            column=column,
            is_flow=bool(event.flow_style),
            anchor=event.anchor,
        )
        last = self._fill(node, is_mapping)
        if node.is_flow:
            node.end = last.end_mark.index
        elif node.entries:
            node.end = node.entries[-1][1].end
            if (first := node.entries[0][0]) is not None:
                node.column = first.column
        return node

    def _fill(self, node: Node, is_mapping: bool) -> Any:
        """Reads the entries of a collection; returns the event that ends it."""
        while isinstance(event := self._next(), (ScalarEvent, AliasEvent, MappingStartEvent, SequenceStartEvent)):
            key = self._node(event) if is_mapping else None
            node.entries.append((key, self._node(self._next() if is_mapping else event)))
        return event

    def _scalar(self, event: Any, start: int, end: int) -> Node:
        if event.style in ("|", ">"):
            written = self._text[start:end]
            keeps_blank_lines = "+" in written.partition("\n")[0]
            end = start + len(written.rstrip(" \r\n" if not keeps_blank_lines else " "))
        return Node(
            kind=NodeKind.SCALAR,
            start=start,
            end=end,
            column=event.start_mark.column,
            anchor=event.anchor,
            text=event.value,
            style=event.style,
        )
