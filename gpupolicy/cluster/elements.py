"""What the readers of dumps give: objects one by one, and where a list ends. The same for JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

HOW_TO_DUMP = "kubectl get nodes,pods -A -o json makes a dump"


@dataclass(frozen=True, slots=True)
class Element:
    """An object, of a list or on its own.

    ``header`` holds the fields of the list beside its items, as far as they have been read; None: no list.
    """

    value: object
    header: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class ListEnd:
    """The end of a list: now its header is whole."""

    header: Mapping[str, object]


class CutError(Exception):
    """The text ends where it cannot end, or is damaged. Never leaves this package."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Reader(Protocol):
    """Reads a text piece by piece; what it gave stands at ``line`` until it is asked for more."""

    @property
    def line(self) -> int:
        """Where the last element starts, counted from 1."""
        ...

    def elements(self) -> Iterator[Element | ListEnd]:
        """Yields what the text holds.

        Raises:
            CutError: the text ends too early.
            InputError: it is not what it should be.
        """
        ...
