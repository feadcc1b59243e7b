"""Text to documents, read as the cluster reads it. Nothing here knows what a document means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import DocumentEndEvent, DocumentStartEvent
from yaml.reader import ReaderError

from gpupolicy.errors import FieldPath, Finding, InputError, LocatedFinding, Part, locate, shown
from gpupolicy.loading.encoding import MAX_BYTES, decode
from gpupolicy.loading.events import MAX_DOCUMENTS, Builder, Event, Oddity, UnreadableError, too_many_documents
from gpupolicy.loading.json_text import read_json
from gpupolicy.loading.positions import Positions

MAX_BROKEN = 20  # each broken document costs another look at the whole rest

_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_PROBLEMS = {
    "could not find expected ':'": "a line is neither a key with a colon nor part of the text above it",
    "did not find expected key": "a key is expected here; the indentation does not fit what stands above",
    "did not find expected '-' indicator": "a list entry (-) is expected here",
    "did not find expected <document start>": "something follows the end of the document; expected is ---",
    "exceeded maximum nesting depth": "too many levels stand inside each other",
    "found unexpected end of stream": "a quoted text is not closed",
    "found unexpected document indicator": "a quoted text is not closed before the next document",
    "mapping values are not allowed in this context": "a second colon stands in the line; quote the text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a stream: plain dicts, lists, texts, numbers, booleans and None, not to be changed.

    A document that cannot be read has ``readable`` False, the value None, and an error among its findings; the
    documents before and behind it are still read. Empty documents are left out, but count for ``index``.
    """

    value: object
    file: str
    index: int
    line: int
    findings: tuple[LocatedFinding, ...] = ()
    readable: bool = True
    positions: Positions = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The document's own text, from the start of its first line."""
        return self.positions.text

    def place(self, path: FieldPath, part: Part = Part.VALUE) -> tuple[int, int]:
        """Returns line and column of a field, counted from 1 in the file; of the nearest field where it is missing.

        Args:
            path: keys and indexes from the document's root.
            part: the value, or the key that leads to it.

        Returns:
            (line, column), the column in characters.
        """
        return self.positions.find(path, part) if self.readable else (self.line, 1)

    def locate(self, finding: Finding) -> LocatedFinding:
        """Returns a finding about this document with its place."""
        return locate(finding, self.file, *self.place(finding.field, finding.part))


def read_documents(data: str | bytes, file: str, *, max_bytes: int = MAX_BYTES) -> tuple[Document, ...]:
    """Reads every document of a YAML or JSON text as kubectl and the API server read it.

    Never raises for what stands in the text: that becomes findings, among them ``duplicate-key``, ``yaml-unreadable``,
    ``yaml-too-deep``, ``yaml-alias-bomb``, ``yaml-unknown-tag``, ``yaml-octal``, ``yaml-boolean-word``,
    ``not-utf-8`` and ``input-too-large``.

    Args:
        data: the text, or its bytes in UTF-8 with or without a byte order mark.
        file: how findings call it.
        max_bytes: larger texts are not read.

    Returns:
        The documents in order; none where the text is empty or holds comments only.
    """
    try:
        text = decode(data, max_bytes)
        plain = read_json(text)
    except UnreadableError as error:
        return (_unreadable(error, file, 0, "", 1),)
    if plain is not None:
        return tuple(_from_json(text, file, plain))
    return tuple(_from_yaml(text, file))


