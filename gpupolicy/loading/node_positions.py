"""Where a field stands in a text that libyaml reads: its composer goes over the text once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gpupolicy.errors import FieldPath, Part
from gpupolicy.loading.json_text import hide_surrogates

_Entry = tuple[Node | None, Node]


class _Composer(CParser):
    """libyaml's composer without the work of guessing types."""

    def resolve(self, kind: type[Node], value: object, implicit: object) -> str:
        return ""

    def descend_resolver(self, parent: Node | None, index: object) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


class NodePositions:
    """The answers of ``Positions``, from the nodes of a document."""

    def __init__(self, text: str, line: int) -> None:
        self._line = line
        self._root = _compose(text)
        self._by_key: dict[MappingNode, dict[str | int, _Entry]] = {}

    def find(self, path: FieldPath, part: Part = Part.VALUE) -> tuple[int, int]:
        """Returns the place of a field."""
        node = self._root
        if node is None:
            return self._line, 1
        place = self._place(node)
        for depth, step in enumerate(path, 1):
            if (entry := self._find_entry(node, step)) is None:
                return place
            key, node = entry
            is_asked = depth == len(path) and part is Part.KEY
            place = self._place(key if is_asked and key is not None else node)
        return place

    def find_first_key(self, path: FieldPath) -> tuple[int, int] | None:
        """Returns where a key that may be repeated stands first in its mapping."""
        node = self._root
        for step in path[:-1]:
            entry = self._find_entry(node, step) if node is not None else None
            node = entry[1] if entry else None
        pairs = node.value if isinstance(node, MappingNode) else []
        return next((self._place(key) for key, _ in pairs if _key_text(key) == path[-1]), None)

    def find_all(self) -> dict[FieldPath, tuple[int, int]]:
        """Returns the places of all values, by path; the document itself stands under ()."""
        return dict(self._walk((), self._root)) if self._root is not None else {}

    def _walk(self, path: FieldPath, node: Node) -> Iterator[tuple[FieldPath, tuple[int, int]]]:
        yield path, self._place(node)
        if isinstance(node, SequenceNode):
            for index, child in enumerate(node.value):
                yield from self._walk((*path, index), child)
        elif isinstance(node, MappingNode):
            for key, child in node.value:
                yield from self._walk((*path, _key_text(key)), child)

    def _find_entry(self, node: Node, step: str | int) -> _Entry | None:
        """Returns key and value node of a step below a node; the last of repeated keys, as the cluster does."""
        if isinstance(node, SequenceNode):
            return (None, node.value[step]) if isinstance(step, int) and step < len(node.value) else None
        if not isinstance(node, MappingNode):
            return None
        entries = self._entries(node)
        if (entry := entries.get(step)) is not None:
            return entry
        return self._find_merged(entries["<<"][1], step) if "<<" in entries else None

    def _find_merged(self, value: Node, step: str | int) -> _Entry | None:
        sources = value.value if isinstance(value, SequenceNode) else [value]
        for source in sources:
            if (entry := self._find_entry(source, step)) is not None:
                return entry
        return None

    def _entries(self, node: MappingNode) -> dict[str | int, _Entry]:
        """Returns the entries of a mapping by key, kept for the next question: there may be one for each of them."""
        if node not in self._by_key:
            self._by_key[node] = {_key_text(key): (key, value) for key, value in node.value}
        return self._by_key[node]

    def _place(self, node: Any) -> tuple[int, int]:
        return node.start_mark.line + self._line, node.start_mark.column + 1


def _compose(text: str) -> Node | None:
    try:
        root: Node | None = _Composer(hide_surrogates(text)).get_single_node()
    except yaml.YAMLError:
        return None  # JSON that libyaml does not take, or a text with an error: lines only
    return root


def _key_text(key: Node) -> str:
    return key.value if isinstance(key, ScalarNode) else ""
