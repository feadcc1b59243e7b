"""YAML dumps, object by object: the events of libyaml, and a value built for each item and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpupolicy.cluster.elements import HOW_TO_DUMP, CutError, Element, ListEnd
from gpupolicy.errors import InputError, Severity, shown
from gpupolicy.loading.events import Builder, Event, UnreadableError

_NEVER_CUT = ("mapping values are not allowed", "found character that cannot start")


class YamlReader:
    """A stream of documents: lists, objects, sequences of objects."""

    def __init__(self, pieces: Iterator[str], file: str) -> None:
        self._file = file
        self._stream = _Stream(pieces)
        self._next: Callable[[], Event] = CParser(self._stream).get_event
        self.line = 1

    def elements(self) -> Iterator[Element | ListEnd]:
        """Yields what the text holds; what was given last stands in ``line``.

        Raises:
            CutError: the text ends too early.
            InputError: it is no YAML, or not what the cluster reads.
        """
        try:
            yield from self._documents()
        except yaml.YAMLError as error:
            raise self._unreadable(error) from None
        except UnreadableError as error:
            raise InputError(error.finding.message, file=self._file, line=error.line, column=error.column) from None

    def _documents(self) -> Iterator[Element | ListEnd]:
        event: Event
        while (event := self._next()) is not None:
            if type(event) is DocumentStartEvent:
                first: Event = self._next()
                yield from self._document(first)

    def _document(self, event: Event) -> Iterator[Element | ListEnd]:
        line: int = event.start_mark.line + 1
        if type(event) is MappingStartEvent:
            yield from self._mapping(line)
        elif type(event) is SequenceStartEvent:
            yield from self._items(None)
        elif self._build(event) is not None:
            raise InputError(f"an object is expected here; {HOW_TO_DUMP}", file=self._file, line=line)
        self._next()  # the end of the document

    def _mapping(self, line: int) -> Iterator[Element | ListEnd]:
        fields: dict[str, object] = {}
        is_list = False
        while type(event := self._next()) is not MappingEndEvent:
            key = self._key(event)
            event = self._next()
            if key == "items" and type(event) is SequenceStartEvent:
                is_list = True
                yield from self._items(fields)
            else:
                fields[key] = self._build(event)
                is_list |= key == "items" and fields[key] is None
        self.line = line
        if is_list and "kind" not in fields:
            # kubectl writes kind behind the items, so this is what is left of a list whose end is lost
            raise CutError("the list ends without its kind: the text was cut", self._stream.lines)
        yield ListEnd(fields) if is_list else Element(fields, None)

    def _key(self, event: Event) -> str:
        if type(event) is not ScalarEvent:
            line = event.start_mark.line + 1
            raise InputError("a plain key is expected here", file=self._file, line=line)
        return str(event.value)

    def _items(self, header: dict[str, object] | None) -> Iterator[Element]:
        while type(event := self._next()) is not SequenceEndEvent:
            self.line = event.start_mark.line + 1
            yield Element(self._build(event), header)

    def _build(self, event: Event) -> object:
        builder = Builder(self._next)
        value = builder.build(event)
        for oddity in builder.oddities:
            if oddity.finding.severity is Severity.ERROR:
                raise InputError(oddity.finding.message, file=self._file, line=oddity.line, column=oddity.column)
        return value

    def _unreadable(self, error: yaml.YAMLError) -> CutError | InputError:
        mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (self.line, None)
        problem = shown(str(getattr(error, "problem", None) or error), 200)
        if self._stream.is_whole and line >= self._stream.lines and not problem.startswith(_NEVER_CUT):
            return CutError(f"the text ends in the middle of an object ({problem}): it was cut", line, column)
        return InputError(f"the text is no YAML: {problem}", file=self._file, line=line, column=column)


class _Stream:
    """What libyaml reads from; knows how many lines have come."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self.lines, self.is_whole = 1, False

    def read(self, size: int = -1, /) -> bytes:
        """Returns the next piece; libyaml takes more than it asked for, too."""
        for piece in self._pieces:
            if piece:
                self.lines += piece.count("\n")
                return piece.encode("utf-8")
        self.is_whole = True
        return b""
