"""Signals that end a run in the middle of its work."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Lets SIGTERM end what runs as Ctrl-C does, so that it tells what was done: a container is ended by it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
