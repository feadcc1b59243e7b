"""HTTP/1.1 on a socket by uvicorn's parser class. All that we use of uvicorn's insides is in this file.

uvicorn's own server is not used: it re-raises signals, knows no drain, and waits without end for a first request.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from .crowd import Crowd, Door
from .turns import Turns
from .watchers import Watch, Watchers

# Go's client keeps idle connections for 90 s. A server that closes first loses a request now and then, and the API
# server does not send it again: the time here must be longer.
KEEP_ALIVE_SECONDS = 120
HEADER_SECONDS = 10.0
HEADER_BYTES = 64 * 1024
# What a request may have beside its header and its body, and how much more for each byte of the body: the lengths of
# chunks, and headers that follow the last one. The parser copies such a header anew with each part of it that comes.
FRAMING_BYTES = 64 * 1024
_FRAMING_SHARE = 1 / 16
# asyncio keeps 256 KiB for each TLS connection, and as much that was not read yet. Two of TLS's records are enough.
TLS_BUFFER_BYTES = 32 * 1024
# Answers that a client does not read; with as much in the system's buffers, the next one is not begun.
UNREAD_BYTES = 64 * 1024
UNREAD_SECONDS = 10.0
_SHUTDOWN_SECONDS = 5.0


class _Flow(FlowControl):
    """Reads on only when all that was read is being answered.

    uvicorn reads on with each answer, and a read brings a dozen requests where a client sends ahead of answers: one
    such client took 370 MB in six seconds (measured).
    """

    def __init__(self, transport: asyncio.Transport, pipeline: deque[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Called by uvicorn when it could take more."""
        if not self._pipeline:
            super().resume_reading()


class Protocol(HttpToolsProtocol):
    """One connection. A client that sends no whole request header in time, or an endless one, is cut off.

    Go dials ahead and leaves such connections silent: they cost a timer here, in a threaded server a thread each.
    """

    header_seconds = HEADER_SECONDS
    crowd = Crowd()
    turns = Turns()
    client_names: frozenset[str] = frozenset()
    on_stranger: Callable[[tuple[str, ...]], None] = staticmethod(lambda _names: None)
    _is_stranger = False
    connection: socket.socket

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Starts the clock for the first header.

        An answer goes out in two writes. Without TCP_NODELAY the second waits for the client's delayed
        acknowledgement: 44 ms a review instead of 1 (measured). asyncio sets it only on sockets whose protocol number
        is given, and those of ``socket.create_server`` have none.
        """
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        transport.set_write_buffer_limits(UNREAD_BYTES)
        if self.scheme == "https":
            transport.set_read_buffer_limits(TLS_BUFFER_BYTES)  # type: ignore[attr-defined]  # that of TLS has it
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request_bytes = self._body_bytes = 0
        self._header_clock: asyncio.TimerHandle | None = None
        self._unread_clock: asyncio.TimerHandle | None = None
        self._header_is_whole = self._has_begun = False
        self._start_clock()
        if self.client_names:
            self._check_client(transport)

    def _check_client(self, transport: asyncio.Transport) -> None:
        """Cuts off a client whose certificate is of the right authority and names somebody else."""
        names = names_of_client(transport.get_extra_info("peercert") or {})
        if self.client_names.isdisjoint(names):
            self._is_stranger = True
            self.on_stranger(names)
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clocks, or they would keep the connection in memory."""
        self._stop_clock()
        self._stop_unread_clock()
        self.crowd.remove(self.connection)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feeds the parser; the clock runs on only while a header is under way."""
        if self._is_stranger:
            return
        self._has_begun = False
        super().data_received(data)
        if not self._has_begun:  # else some of it may be of the requests before, and it is not much
            self._request_bytes += len(data)
        if self._header_is_whole:
            if self._header_clock is not None:
                self._stop_clock()
            if (
                self._request_bytes - self._body_bytes
                > HEADER_BYTES + FRAMING_BYTES + self._body_bytes * _FRAMING_SHARE
            ):
                self.transport.abort()
        elif self._request_bytes > HEADER_BYTES:
            self.transport.close()
        elif self._header_clock is None:
            self._start_clock()

    def on_message_begin(self) -> None:
        """Called by the parser at the first byte of a request."""
        super().on_message_begin()
        self._header_is_whole, self._has_begun = False, True
        self._request_bytes = self._body_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser for each header; those that follow a body in chunks are nobody's business."""
        if not self._header_is_whole:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Called by the parser after the last header."""
        self._header_is_whole = True
        self.crowd.hear(self.connection)
        super().on_headers_complete()
        if self.parser.should_upgrade():  # what follows is no HTTP to the parser, so nothing of it would be answered
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Called by the parser for each part of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Called by uvicorn after an answer, to begin with the next request if it has come already."""
        if self.pipeline:
            self.turns.add(super().on_response_complete)
        else:
            super().on_response_complete()

    def pause_writing(self) -> None:
        """Called by the transport when the client does not read: not for long."""
        super().pause_writing()
        self._unread_clock = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Called by the transport when the client has read."""
        self._stop_unread_clock()
        super().resume_writing()

    def _stop_unread_clock(self) -> None:
        if self._unread_clock is not None:
            self._unread_clock.cancel()
            self._unread_clock = None

    def _start_clock(self) -> None:
        self._header_clock = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_clock(self) -> None:
        if self._header_clock is not None:
            self._header_clock.cancel()
            self._header_clock = None


def names_of_client(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the common names and alternative names of a certificate as Python's TLS shows it."""
    subject = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return (*subject, *(str(value) for _, value in certificate.get("subjectAltName", ())))


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that is being served, and its connections."""

    _door: Door
    _state: ServerState

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it is bound to."""
        return self._door.address

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._state.connections)

    def close(self) -> None:
        """Takes no new connections, closes idle ones, and the others after their answer."""
        self._door.close()
        for connection in list(self._state.connections):
            connection.shutdown()


