"""Server processes of the tests: started on loopback, logged to a file, and never left behind."""

from __future__ import annotations

import random
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from starting import start

Found = TypeVar("Found")

# Health checks on loopback: no proxy, and self-signed certificates that nobody else could present.
_DIRECT = urllib.request.build_opener(
    urllib.request.ProxyHandler({}),
    urllib.request.HTTPSHandler(context=ssl._create_unverified_context()),
)

# Below the range from which Linux and macOS take the ports of outgoing connections.
_PORTS = range(20000, 32000)


class ServerError(RuntimeError):
    """A server ended or did not become ready; the message carries the end of its log."""


class WaitError(AssertionError):
    """What a test waited for did not come true; an AssertionError, so that a test fails and does not break."""


def wait_for(
    predicate: Callable[[], Found], timeout: float = 30, message: str | Callable[[], str] = "", interval: float = 0.1
) -> Found:
    """Ask again and again until the answer is true.

    Args:
        predicate: what is awaited; anything true ends the wait.
        timeout: seconds after which the wait fails.
        message: what was expected, or a function that tells what was seen, asked only on failure.
        interval: seconds between two questions.

    Returns:
        The first true answer.

    Raises:
        WaitError: none came in time.
    """
    deadline = time.monotonic() + timeout
    while True:
        if answer := predicate():
            return answer
        if time.monotonic() > deadline:
            told = message if isinstance(message, str) else message()
            raise WaitError(f"not within {timeout:g} s: {told or predicate}")
        time.sleep(interval)


def free_port() -> int:
    """A loopback port that nobody listens on now; another may take it first, so starting has to be tried again."""
    for port in random.sample(_PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServerError("no free loopback port")


def started_on_free_port(start: Callable[[], Found], attempts: int = 3) -> Found:
    """Start a server on a port of its choice, again if another program took that port first."""
    for attempt in range(1, attempts + 1):
        try:
            return start()
        except ServerError as error:
            if attempt == attempts or "address already in use" not in str(error):
                raise
    raise AssertionError("unreachable")


def answers_ok(url: str) -> bool:
    """Whether a health endpoint on loopback says that all is well, whatever its certificate."""
    try:
        with _DIRECT.open(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def tail(log: Path, lines: int = 30) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


class ServerProcess:
    """One running server and its log."""

    def __init__(self, name: str, command: Sequence[str | Path], log_folder: Path) -> None:
        """Start it.

        Args:
            name: names the log file, which is appended to if the name was used before.
            command: the program's full path and its arguments.
            log_folder: where the log is written.
        """
        self.name = name
        self.log = log_folder / f"{name}.log"
        with self.log.open("ab") as file:
            # A session of its own: Ctrl-C reaches us alone, and we stop it in order.
            self._process = start(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def check_running(self) -> None:
        """Raise ServerError with the end of the log if it has ended."""
        if not self.is_running:
            raise ServerError(f"{self.name} ended with status {self._process.returncode}:\n{tail(self.log)}")

    def wait_ready(self, is_ready: Callable[[], bool], timeout: float = 60) -> None:
        """Wait until it serves; if it ends before or never does, end it and raise ServerError with its log's end."""

        def ready() -> bool:
            self.check_running()
            return is_ready()

        try:
            wait_for(ready, timeout)
        except WaitError:
            self.kill()
            raise ServerError(f"{self.name} was not ready within {timeout:g} s:\n{tail(self.log)}") from None

    def stop(self, timeout: float = 5) -> None:
        """Ask it to end (SIGTERM), and make it (SIGKILL) if it does not."""
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        self._process.kill()
        self._process.wait()
