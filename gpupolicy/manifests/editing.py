"""Changes values in a YAML or JSON text and leaves every other character as it is: comments, quotes, order, anchors.

A round trip through a YAML library would re-indent and re-fold what nobody asked to change. So the text is edited at
the spans of the values that differ, and read again afterwards: an edit that did not do what was meant is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from gpupolicy.errors import InputError
from gpupolicy.loading.documents import Document, read_documents
from gpupolicy.manifests.yaml_tree import Node, NodeKind, read_trees
from gpupolicy.manifests.yaml_writer import is_block, write_block, write_entry, write_flow, write_item, write_scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A span of the text and what stands there afterwards."""

    start: int
    end: int
    text: str


def edit_text(text: str, documents: tuple[Document, ...], changed: Mapping[int, object]) -> str:
    """Brings a text to new values.

    Args:
        text: a YAML or JSON stream.
        documents: what was read from it.
        changed: new values, by the index of the document.

    Returns:
        The text with the new values in place, everything else being as it was.

    Raises:
        InputError: the text cannot be edited in place.
    """
    expected = {document.index: changed.get(document.index, document.value) for document in documents}
    file = documents[0].file if documents else None
    try:
        trees = read_trees(text)
        edits = [
            edit
            for document in documents
            if document.index in changed
            for edit in _Editor(text).edits(trees[document.index], document.value, changed[document.index])
        ]
    except (yaml.YAMLError, KeyError):
        edits = []
    edited = _apply(text, edits)
    if _values(edited, file) != {index: _canonical(value) for index, value in expected.items()}:
        raise InputError("the file cannot be changed in place; write the pod in plain block style", file=file)
    return edited


def _values(text: str, file: str | None) -> dict[int, str]:
    return {document.index: _canonical(document.value) for document in read_documents(text, file or "")}


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _apply(text: str, edits: list[Edit]) -> str:
    """Makes the edits from the last to the first, so that no offset moves; those inside of another one are dropped."""
    ordered = sorted(edits, key=lambda edit: (edit.start, -edit.end))
    reached = -1
    outer = []
    for edit in ordered:
        if edit.start >= reached:
            outer.append(edit)
            reached = max(reached, edit.end)
    for edit in reversed(outer):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _last_leaf(node: Node) -> Node:
    """Returns what stands last in the text of a node."""
    while node.entries:
        node = node.entries[-1][1]
    return node


