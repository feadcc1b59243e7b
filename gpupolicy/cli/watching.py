"""Reading again and again: drawing the result in place on a terminal, or keeping the last one for others to ask."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from gpupolicy.cli.streams import Streams
from gpupolicy.errors import GPUPolicyError

Result = TypeVar("Result")

_HOME_AND_CLEAR = "\x1b[H\x1b[J"
_PLAIN_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[Result]):
    """The last result, when it was read, and what went wrong since (None: nothing)."""

    result: Result
    read_at: datetime
    failure: str | None = None
    failed_at: datetime | None = None


def read_repeatedly(
    read: Callable[[], Result], clock: Callable[[], datetime], wait: Callable[[], None]
) -> Iterator[Reading[Result]]:
    """Yields a reading after each attempt; one that fails gives the result before it, with what went wrong.

    Args:
        read: reads once.
        clock: says what time it is.
        wait: waits until the next attempt.

    Raises:
        GPUPolicyError, OSError: the first attempt failed, so there is nothing to show.
    """
    last = Reading(result=read(), read_at=clock())
    yield last
    while True:
        wait()
        try:
            last = Reading(result=read(), read_at=clock())
        except (GPUPolicyError, OSError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            last = Reading(result=last.result, read_at=last.read_at, failure=text, failed_at=clock())
        yield last


def describe_reading(reading: Reading[Result]) -> str:
    """Returns one line: when the result was read, and that a later attempt failed."""
    read = f"read at {reading.read_at:%Y-%m-%d %H:%M:%S} UTC"
    if reading.failure is None or reading.failed_at is None:
        return read
    return f"{read}; reading failed at {reading.failed_at:%H:%M:%S}: {reading.failure}"


def draw(text: str, streams: Streams) -> None:
    """Shows a text in place of the one before where standard output is a terminal, else after it."""
    if not streams.stdout.isatty():
        streams.write(f"{text}\n")
    else:
        streams.write(_HOME_AND_CLEAR + _cut(text, shutil.get_terminal_size().lines))
    streams.flush()


def width_of(streams: Streams) -> int:
    """Returns how many characters a line of standard output may have."""
    return shutil.get_terminal_size().columns if streams.stdout.isatty() else _PLAIN_WIDTH


def _cut(text: str, height: int) -> str:
    lines = text.splitlines()
    if len(lines) < height:
        return text
    kept = max(1, height - 2)
    return "\n".join(lines[:kept]) + f"\n... {len(lines) - kept} more lines\n"