def read_file(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[Document, ...]:
    """Reads every document of a file.

    Args:
        path: the file.
        max_bytes: larger files are not read further than this.

    Returns:
        As ``read_documents``.

    Raises:
        InputError: the file cannot be opened or read.
    """
    try:
        with open(path, "rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}", file=str(path)) from error
    except ValueError as error:  # a NUL, which no file name holds, or a half of a surrogate pair
        raise InputError(f"cannot read {shown(str(path))}: no file has such a name", file=shown(str(path))) from error
    return read_documents(data, str(path), max_bytes=max_bytes)


def _from_json(text: str, file: str, plain: list[tuple[object, int, int]]) -> Iterator[Document]:
    line, line_start, before = 1, 0, 0
    for index, (value, start, end) in enumerate(plain):
        if breaks := text.count("\n", before, start):
            line, line_start = line + breaks, text.rfind("\n", before, start) + 1
        before = start
        positions = Positions(" " * (start - line_start) + text[start:end], line)
        yield Document(value=value, file=file, index=index, line=line, positions=positions)


def _from_yaml(text: str, file: str) -> Iterator[Document]:
    """Reads document by document; behind a broken one it goes on at the next line of three dashes."""
    index = 0
    for attempt in range(1, MAX_BROKEN + 1):
        stream = _Stream(text, file, index)
        try:
            yield from stream.documents()
            return
        except UnreadableError as error:
            problem = error
        index = stream.index
        start = max(stream.document_start + 3, _line_start(text, problem.line))
        following = _SEPARATOR.search(text, start)
        if following is not None and attempt == MAX_BROKEN:
            finding = problem.finding
            problem.finding = replace(finding, message=f"{finding.message}; the rest of the file is not read")
        yield _unreadable(problem, file, index, text[stream.document_start :], stream.line)
        if following is None or problem.finding.rule == "input-too-large":
            return
        index += 1
        text = "\n" * text.count("\n", 0, following.start()) + text[following.start() :]


class _Stream:
    """The documents of a text up to the first that cannot be read; says where that one starts."""

    def __init__(self, text: str, file: str, index: int) -> None:
        self.text = text
        self.file = file
        self.index = index
        self.document_start = 0
        self.line = 1
        self._next: Callable[[], Event] = CParser(text).get_event

    def documents(self) -> Iterator[Document]:
        """Yields the documents that hold something.

        Raises:
            UnreadableError: at the first that cannot be read.
        """
        try:
            yield from self._documents()
        except yaml.YAMLError as error:
            raise _to_unreadable(error, self.text) from None

    def _documents(self) -> Iterator[Document]:
        while (event := self._next()) is not None:
            if type(event) is DocumentStartEvent:
                mark: Any = event.start_mark
                self.document_start, self.line = mark.index - mark.column, mark.line + 1
                document = self._document(mark.line + 1)
                if document is not None:
                    yield document
                self.index += 1
                if self.index > MAX_DOCUMENTS:
                    raise too_many_documents(self.line)

    def _document(self, first_line: int) -> Document | None:
        builder = Builder(self._next)
        event: Any = self._next()
        line = event.start_mark.line + 1
        value = builder.build(event)
        end = self._next()
        if type(end) is not DocumentEndEvent:
            raise UnreadableError("yaml-unreadable", "a second value follows", line, 1)
        if value is None and not builder.oddities:
            return None
        mark: Any = end.start_mark
        positions = Positions(self.text[self.document_start : mark.index], first_line)
        findings = tuple(_to_finding(oddity, self.file, positions) for oddity in builder.oddities)
        return Document(
            value=value, file=self.file, index=self.index, line=line, findings=findings, positions=positions
        )


def _to_finding(oddity: Oddity, file: str, positions: Positions) -> LocatedFinding:
    """Returns the finding of an oddity; of a repeated key it also says where it stood first."""
    finding = oddity.finding
    if finding.rule == "duplicate-key":
        first = positions.find_first_key(finding.field)
        where = f"; first in line {first[0]}" if first and first < (oddity.line, oddity.column) else ""
        finding = replace(finding, message=finding.message + where)
    return locate(finding, file, oddity.line, oddity.column)


def _to_unreadable(error: yaml.YAMLError, text: str) -> UnreadableError:
    """Returns libyaml's complaint in our words, with its place."""
    if isinstance(error, ReaderError):
        before = text.encode()[: error.position].decode(errors="ignore")
        message = f"character U+{error.character:04X} stands here, which YAML does not allow"
        return UnreadableError("yaml-unreadable", message, before.count("\n") + 1, _column(before))
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or error)
    line, column, index = (mark.line + 1, mark.column + 1, mark.index) if mark else (1, 1, 0)
    message, hint = _PROBLEMS.get(problem, f"the text is no YAML: {problem}"), None
    if problem == "found character that cannot start any token":
        character = text[index : index + 1]
        message, hint = f"no value may start with {character}", f"quote the text that starts with {character}"
        if character == "\t":
            message, hint = "a tab stands in the indentation; YAML takes spaces only", "replace tabs by spaces"
    return UnreadableError("yaml-unreadable", message, line, column, hint)


def _column(before: str) -> int:
    return len(before) - (before.rfind("\n") + 1) + 1


def _line_start(text: str, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start


def _unreadable(error: UnreadableError, file: str, index: int, text: str, line: int) -> Document:
    finding = locate(error.finding, file, error.line, error.column)
    return Document(
        value=None,
        file=file,
        index=index,
        line=error.line,
        findings=(finding,),
        readable=False,
        positions=Positions(text, line),
    )