async def listen(
    app: Any,
    sock: socket.socket,
    *,
    tls: ssl.SSLContext | None = None,
    header_seconds: float = HEADER_SECONDS,
    client_names: frozenset[str] = frozenset(),
    on_stranger: Callable[[tuple[str, ...]], None] = lambda _names: None,
    crowd: Crowd | None = None,
    watchers: Watchers | None = None,
    watch: Watch = Watch.REVIEWS,
) -> Listener:
    """Serves an ASGI application on a bound socket, in the running event loop.

    Args:
        app: the ASGI application.
        sock: bound, not yet listening.
        tls: the context for TLS; without, plain HTTP.
        header_seconds: how long a connection may take for its handshake, and for a request header.
        client_names: names of which a client's certificate has to bear one; empty: any will do.
        on_stranger: told the names of a client that bears none of them, and is cut off.
        crowd: the connections, and how many there may be.
        watchers: who looks for new connections.
        watch: under which name.

    Returns:
        The listener; it serves until it is closed.
    """
    crowd = crowd or Crowd()
    settings = {
        "crowd": crowd,
        "turns": Turns(),
        "header_seconds": header_seconds,
        "client_names": client_names,
        "on_stranger": staticmethod(on_stranger),
    }
    protocol = type("Protocol", (Protocol,), settings)
    config = Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        loop="asyncio",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        workers=1,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    config.load()
    state = ServerState()
    SSLProtocol.max_size = TLS_BUFFER_BYTES

    def welcome(connection: socket.socket) -> Protocol:
        made: Protocol = protocol(config=config, server_state=state, app_state={})
        made.connection = connection
        return made

    async def serve(connection: socket.socket) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: welcome(connection),
            connection,
            ssl=tls,
            ssl_handshake_timeout=header_seconds if tls else None,
            ssl_shutdown_timeout=_SHUTDOWN_SECONDS if tls else None,
        )

    return Listener(Door(sock, crowd, serve, seconds=header_seconds, watchers=watchers, watch=watch), state)
