"""A webhook server for tests: on loopback, over TLS, in a thread or as the real command; and clients that misbehave."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path

from starting import start

from gpupolicy.certificates import TRIAL_NAMES, renew
from gpupolicy.webhook.bridge import Bridge, Limits
from gpupolicy.webhook.protocol import listen
from gpupolicy.webhook.reload import CertificateSource
from gpupolicy.webhook.server import bind

PATIENCE_SECONDS = 60


def echo(environ: dict, start_response: Callable) -> list[bytes]:
    """A WSGI application that answers with what it was asked."""
    body = environ["wsgi.input"].read()
    asked = {key: environ[key] for key in sorted(environ) if isinstance(environ[key], str)}
    answer = json.dumps({"length": len(body), "environ": asked}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def write_pair(folder: Path) -> Path:
    """Makes ca.crt, tls.crt and tls.key for loopback."""
    renew(folder, TRIAL_NAMES, now=datetime.now(UTC))
    return folder


@dataclass(frozen=True)
class Endpoint:
    """A TLS port and the authority that its clients trust."""

    port: int
    authority: Path
    bridge: Bridge | None = None
    reload: Callable[[], None] = lambda: None

    def trust(self) -> ssl.SSLContext:
        """A client's context that verifies the server."""
        return ssl.create_default_context(cafile=str(self.authority))

    def connect(self, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        """A TLS connection on which nothing has been sent."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)
        return (context or self.trust()).wrap_socket(plain, server_hostname="localhost")

    def open(self) -> HTTPSConnection:
        """A connection of a well-behaved client."""
        return HTTPSConnection("localhost", self.port, context=self.trust(), timeout=PATIENCE_SECONDS)

    def post(self, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of one request on a connection of its own."""
        connection = self.open()
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@contextmanager
def served(
    app: Callable, folder: Path, *, limits: Limits | None = None, header_seconds: float = 10
) -> Iterator[Endpoint]:
    """Serves a WSGI application from a thread."""
    write_pair(folder)
    started: list[tuple[Endpoint, asyncio.AbstractEventLoop, asyncio.Event]] = []
    ready = threading.Event()

    async def serve() -> None:
        source = CertificateSource(folder / "tls.crt", folder / "tls.key", lambda *_: None, lambda _: None)
        bridge = Bridge(app, limits=limits or Limits())
        listener = await listen(bridge, bind("127.0.0.1", 0), tls=source.context, header_seconds=header_seconds)
        loop = asyncio.get_running_loop()

        def reload() -> None:
            asyncio.run_coroutine_threadsafe(source.reload(), loop).result(PATIENCE_SECONDS)

        stop = asyncio.Event()
        started.append((Endpoint(listener.address[1], folder / "ca.crt", bridge, reload), loop, stop))
        ready.set()
        await stop.wait()
        listener.close()
        end = time.monotonic() + 2
        while listener.connections and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.05)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(PATIENCE_SECONDS)
    endpoint, loop, stop = started[0]
    try:
        yield endpoint
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def read_answer(connection: ssl.SSLSocket) -> HTTPResponse:
    """Reads one whole answer from a raw connection."""
    answer = HTTPResponse(connection)
    answer.begin()
    answer.body = answer.read()
    return answer


def ends(connection: ssl.SSLSocket) -> bool:
    """Waits for the server; tells whether it closed the connection without a word."""
    try:
        return connection.recv(1) == b""
    except (ConnectionResetError, ssl.SSLEOFError):
        return True


class Command:
    """``gpupolicy serve`` as a process of its own, with the certificate of a folder or one of its own making."""

    def __init__(self, policy: Path, folder: Path | None, *options: str) -> None:
        command = [sys.executable, "-m", "gpupolicy", "serve", str(policy), "--host", "127.0.0.1", "--port", "0"]
        files = ["--cert", str(folder / "tls.crt"), "--key", str(folder / "tls.key")] if folder else ["--self-signed"]
        self.process = start([*command, "--metrics-port", "0", *files, *options], stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._folder = folder
        self.collector = threading.Thread(target=self._collect, daemon=True)
        self.collector.start()

    def _collect(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Waits for a line on standard error."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if found := next(filter(None, (re.search(pattern, line) for line in list(self.lines))), None):
                return found
            time.sleep(0.02)
        raise AssertionError(f"no line like {pattern!r} in {self.lines}")

    @property
    def authority(self) -> Path:
        """What clients have to trust."""
        return self._folder / "ca.crt" if self._folder else Path(self.wait_for("^clients have to trust (.+)$")[1])

    @property
    def endpoint(self) -> Endpoint:
        """The port for reviews, once it is served."""
        return Endpoint(int(self.wait_for(r"serving https://\S+:(\d+) ")[1]), self.authority)

    def probe(self, path: str) -> tuple[int, str]:
        """Status and body of a path on the plain port."""
        port = int(self.wait_for(r"probes and metrics http://\S+:(\d+)")[1])
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Sends a signal."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit status."""
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def commanded(policy: Path, folder: Path | None, *options: str) -> Iterator[Command]:
    """Runs ``gpupolicy serve`` and ends it."""
    command = Command(policy, folder, *options)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()
        command.collector.join(PATIENCE_SECONDS)  # it has read to the end then, and nothing is closed under it
        command.process.stderr.close()
