"""A line on the terminal that says how far a long run is; nothing where standard error is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

FIRST_AFTER_SECONDS = 1.0
_AGAIN_AFTER_SECONDS = 0.1
_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Counts files; a run that is over within a second shows nothing."""

    def __init__(self, stream: TextIO, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream.isatty() else None
        self._total = total
        self._clock = clock
        self._done = 0
        self._next = clock() + FIRST_AFTER_SECONDS
        self._is_shown = False

    def advance(self, files: int = 1) -> None:
        """Counts files as done and tells it, ten times a second at most."""
        self._done += files
        if self._stream is None or (now := self._clock()) < self._next:
            return
        self._next = now + _AGAIN_AFTER_SECONDS
        self._stream.write(f"{_CLEAR_LINE}{min(self._done, self._total)} of {self._total} files")
        self._stream.flush()
        self._is_shown = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None and self._is_shown:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
