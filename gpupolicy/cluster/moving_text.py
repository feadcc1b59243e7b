"""A long text seen through a window that moves on, with the line and column of every place in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\r\n]*")


class MovingText:
    """The window holds what has been read and not yet passed; ``at`` is the place in it where reading goes on."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self.window = ""
        self.at = 0
        self.is_whole = False  # nothing follows behind the window
        self._line, self._counted = 1, 0
        self._column = 1  # of the window's first character

    def widen(self) -> bool:
        """Drops what is passed and doubles the rest; returns whether there was more of the text."""
        line_start = self.window.rfind("\n", 0, self.at)
        self._column = self.at - line_start if line_start >= 0 else self._column + self.at
        self._count()
        rest = self.window[self.at :]
        found, size = [rest], 0
        while size < max(1, len(rest)) and not self.is_whole:
            piece = next(self._pieces, None)
            self.is_whole = piece is None
            found.append(piece or "")
            size += len(piece or "")
        self.window, self.at, self._counted = "".join(found), 0, 0
        return size > 0

    def peek(self) -> str:
        """Passes over spaces; returns the character that follows, or nothing at the end of the text."""
        while True:
            self.at = _SPACE.match(self.window, self.at).end()  # type: ignore[union-attr]  # it matches everywhere
            if self.at < len(self.window):
                return self.window[self.at]
            if not self.widen():
                return ""

    def line(self) -> int:
        """Returns the line where reading goes on, counted from 1; every character is counted once."""
        self._count()
        return self._line

    def place(self, at: int) -> tuple[int, int]:
        """Returns line and column of a place in the window, not before ``at``."""
        line_start = self.window.rfind("\n", 0, at)
        column = at - line_start if line_start >= 0 else self._column + at
        return self.line() + self.window.count("\n", self.at, at), column

    def _count(self) -> None:
        self._line += self.window.count("\n", self._counted, self.at)
        self._counted = self.at
