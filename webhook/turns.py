"""Requests that were sent before the one ahead of them was answered: of all connections one begins in each turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Turns:
    """Calls what is added, in its order, one in each turn of the event loop.

    Between two of them everybody else is heard: a client that sends without end is served by what the others leave.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, begin: Callable[[], None]) -> None:
        """Has it called in a later turn."""
        self._waiting.append(begin)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._call_first)

    async def wait(self) -> None:
        """Returns in a later turn."""
        mine = asyncio.Event()
        self.add(mine.set)
        await mine.wait()

    def _call_first(self) -> None:
        try:
            self._waiting[0]()
        finally:
            self._waiting.popleft()
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._call_first)
