"""A line on the terminal that says how far a long run is; nothing where standard error is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

_FIRST_AFTER_SECONDS = 1.0
_AGAIN_AFTER_SECONDS = 0.1
_CLEAR_LINE = "\r\x1b[K"


class StatusLine:
    """One line that is written over again and again: first after a second, then ten times a second at most."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream.isatty() else None
        self._clock = clock
        self._next: float | None = None
        self._is_shown = False

    def show(self, tell: Callable[[], str]) -> None:
        """Shows what it is told, if it is time to; the first call is the beginning."""
        if self._stream is None:
            return
        now = self._clock()
        if self._next is None:
            self._next = now + _FIRST_AFTER_SECONDS
        if now >= self._next:
            self._next = now + _AGAIN_AFTER_SECONDS
            self._stream.write(_CLEAR_LINE + tell())
            self._stream.flush()
            self._is_shown = True

    def clear(self) -> None:
        """Takes the line away; what is shown after that begins anew."""
        if self._stream is not None and self._is_shown:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
        self._next, self._is_shown = None, False


class Progress:
    """Counts files; a run that is over within a second shows nothing."""

    def __init__(self, stream: TextIO, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._line = StatusLine(stream, clock)
        self._total = total
        self._done = 0
        self._line.show(self._tell)

    def advance(self, files: int = 1) -> None:
        """Counts files as done and tells it."""
        self._done += files
        self._line.show(self._tell)

    def _tell(self) -> str:
        return f"{min(self._done, self._total)} of {self._total} files"

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.clear()
