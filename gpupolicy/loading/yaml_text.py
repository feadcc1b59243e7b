"""YAML read by libyaml, with all that may be odd or broken in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import DocumentEndEvent, DocumentStartEvent
from yaml.reader import ReaderError

from gpupolicy.errors import LocatedFinding, locate
from gpupolicy.loading.document import Document, to_document
from gpupolicy.loading.events import Builder, Event, Oddity
from gpupolicy.loading.positions import Positions
from gpupolicy.loading.templates import find_expression
from gpupolicy.loading.unreadable import MAX_DOCUMENTS, UnreadableError, too_deep, too_many_documents

MAX_BROKEN = 20  # each broken document costs another look at the whole rest

_SEPARATOR = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_SECOND_COLON = "mapping values are not allowed in this context"
_PROBLEMS = {
    "could not find expected ':'": "a line is neither a key with a colon nor part of the text above it",
    "did not find expected ',' or ']'": "a comma or the end of the list (]) is expected here",
    "did not find expected ',' or '}'": "a comma or the end of the mapping (}) is expected here",
    "did not find expected alphabetic or numeric character": "the name of an alias (*) or anchor (&) is expected here",
    "did not find expected key": "a key is expected here; the indentation does not fit what stands above",
    "did not find expected '-' indicator": "a list entry (-) is expected here",
    "did not find expected <document start>": "something follows the end of the document; expected is ---",
    "found unexpected end of stream": "a quoted text is not closed",
    "found unexpected document indicator": "a quoted text is not closed before the next document",
    _SECOND_COLON: "a second colon stands in the line; quote the text",
}
_TOO_DEEP = "exceeded maximum nesting depth"
_BEGINS_AT_CONTEXT = frozenset({"while scanning a simple key", "while scanning an alias", "while scanning an anchor"})
_OPEN_COLLECTION = frozenset({"while parsing a flow sequence", "while parsing a flow mapping"})
_RENDER = "render the template first, as in: helm template CHART"


def read_yaml(text: str, file: str) -> Iterator[Document]:
    """Reads document by document; behind a broken one it goes on at the next line of three dashes.

    Args:
        text: the whole text, without a byte order mark.
        file: how findings call it.

    Returns:
        The documents that hold something, and those that cannot be read.
    """
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
        rest = text[stream.document_start :]
        if problem.finding.rule == "yaml-unreadable" and find_expression(rest) is not None:
            problem.finding = replace(problem.finding, hint=_RENDER)
        yield to_document(problem, file, index, rest, stream.line)
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
    context, begin = getattr(error, "context", None), getattr(error, "context_mark", None)
    mark = getattr(error, "problem_mark", None) or begin
    if begin is not None and context in _BEGINS_AT_CONTEXT:
        mark = begin  # the fault stands there; libyaml tells where it gave up
    problem = str(getattr(error, "problem", None) or error)
    line, column, index = (mark.line + 1, mark.column + 1, mark.index) if mark else (1, 1, 0)
    if problem == _TOO_DEEP:
        return too_deep(line, column)
    message, hint = _PROBLEMS.get(problem, f"the text is no YAML: {problem}"), None
    if problem == _SECOND_COLON and ":" not in text[:index].rpartition("\n")[2]:
        message = "a colon ends a key here, but the text before it began in a line above; a colon or a blank is missing"
    if begin is not None and context in _OPEN_COLLECTION and begin.line + 1 < line:
        message += f"; it opens in line {begin.line + 1}"
    if context in ("while scanning an alias", "while scanning an anchor"):
        hint = f"quote the text that starts with {text[index : index + 1]}"
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
