"""Who is connected to a listening socket, and how they get in. Few enough for the memory of a container.

asyncio's own server is not used: it knows no limit, keeps 300 KB for a connection that has not said a word, and without
descriptors left it tries 1,024 times at once and writes a trace for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable

from .turns import Turns
from .watchers import Watch, Watchers

MOST_CONNECTIONS = 1000
_BACKLOG = 1024
# Answers are a few KiB. What a client does not read the system would keep, up to 4 MiB for each connection.
_SEND_BYTES = 64 * 1024
_SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_SHORTAGE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 1.0


class Crowd:
    """The open connections.

    With one more than ``most``, another goes: of those that never sent a byte, then of those that never sent a whole
    request header, then of all, the one that is like this for longest. So the API server is not locked out by
    connections, only by requests.
    """

    def __init__(self, most: int = MOST_CONNECTIONS, *, on_full: Callable[[], None] = lambda: None) -> None:
        self._most = most
        self._on_full = on_full
        self._mute: dict[socket.socket, None] = {}
        self._silent: dict[socket.socket, None] = {}
        self._heard: dict[socket.socket, None] = {}

    def __len__(self) -> int:
        return len(self._mute) + len(self._silent) + len(self._heard)

    def add(self, connection: socket.socket) -> None:
        """Lets one in; another may have to go for it."""
        if len(self) >= self._most:
            self._send_off(self._mute or self._silent or self._heard)
        self._mute[connection] = None

    def begin(self, connection: socket.socket) -> bool:
        """Notes that a first byte came; returns False for one that was sent off meanwhile."""
        if connection not in self._mute:
            return False
        del self._mute[connection]
        self._silent[connection] = None
        return True

    def hear(self, connection: socket.socket) -> None:
        """Notes that a whole request header came."""
        self.remove(connection)
        self._heard[connection] = None

    def remove(self, connection: socket.socket) -> None:
        """Forgets one that is closed."""
        for place in (self._heard, self._silent, self._mute):
            place.pop(connection, None)

    def make_room(self) -> None:
        """Sends off one that asked for nothing yet, if there is one: the system has no room for another."""
        self._send_off(self._mute or self._silent)

    def _send_off(self, connections: dict[socket.socket, None]) -> None:
        """Ends the first of some; who serves it sees that the client has gone."""
        if connections:
            first = next(iter(connections))
            del connections[first]
            with contextlib.suppress(OSError):
                first.shutdown(socket.SHUT_RDWR)
        self._on_full()


class Door:
    """Lets connections in, each when it has sent its first byte: until then it costs a socket and a timer."""

    def __init__(
        self,
        sock: socket.socket,
        crowd: Crowd,
        serve: Callable[[socket.socket], Awaitable[object]],
        *,
        seconds: float,
        watchers: Watchers | None = None,
        watch: Watch = Watch.REVIEWS,
    ) -> None:
        """Begins, in the running event loop.

        Args:
            sock: bound; it is closed with the door.
            crowd: who is in.
            serve: takes a connection over, or raises OSError.
            seconds: how long the first byte may take.
            watchers: who looks for new connections.
            watch: under which name.
        """
        self._sock, self._crowd, self._serve, self._seconds = sock, crowd, serve, seconds
        self._waiting: set[asyncio.Task[None]] = set()
        self._turns = Turns()
        host, port = sock.getsockname()[:2]
        self.address = (str(host), int(port))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        sock.listen(_BACKLOG)
        sock.setblocking(False)
        accepting = (watchers or Watchers()).keep(watch, self._accept, longest_pause=_LONGEST_PAUSE_SECONDS)
        self._accepting = asyncio.create_task(accepting)

    def close(self) -> None:
        """Lets nobody in any more."""
        self._accepting.cancel()
        for task in self._waiting:
            task.cancel()
        self._sock.close()

    async def _accept(self) -> float:
        """Lets one in. Accepting never waits while more are there, so whoever calls lets others be heard between."""
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(self._sock)
        except OSError as error:
            if error.errno not in _SHORTAGE:  # the client has gone before it was let in
                return 0.0
            self._crowd.make_room()
            return _SHORTAGE_SECONDS
        task = asyncio.create_task(self._let_in(connection))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        return 0.0

    async def _let_in(self, connection: socket.socket) -> None:
        try:
            self._crowd.add(connection)
            await _wait_for_byte(connection, self._seconds)
            await self._turns.wait()
        except BaseException as error:
            self._crowd.remove(connection)
            connection.close()
            if not isinstance(error, (OSError, TimeoutError)):
                raise
            return
        if not self._crowd.begin(connection):
            connection.close()
            return
        try:
            await self._serve(connection)
        except (OSError, TimeoutError):  # no TLS, a refused one, one that took too long: asyncio closes it
            self._crowd.remove(connection)


async def _wait_for_byte(connection: socket.socket, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(connection, arrived.set)
    try:
        async with asyncio.timeout(seconds):
            await arrived.wait()
    finally:
        loop.remove_reader(connection)
