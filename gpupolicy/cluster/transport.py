"""One request over HTTP, by the official client's own connections. No rule of Kubernetes is known here."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from gpupolicy.cluster.errors import ApiTimeoutError, ConnectionFailedError
from gpupolicy.errors import shown

if TYPE_CHECKING:
    from kubernetes.client import Configuration

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0  # the API server itself gives up after that
_MESSAGE_CHARACTERS = 300
# "HTTPSConnection(host='a', port=1): ", "<urllib3... object at 0x7f>: ", "[Errno 111] ", "[SSL: X] ", " (_ssl.c:1006)"
_NOISE = re.compile(r"<[^<>]*>: |HTTPS?Connection(?:Pool)?\([^()]*\): |\[(?:Errno|SSL)[^\]]*\] | \(_ssl\.c:\d+\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An answer that is still coming: as ``lines``, or, where it is no success, whole as ``refusal``."""

    lines: Iterator[bytes]
    refusal: Answer | None


class Transport(Protocol):
    """Sends requests. ``name`` says which cluster, for messages."""

    name: str

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, content_type: str | None
    ) -> Answer:
        """Returns the answer, whatever its status.

        Raises:
            ConnectionFailedError: there was none.
        """
        ...

    def stream(self, path: str, query: Mapping[str, str], silence_seconds: float) -> AbstractContextManager[Stream]:
        """Gives the answer to a GET, to be read line by line as it comes; entering and reading raise as ``send`` does.

        Args:
            path: what is asked for.
            query: and how.
            silence_seconds: how long nothing may come.
        """
        ...


class ClientTransport:
    """The transport of the official client: its proxies, TLS and credentials, without its classes for objects."""

    def __init__(
        self,
        configuration: Configuration,
        name: str,
        headers: Sequence[tuple[str, str]] = (),
        *,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        from kubernetes.client.rest import RESTClientObject
        from urllib3 import disable_warnings
        from urllib3.exceptions import InsecureRequestWarning

        if not configuration.verify_ssl:  # the kubeconfig says so; a warning for each request helps nobody
            disable_warnings(InsecureRequestWarning)
        self.name = name
        self._configuration, self._headers = configuration, headers
        self._host = str(configuration.host)
        self._answer_seconds = answer_seconds
        self._pool: Any = RESTClientObject(configuration).pool_manager

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, content_type: str | None
    ) -> Answer:
        """Returns the answer, whatever its status. Nothing is sent twice and no redirection followed.

        Raises:
            ConnectionFailedError: there was none.
        """
        with self._failures_told(self._answer_seconds):
            return _to_answer(self._request(method, path, query, self._answer_seconds, body, content_type))

    @contextmanager
    def stream(self, path: str, query: Mapping[str, str], silence_seconds: float) -> Iterator[Stream]:
        """Gives an answer as it comes; the connection ends with the block."""
        with self._failures_told(silence_seconds):
            response = self._request("GET", path, query, silence_seconds, preload_content=False)
            refusal = _to_answer(response) if response.status >= 300 else None
        try:
            yield Stream(lines=self._lines(response, silence_seconds), refusal=refusal)
        finally:
            response.close()

    def _lines(self, response: Any, silence_seconds: float) -> Iterator[bytes]:
        with self._failures_told(silence_seconds):
            yield from response

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        seconds: float,
        body: bytes | None = None,
        content_type: str | None = None,
        *,
        preload_content: bool = True,
    ) -> Any:
        from urllib3 import Timeout

        return self._pool.request(
            method,
            self._host + path + (f"?{urlencode(query)}" if query else ""),
            body=body,
            headers=self._all_headers(content_type),
            timeout=Timeout(connect=CONNECT_SECONDS, read=seconds),
            retries=False,
            redirect=False,
            preload_content=preload_content,
        )

    @contextmanager
    def _failures_told(self, seconds: float) -> Iterator[None]:
        from kubernetes.config import ConfigException
        from urllib3.exceptions import HTTPError

        try:
            yield
        except (HTTPError, OSError, ValueError) as error:
            raise self._failed(error, seconds) from error
        except ConfigException as error:
            raise self._no_credentials(str(error)) from error

    def _all_headers(self, content_type: str | None) -> Mapping[str, str]:
        from urllib3 import HTTPHeaderDict

        headers = HTTPHeaderDict({"Accept": "application/json", "User-Agent": "gpupolicy"})
        for name, value in self._headers:
            headers.add(name, value)  # one of a name may stand several times
        if content_type is not None:
            headers["Content-Type"] = content_type
        with errors_heard() as heard:  # asked for every request: a token may have to be renewed
            settings = self._configuration.auth_settings()
        if heard:
            raise self._no_credentials(" ".join(heard))
        for setting in settings.values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        return headers

    def _no_credentials(self, told: str) -> ConnectionFailedError:
        return ConnectionFailedError(f"no new credentials for {self.name}: {plain(told)}")

    def _failed(self, error: Exception, seconds: float) -> ConnectionFailedError:
        from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError, SSLError

        where = f"{self._host} ({self.name})"
        if isinstance(error, ReadTimeoutError):
            told = f"{where} gave no answer within {seconds:g} s"
            return ApiTimeoutError(told, was_sent=True, is_transient=True)
        if isinstance(error, NewConnectionError | ConnectTimeoutError):
            return ConnectionFailedError(f"{where} cannot be reached: {plain(error)}", is_transient=True)
        if isinstance(error, SSLError):
            return ConnectionFailedError(f"no trusted connection to {where}: {plain(error)}")
        told = f"the connection to {where} broke: {plain(error)}"
        return ConnectionFailedError(told, was_sent=True, is_transient=True)


def _to_answer(response: Any) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(status=response.status, headers=headers, body=response.data)


@contextmanager
def errors_heard() -> Iterator[list[str]]:
    """Keeps what the client logs as an error from standard error, and gives it instead.

    What other threads log meanwhile, in a server, is none of it.
    """
    heard: list[str] = []
    ours = threading.get_ident()

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == ours:
                heard.append(record.getMessage())

    root, ear = logging.getLogger(), Ear(logging.ERROR)
    root.addHandler(ear)
    try:
        yield heard
    finally:
        root.removeHandler(ear)


def plain(error: Exception | str) -> str:
    """Returns what an error of the client says, in one line and without its objects and numbers."""
    text = _NOISE.sub("", " ".join(str(error).split())) or type(error).__name__
    return shown(text[:1].lower() + text[1:], _MESSAGE_CHARACTERS)
