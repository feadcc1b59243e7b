"""How far a long run is."""

from __future__ import annotations

import io
from contextlib import suppress

from gpupolicy.cli.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def told(*moments: float, stream: io.StringIO | None = None, total: int = 1000) -> str:
    """What stands on the stream when a file is done at each of the moments, seconds after the start."""
    stream = stream or Terminal()
    times = iter((0.0, *moments))
    with Progress(stream, total, clock=lambda: next(times)) as progress:
        for _ in moments:
            progress.advance(400)
    return stream.getvalue()


def test_a_short_run_shows_nothing() -> None:
    assert told(0.2, 0.9) == ""


def test_a_long_run_shows_how_far_it_is_and_clears_the_line() -> None:
    assert told(0.5, 1.0) == "\r\x1b[K800 of 1000 files\r\x1b[K"


def test_it_tells_ten_times_a_second_at_most() -> None:
    assert told(1.0, 1.05, 1.11).count("files") == 2


def test_it_never_counts_beyond_the_last_file() -> None:
    assert told(0.1, 0.2, 1.0) == "\r\x1b[K1000 of 1000 files\r\x1b[K"


def test_a_pipe_is_left_alone() -> None:
    assert told(1.0, 2.0, stream=io.StringIO()) == ""


def test_the_line_is_cleared_when_the_run_is_interrupted() -> None:
    stream, times = Terminal(), iter((0.0, 1.0))

    with suppress(KeyboardInterrupt), Progress(stream, 2, clock=lambda: next(times)) as progress:
        progress.advance()
        raise KeyboardInterrupt

    assert stream.getvalue() == "\r\x1b[K1 of 2 files\r\x1b[K"