@dataclass(slots=True)
class _Editor:
    """Finds the edits of one document."""

    text: str
    _edits: list[Edit] = field(default_factory=list)
    _aliases: list[tuple[Node, object, bool]] = field(default_factory=list)
    _anchored: list[Node] = field(default_factory=list)
    _as_json: bool = False

    def edits(self, root: Node, old: object, new: object) -> Iterator[Edit]:
        """Yields what turns the document's text from the old value to the new one."""
        first_key = root.entries[0][0] if root.is_flow and root.entries else None
        self._as_json = first_key is not None and first_key.style == '"'
        self._visit(root, old, new, in_flow=False)
        self._expand_aliases()
        newline = "\r\n" if "\r\n" in self.text else "\n"
        for edit in self._edits:
            yield Edit(start=edit.start, end=edit.end, text=edit.text.replace("\n", newline))

    def _visit(self, node: Node, old: object, new: object, *, in_flow: bool) -> None:
        in_flow = in_flow or node.is_flow
        if node.kind is NodeKind.ALIAS:
            self._aliases.append((node, new, in_flow))
        elif node.anchor is not None:
            self._anchored.append(node)
        if node.kind is NodeKind.MAPPING and isinstance(old, dict) and isinstance(new, dict) and not old.keys() - new:
            self._visit_mapping(node, old, new, in_flow)
        elif (
            node.kind is NodeKind.SEQUENCE and isinstance(old, list) and isinstance(new, list) and len(new) >= len(old)
        ):
            self._visit_sequence(node, old, new, in_flow)
        elif _canonical(old) != _canonical(new):
            self._replace(node, new, in_flow)

    def _visit_mapping(self, node: Node, old: dict[str, object], new: dict[str, object], in_flow: bool) -> None:
        own = node.keys()
        if not node.entries and new:
            self._replace(node, new, in_flow)
            return
        added: dict[str, object] = {}
        for key, value in new.items():
            if key in own:
                self._visit(own[key], old.get(key), value, in_flow=in_flow)
            elif key not in old or _canonical(old[key]) != _canonical(value):
                added[key] = value
        if added:
            self._append_entries(node, added, in_flow)

    def _visit_sequence(self, node: Node, old: list[object], new: list[object], in_flow: bool) -> None:
        if not node.entries and new:
            self._replace(node, new, in_flow)
            return
        for (_, child), before, after in zip(node.entries, old, new, strict=False):
            self._visit(child, before, after, in_flow=in_flow)
        if added := new[len(old) :]:
            self._append_items(node, added, in_flow)

    def _replace(self, node: Node, new: object, in_flow: bool) -> None:
        start, end = node.start, node.end
        if node.kind in (NodeKind.MAPPING, NodeKind.SEQUENCE) and not node.is_flow:
            text = self._write_in_place_of_block(node, new)
        elif in_flow or not is_block(new) or self._rest_of_line(end).strip():
            text = (" " if start == end else "") + write_flow(new, as_json=self._as_json)
        else:
            column = self._column_of_line(start) + 2
            start = len(self.text[:start].rstrip(" "))
            text = "\n" + " " * column + write_block(new, column)
        self._edits.append(Edit(start=start, end=end, text=text))

    def _write_in_place_of_block(self, node: Node, new: object) -> str:
        """Returns a value for the lines of a block; a list may stand at its key's column, nothing else may."""
        if (isinstance(new, list) and is_block(new)) or (node.kind is NodeKind.MAPPING and is_block(new)):
            return write_block(new, node.column)
        return "  " + write_block(new, node.column + 2)

    def _append_entries(self, node: Node, added: dict[str, object], in_flow: bool) -> None:
        if in_flow:
            pairs = [f"{self._key(key)}: {write_flow(value, as_json=self._as_json)}" for key, value in added.items()]
            self._append_flow(node, pairs)
        else:
            lines = [write_entry(key, value, node.column) for key, value in added.items()]
            self._append_lines(node, lines)

    def _append_items(self, node: Node, added: list[object], in_flow: bool) -> None:
        if in_flow:
            self._append_flow(node, [write_flow(value, as_json=self._as_json) for value in added])
        else:
            self._append_lines(node, [write_item(value, node.column) for value in added])

    def _append_flow(self, node: Node, parts: list[str]) -> None:
        """Adds entries behind the last one, on lines of their own where the others stand so."""
        first_key, first_value = node.entries[0]
        first = first_key or first_value
        separator = ", "
        if "\n" in self.text[node.start : first.start]:
            line = self.text.rfind("\n", 0, first.start) + 1
            separator = ",\n" + self.text[line : first.start]
        end = node.entries[-1][1].end
        self._edits.append(Edit(start=end, end=end, text="".join(separator + part for part in parts)))

    def _append_lines(self, node: Node, blocks: list[str]) -> None:
        """Adds entries below the last line of a block, behind the comments on it and those about what is inside of it.

        Where a text ends the block that takes in all line breaks behind it, they stand before the first entry instead.
        """
        margin = "\n" + " " * node.column
        if self._is_open_text(_last_leaf(node)):
            first_key, first_value = node.entries[0]
            start = (first_key or first_value).start
            self._edits.append(Edit(start=start, end=start, text="".join(block + margin for block in blocks)))
            return
        end = self._reach(node)
        self._edits.append(Edit(start=end, end=end, text="".join(margin + block for block in blocks)))

    def _is_open_text(self, leaf: Node) -> bool:
        """Returns whether a line more would change a text: ``|+`` keeps line breaks, the end of the file is none."""
        if leaf.style not in ("|", ">"):
            return False
        header = self.text[leaf.start : leaf.end].partition("\n")[0]
        return "+" in header.partition("#")[0] or "\n" not in self.text[leaf.end :]

    def _end_of_comments(self, end: int, column: int) -> int:
        """Returns where the comment lines end that follow and are indented further than a column."""
        reached = end
        while self.text.startswith(("\n", "\r\n"), reached):
            start = self.text.index("\n", reached) + 1
            line = self._rest_of_line(start)
            reached = start + len(line)
            content = line.lstrip(" ")
            if content.startswith("#") and len(line) - len(content) > column:
                end = reached
            elif content:
                break
        return end

    def _expand_aliases(self) -> None:
        """Writes out the aliases of what has changed, so that each place has the value meant for it."""
        changed = {
            node.anchor
            for node in self._anchored
            if any(node.start <= edit.start and edit.end <= self._reach(node) for edit in self._edits)
        }
        for alias, value, in_flow in self._aliases:
            if alias.anchor in changed and not any(edit.start == alias.start for edit in self._edits):
                self._replace(alias, value, in_flow)

    def _reach(self, node: Node) -> int:
        """Returns where entries are added behind a node's own: behind the comments about what is inside of it."""
        return self._end_of_comments(node.end + len(self._rest_of_line(node.end)), node.column)

    def _key(self, key: str) -> str:
        return json.dumps(key, ensure_ascii=False) if self._as_json else write_scalar(key)

    def _rest_of_line(self, offset: int) -> str:
        return self.text[offset:].partition("\n")[0].rstrip("\r")

    def _column_of_line(self, offset: int) -> int:
        """Returns the column of the key or dash in front of a value: where the line's own content begins."""
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        content = line.lstrip(" ")
        column = len(line) - len(content)
        while content.startswith("- "):
            stripped = content[1:].lstrip(" ")
            column += len(content) - len(stripped)
            content = stripped
        return column
