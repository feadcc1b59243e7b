"""From ASGI to WSGI: reads the whole body on the event loop, within limits, then calls the application inline.

Inline is right for work that only computes. An application that waits for something (a call to the API server) would
stop the whole process; it needs a bounded pool of threads here first.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from .answer import to_status
from .review import BODY_LIMIT

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]

_CLOSE: Header = (b"connection", b"close")
_SECOND_LOOK_SECONDS = 0.1
_RETRY_AFTER: Header = (b"retry-after", b"1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What clients may cost: bytes of a body, and of all that are not whole; seconds until one is; how many are not.

    Of bodies that are too many or too long together, the one that has been waited for longest is given up: those of the
    API server come at once. Were the newest refused, a few clients that stop short could keep all others out.
    """

    body_bytes: int = BODY_LIMIT
    all_bytes: int = 8 * BODY_LIMIT
    body_seconds: float = 5.0
    waiting: int = 256


class _FailureError(Exception):
    def __init__(self, code: HTTPStatus, message: str, *headers: Header) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers


class _DisconnectError(Exception):
    """The client has gone: nobody is there to be answered."""


class _Body:
    """What has come of a body, and the clock that ends its reading."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.length = 0
        self.clock: asyncio.Timeout | None = None
        self.is_given_up = False

    def add(self, chunk: bytes) -> int:
        """Returns the length of the chunk."""
        self.chunks.append(chunk)
        self.length += len(chunk)
        return len(chunk)

    def give_up(self) -> None:
        """Ends its reading."""
        self.is_given_up = True
        self.chunks.clear()
        if self.clock and not self.clock.expired():
            self.clock.reschedule(0.0)


class Bridge:
    """An ASGI application around a WSGI one.

    ``running`` counts requests under way, from their headers to their answer. While ``draining``, each answer asks
    the client to close its connection. ``on_failure`` is told each status of 400 and above, ``on_answer`` the path of
    each request and how long it took.
    """

    def __init__(
        self,
        app: WSGIApplication,
        *,
        limits: Limits = Limits(),
        on_failure: Callable[[int], None] = lambda _code: None,
        on_answer: Callable[[str, float], None] = lambda _path, _seconds: None,
    ) -> None:
        self._app = app
        self._limits = limits
        self._on_answer = on_answer
        self._on_failure = on_failure
        self._held = 0
        self._waiting: dict[_Body, None] = {}
        self.running = 0
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        self.running += 1
        began = perf_counter()
        try:
            code, headers, body = await self._answer(scope, receive)
        except _DisconnectError:
            return
        except _FailureError as failure:
            code, body = failure.code, to_status(failure.code, str(failure))
            length = str(len(body)).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", length), *failure.headers]
        finally:
            self.running -= 1
        self._on_answer(scope["path"], perf_counter() - began)
        if code >= HTTPStatus.BAD_REQUEST:
            self._on_failure(code)
        if self.draining and _CLOSE not in headers:
            headers.append(_CLOSE)
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, list[Header], bytes]:
        if _announced_length(scope) > self._limits.body_bytes:
            raise self._too_large()
        body = _Body()
        self._waiting[body] = None
        try:
            self._make_room()
            await self._read_in_time(body, scope, receive)
            whole = b"".join(body.chunks)
        finally:
            self._forget(body)
        return self._call(scope, whole)

    async def _read_in_time(self, body: _Body, scope: Scope, receive: Receive) -> None:
        """Looks once more when the time is over: a process that was stopped meanwhile has not seen what came."""
        for seconds in (self._limits.body_seconds, _SECOND_LOOK_SECONDS):
            try:
                async with asyncio.timeout(seconds) as body.clock:
                    while not body.is_given_up:
                        if await self._read_more(body, receive):
                            return
            except TimeoutError:
                continue
        if body.is_given_up:
            told = "too many bodies were not whole, and this one was waited for longest"
            raise _FailureError(HTTPStatus.SERVICE_UNAVAILABLE, told, _CLOSE, *_retry(scope))
        told = f"the body was not whole after {self._limits.body_seconds:g} s"
        raise _FailureError(HTTPStatus.REQUEST_TIMEOUT, told, _CLOSE)

    async def _read_more(self, body: _Body, receive: Receive) -> bool:
        """Reads what has come, and returns whether the body is whole; refuses one that is too long."""
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _DisconnectError
        if body.is_given_up:
            return False
        self._held += body.add(message.get("body", b""))
        if body.length > self._limits.body_bytes:
            raise self._too_large()
        self._make_room()
        return not message.get("more_body", False) and not body.is_given_up

    def _make_room(self) -> None:
        """Gives bodies up, the one that has been waited for longest first, until the others are within the limits."""
        while len(self._waiting) > self._limits.waiting or self._held > self._limits.all_bytes:
            first = next(iter(self._waiting))
            self._forget(first)
            first.give_up()

    def _forget(self, body: _Body) -> None:
        if body in self._waiting:
            del self._waiting[body]
            self._held -= body.length

    def _too_large(self) -> _FailureError:
        message = f"the body is longer than {self._limits.body_bytes} bytes"
        return _FailureError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, _CLOSE)

    def _call(self, scope: Scope, body: bytes) -> tuple[int, list[Header], bytes]:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], _error: object = None) -> Callable[..., None]:
            started.append((status, headers))
            return _refuse_write

        chunks: Iterable[bytes] = self._app(_to_environ(scope, body), start_response)
        try:
            content = b"".join(chunks)
        finally:
            if close := getattr(chunks, "close", None):
                close()
        status, given = started[-1]
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in given]
        if status.startswith("503"):
            headers += _retry(scope)
        return int(status[:3]), headers, content


def _refuse_write(_data: bytes) -> None:
    raise NotImplementedError("the write callable of WSGI is not offered: return the body instead")


def _announced_length(scope: Scope) -> int:
    """The parser has checked the number; -1 where the body is chunked or there is none."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value)
    return -1


def _retry(scope: Scope) -> tuple[Header, ...]:
    """Asks for another try, one second later, only where the caller's own time-out leaves room for it.

    The API server says its time-out in the URL (``?timeout=3s``). With Retry-After it tries again within that time;
    without, the review fails at once. With one second in all, a retry could only turn a quick failure into a slow one.
    """
    given = parse_qs(scope["query_string"].decode("latin-1")).get("timeout", [""])[0]
    seconds = given.removesuffix("s")
    return (_RETRY_AFTER,) if seconds.isdecimal() and int(seconds[:9]) > 1 else ()


def _to_environ(scope: Scope, body: bytes) -> dict[str, Any]:
    """Source: PEP 3333."""
    server = scope.get("server") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        _add_header(environ, name.decode("latin-1"), value.decode("latin-1"))
    return environ


def _add_header(environ: dict[str, Any], name: str, value: str) -> None:
    """The body is whole: how it was sent (length, chunks) is no longer true. Names with _ could pose as others."""
    if name in ("content-length", "transfer-encoding") or "_" in name:
        return
    key = "CONTENT_TYPE" if name == "content-type" else "HTTP_" + name.upper().replace("-", "_")
    environ[key] = f"{environ[key]},{value}" if key in environ else value
