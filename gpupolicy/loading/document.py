"""One document of a text, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Part, locate
from gpupolicy.loading.positions import Positions
from gpupolicy.loading.unreadable import UnreadableError


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


def to_document(error: UnreadableError, file: str, index: int, text: str, line: int) -> Document:
    """Returns the document that cannot be read for an error.

    Args:
        error: what is wrong with it.
        file: how findings call its file.
        index: its number in the file.
        text: it and all that follows.
        line: where that starts.
    """
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
