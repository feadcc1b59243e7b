"""Reading again and again."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count, islice

import pytest

from gpupolicy.cli.streams import Streams
from gpupolicy.cli.watching import Reading, describe_reading, draw, read_repeatedly, width_of
from gpupolicy.errors import ClusterError

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def ticking() -> Callable[[], datetime]:
    """A clock that is a second later at each look."""
    seconds = count()
    return lambda: NOON + timedelta(seconds=next(seconds))


def read(*results: object) -> list[Reading[object]]:
    """The readings of a source that gives or raises these, one after the other."""
    left = iter(results)

    def once() -> object:
        result = next(left)
        if isinstance(result, Exception):
            raise result
        return result

    return list(islice(read_repeatedly(once, ticking(), lambda: None), len(results)))


def test_a_failed_reading_shows_the_last_figures_and_says_so() -> None:
    shown = [(each.result, describe_reading(each)) for each in read("a", ClusterError("no\nanswer"), OSError(), "b")]

    assert shown == [
        ("a", "read at 2026-11-29 12:00:00 UTC"),
        ("a", "read at 2026-11-29 12:00:00 UTC; reading failed at 12:00:01: no answer"),
        ("a", "read at 2026-11-29 12:00:00 UTC; reading failed at 12:00:02: OSError"),
        ("b", "read at 2026-11-29 12:00:03 UTC"),
    ]


def test_a_first_reading_that_fails_is_an_error() -> None:
    with pytest.raises(ClusterError):
        read(ClusterError("no answer"))


def on(screen: io.StringIO) -> Streams:
    return Streams(stdin=io.StringIO(), stdout=screen, stderr=io.StringIO())


def test_a_terminal_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "24")
    screen = Screen()

    draw("one\n", on(screen))

    assert screen.getvalue() == "\x1b[H\x1b[Jone\n"


def test_what_is_higher_than_the_terminal_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "5")
    screen = Screen()

    draw("1\n2\n3\n4\n5\n6\n", on(screen))

    assert screen.getvalue() == "\x1b[H\x1b[J1\n2\n3\n... 3 more lines\n"


def test_a_file_gets_one_text_after_the_other() -> None:
    file = io.StringIO()

    draw("one\n", on(file))
    draw("two\n", on(file))

    assert file.getvalue() == "one\n\ntwo\n\n"


def test_the_terminal_says_how_wide_lines_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")

    assert (width_of(on(Screen())), width_of(on(io.StringIO()))) == (72, 100)
