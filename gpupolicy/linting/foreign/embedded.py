"""Scheduler configurations inside a ConfigMap, which is how a second scheduler gets its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpupolicy.errors import FieldPath, Finding, LocatedFinding
from gpupolicy.linting.foreign.findings import error
from gpupolicy.linting.foreign.kinds import SCHEDULER_GROUP, SCHEDULER_KIND
from gpupolicy.linting.foreign.reading import Object, mapping, text
from gpupolicy.linting.foreign.shapes import WRONG_TYPE
from gpupolicy.loading.documents import Document, read_documents

# keys of a document, not words in a manual; a script may hold a whole configuration and is none
_KEY = re.compile(
    rf"""^[\s{{,]*["']?(?:kind["']?\s*:\s*["']?{SCHEDULER_KIND}\b|apiVersion["']?\s*:\s*["']?{SCHEDULER_GROUP}/)""",
    re.MULTILINE,
)
_OLD_POLICY = re.compile(r"""^[\s{,]*["']?kind["']?\s*:\s*["']?Policy\b""", re.MULTILINE)
_OLD_KEYS = re.compile(r"""["']?\b(?:predicates|priorities)["']?\s*:""")
_SCRIPT = "#!"


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
    """Returns whether an object is a ConfigMap with a scheduler configuration in it."""
    found = mapping(value)
    return found.get("kind") == "ConfigMap" and any(map(_is_configuration, mapping(found.get("data")).values()))


def find_unquoted(config_map: Object) -> Iterator[Finding]:
    """Yields the scheduler configurations of a ConfigMap that are no texts, which the API server refuses."""
    for key, content in mapping(config_map.get("data")).items():
        if isinstance(content, dict) and _is_configuration(content):
            message = f"{key} is a mapping; data holds texts"
            yield error(WRONG_TYPE, ("data", key), message, f'write it as a block: "{key}: |", indented below it')


def embedded_files(document: Document, config_map: Object, path: FieldPath) -> Iterator[EmbeddedFile]:
    """Yields the scheduler configurations of a ConfigMap.

    Args:
        document: where the ConfigMap stands.
        config_map: the object.
        path: its place in the document, ``()`` where it is the document.
    """
    for key, content in mapping(config_map.get("data")).items():
        if not isinstance(content, str) or not _is_configuration(content):
            continue
        here: FieldPath = (*path, "data", key)
        line, column = document.place(here)
        yield EmbeddedFile(
            path=here,
            documents=read_documents(content, document.file),
            place=(line, column),
            indent=_block_indent(document, line, column),
        )


def _is_configuration(content: object) -> bool:
    if isinstance(content, dict):
        version = text(content.get("apiVersion"))
        return content.get("kind") == SCHEDULER_KIND or version.startswith(f"{SCHEDULER_GROUP}/")
    written = text(content)
    if written.startswith(_SCRIPT):
        return False
    if written.lstrip().startswith("{") and SCHEDULER_KIND in written:
        return True
    is_old = _OLD_POLICY.search(written) is not None and _OLD_KEYS.search(written) is not None
    return is_old or _KEY.search(written) is not None


def _block_indent(document: Document, line: int, column: int) -> int | None:
    """Returns the indentation of a literal block that starts at a place, None for any other text."""
    lines = document.text.splitlines()
    first = line - document.positions.line
    if not 0 <= first < len(lines) or lines[first][column - 1 : column] != "|":
        return None
    content = next((content for content in lines[first + 1 :] if content.strip()), "")
    return len(content) - len(content.lstrip(" "))
