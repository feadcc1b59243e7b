"""A small TCP balancer, in place of a Service: each new connection goes to the next replica that is ready."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterable, Sequence
from types import TracebackType

PROBE_SECONDS = 0.1
_BLOCK = 64 * 1024

Backend = tuple[int, int]  # ports on loopback: reviews, probes


class Balancer:
    """Balances from a thread; to be used in a ``with`` statement.

    A replica that is not ready gets no new connection, and keeps those that it has. One that refuses a connection is
    passed over for the next, as balancers in front of processes do; kube-proxy does not.
    """

    def __init__(self, backends: Sequence[Backend]) -> None:
        self.backends = list(backends)
        self.served: dict[int, int] = {}
        self._ready: set[Backend] = set()
        self._turn = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="balancer")

    def __enter__(self) -> Balancer:
        self._thread.start()
        assert self._started.wait(30), "no replica is ready"
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def is_ready(self, backend: Backend) -> bool:
        """Whether a replica gets new connections."""
        return backend in self._ready

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
            listener.setblocking(False)
            self.port = listener.getsockname()[1]
            tasks = [asyncio.create_task(self._probe_all()), asyncio.create_task(self._accept(listener))]
            await self._stop.wait()
            await _end([*tasks, *self._connections])

    async def _probe_all(self) -> None:
        while True:
            for backend in list(self.backends):
                if await _answers(backend[1]):
                    self._ready.add(backend)
                else:
                    self._ready.discard(backend)
            if self._ready:
                self._started.set()
            await asyncio.sleep(PROBE_SECONDS)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            client, _ = await self._loop.sock_accept(listener)
            task = asyncio.create_task(self._serve(client))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if there := await self._connect():
                with there:
                    copies = [asyncio.create_task(_copy(client, there)), asyncio.create_task(_copy(there, client))]
                    try:
                        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        await _end(copies)

    async def _connect(self) -> socket.socket | None:
        for _ in range(len(self.backends)):
            ready = [backend for backend in self.backends if backend in self._ready]
            if not ready:
                return None
            self._turn += 1
            backend = ready[self._turn % len(ready)]
            there = socket.socket()
            there.setblocking(False)
            try:
                await self._loop.sock_connect(there, ("127.0.0.1", backend[0]))
            except OSError:
                there.close()
                self._ready.discard(backend)
                continue
            there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.served[backend[0]] = self.served.get(backend[0], 0) + 1
            return there
        return None


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    waited = list(tasks)
    for task in waited:
        task.cancel()
    await asyncio.gather(*waited, return_exceptions=True)


async def _copy(source: socket.socket, target: socket.socket) -> None:
    """Ends with the first end of either: half-closed connections are not kept."""
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, _BLOCK):
        await loop.sock_sendall(target, data)


async def _answers(port: int) -> bool:
    """Whether the plain port says that the replica is ready."""
    loop = asyncio.get_running_loop()
    with socket.socket() as probe:
        probe.setblocking(False)
        try:
            async with asyncio.timeout(1):
                await loop.sock_connect(probe, ("127.0.0.1", port))
                await loop.sock_sendall(probe, b"GET /readyz HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n")
                return (await loop.sock_recv(probe, 64)).startswith(b"HTTP/1.1 200")
        except (OSError, TimeoutError):
            return False
