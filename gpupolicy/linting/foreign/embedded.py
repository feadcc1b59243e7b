"""Scheduler configurations inside a ConfigMap, which is how a second scheduler gets its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpupolicy.errors import FieldPath, LocatedFinding
from gpupolicy.linting.foreign.kinds import SCHEDULER_KIND
from gpupolicy.linting.foreign.reading import mapping, text
from gpupolicy.loading.documents import Document, read_documents


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedFile:
    """A text below data, read as documents, and how its lines lie in the file around it."""

    path: FieldPath
    documents: tuple[Document, ...]
    place: tuple[int, int]
    indent: int | None

    def to_outer(self, finding: LocatedFinding) -> LocatedFinding:
        """Returns a finding about the inner text as one about the file around it.

        Lines can be told where the text is a literal block; else the finding points at the text as a whole.
        """
        line, column = self.place
        if self.indent is not None:
            line, column = line + (finding.line or 1), self.indent + (finding.column or 1)
        return replace(finding, field=(*self.path, *finding.field), line=line, column=column)


def holds_configuration(value: object) -> bool:
    """Returns whether a document is a ConfigMap with a scheduler configuration in it."""
    document = mapping(value)
    return document.get("kind") == "ConfigMap" and any(_texts(document))


def embedded_files(document: Document) -> Iterator[EmbeddedFile]:
    """Yields the scheduler configurations of a ConfigMap."""
    for key, content in _texts(mapping(document.value)):
        path: FieldPath = ("data", key)
        line, column = document.place(path)
        yield EmbeddedFile(
            path=path,
            documents=read_documents(content, document.file),
            place=(line, column),
            indent=_block_indent(document, line, column),
        )


def _texts(config_map: object) -> Iterator[tuple[str, str]]:
    for key, content in mapping(mapping(config_map).get("data")).items():
        if SCHEDULER_KIND in text(content):
            yield key, text(content)


def _block_indent(document: Document, line: int, column: int) -> int | None:
    """Returns the indentation of a literal block that starts at a place, None for any other text."""
    lines = document.text.splitlines()
    first = line - document.positions.line
    if not 0 <= first < len(lines) or lines[first][column - 1 : column] != "|":
        return None
    content = next((content for content in lines[first + 1 :] if content.strip()), "")
    return len(content) - len(content.lstrip(" "))
