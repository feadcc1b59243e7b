"""What looks at the world beside the reviews: files, namespaces, certificates, new connections. It never ends serving.

A look that fails in a way that nobody foresaw (no thread can be started, no memory, a defect) is told with its trace,
counted, and shown by the readiness probe until one goes well again; the next look comes after a pause.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
_log = logging.getLogger("gpupolicy.webhook")

# Does what is due, and returns how many seconds to wait before the next time.
Look = Callable[[], float]
AsyncLook = Callable[[], Awaitable[float]]


class Watch(StrEnum):
    """What is watched."""

    POLICY = "policy"
    CERTIFICATE = "certificate"
    EXPIRY = "expiry"
    ROTATION = "rotation"
    NAMESPACES = "namespaces"
    REVIEWS = "reviews"
    PROBES = "probes"


@dataclass(slots=True)
class _Outcome:
    pause: float = 0.0


class Watchers:
    """Looks at each thing again and again; ``count`` is told of each look that failed."""

    def __init__(self, count: Callable[[Watch], None] = lambda _watch: None) -> None:
        self._count = count
        self._pauses: dict[Watch, float] = {}

    async def keep(self, watch: Watch, look: AsyncLook, *, longest_pause: float = LONGEST_PAUSE_SECONDS) -> NoReturn:
        """Looks until it is cancelled."""
        while True:
            with self._guarded(watch, longest_pause) as outcome:
                outcome.pause = await look()
            await asyncio.sleep(outcome.pause)

    def start(self, watch: Watch, look: Look, stopped: threading.Event | None = None) -> None:
        """Looks from a thread of its own, until it is stopped or the process ends."""
        end = stopped or threading.Event()

        def run() -> None:
            outcome = _Outcome()
            while not end.wait(outcome.pause):
                with self._guarded(watch, LONGEST_PAUSE_SECONDS) as outcome:
                    outcome.pause = look()

        threading.Thread(target=run, name=watch.value, daemon=True).start()

    def find_remarks(self) -> Iterator[str]:
        """Yields what fails at present."""
        for watch in list(self._pauses):
            yield f'the watch "{watch}" has failed and is tried again'

    @contextmanager
    def _guarded(self, watch: Watch, longest_pause: float) -> Iterator[_Outcome]:
        outcome = _Outcome()
        try:
            yield outcome
        except Exception:  # the outermost edge of a task or a thread: without it nothing would be looked at again
            outcome.pause = self._on_failure(watch, longest_pause)
        else:
            self._pauses.pop(watch, None)

    def _on_failure(self, watch: Watch, longest_pause: float) -> float:
        pause = self._pauses[watch] = min(2 * self._pauses.get(watch, FIRST_PAUSE_SECONDS / 2), longest_pause)
        with contextlib.suppress(Exception):  # where there is no memory, there is none to tell of it
            self._count(watch)
            _log.exception('the watch "%s" has failed and is tried again in %g s', watch, pause)
        return pause
