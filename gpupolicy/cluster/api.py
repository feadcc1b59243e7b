"""The API server, asked in JSON: plain paths in, dicts out, every refusal an ApiError that says what to do about it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from gpupolicy.cluster.errors import ApiError, ApiTimeoutError, ConnectionFailedError, GoneError
from gpupolicy.cluster.refusals import to_error
from gpupolicy.cluster.rights import find_right
from gpupolicy.cluster.transport import Answer, Transport
from gpupolicy.errors import ClusterError
from gpupolicy.node import JSONMap

PAGE = 500  # what kubectl asks for, too
MOST_RESTARTS = 3
PAUSES_SECONDS = (0.5, 1.0, 2.0, 4.0)
LONGEST_PAUSE_SECONDS = 60.0
_MOST_TIMEOUTS = 2

_READ_AGAIN = frozenset({429, 500, 502, 503, 504})
_CHANGE_AGAIN = frozenset({429, 503})  # the API server has done nothing yet
_NOTHING: Mapping[str, str] = {}

OnPage = Callable[[int, int | None], None]
_NamedItems = list[tuple[tuple[str, str], JSONMap]]


class PatchKind(StrEnum):
    """How a patch is meant."""

    APPLY = "application/apply-patch+yaml"
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class Api:
    """Requests to one cluster.

    Each method raises an ApiError where the API server refuses and a ConnectionFailedError where it does not answer
    (see ``gpupolicy.cluster.errors``). Reading is tried up to five times, as long as the server says that it is busy
    or the connection breaks after it had worked; a Retry-After is kept to.

    ``answered_at`` is the last answer's time by the clock of the API server; None where it does not tell.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        page: int = PAGE,
        sleep: Callable[[float], None] = time.sleep,
        pauses: Sequence[float] = PAUSES_SECONDS,
    ) -> None:
        """Asks nothing yet.

        Args:
            transport: how requests are sent.
            page: how many objects a list brings at a time.
            sleep: waits so many seconds.
            pauses: seconds before each further attempt; empty: the caller tries again.
        """
        self.name = transport.name
        self.transport, self._page, self._sleep, self._pauses = transport, page, sleep, pauses
        self._has_answered = False
        self.answered_at: datetime | None = None

    def get(self, path: str, query: Mapping[str, str] = _NOTHING) -> dict[str, object]:
        """Reads an object: ``api.get("/api/v1/nodes/gpu-001")``."""
        return self._ask("GET", path, query, may_retry=self._may_read_again)

    def list(
        self, path: str, query: Mapping[str, str] = _NOTHING, *, on_page: OnPage | None = None
    ) -> Iterator[JSONMap]:
        """Yields the items of a list page by page, each once, with apiVersion and kind.

        A list that takes so long that its version expires (410) goes on with the objects as they are then.

        Args:
            path: such as ``/api/v1/pods``.
            query: labelSelector and the like.
            on_page: is told how many objects have come and how many there are, where the server tells.

        Source: kubernetes.io/docs/reference/using-api/api-concepts, "Retrieving large results sets in chunks".
        """
        seen: set[tuple[str, str]] = set()
        following, restarts = "", 0
        while True:
            try:
                page = self.get(path, {**query, "limit": str(self._page), **_continue(following)})
            except GoneError as error:
                if restarts == MOST_RESTARTS:
                    raise
                restarts, following = restarts + 1, _find_token(error.answer)
                continue
            for name, item in self._named_items(page, path):
                if name not in seen:
                    seen.add(name)
                    yield item
            if on_page is not None:
                on_page(len(seen), _find_total(page, len(seen)))
            following = _find_token(page)
            if not following:
                return

    @contextmanager
    def watch(self, path: str, version: str, *, seconds: int, silence_seconds: float) -> Iterator[Iterator[JSONMap]]:
        """Opens a watch with bookmarks, once, and gives its events as they come. Refusals among them are raised, too.

        Args:
            path: such as ``/api/v1/namespaces``.
            version: what comes after it is told; where it has expired a GoneError is raised.
            seconds: after which the server ends the watch.
            silence_seconds: after which, without a word, the connection is taken for dead.

        Source: kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes".
        """
        asked = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        with self.transport.stream(path, {**asked, "resourceVersion": version}, silence_seconds) as stream:
            if stream.refusal is not None:
                raise to_error(stream.refusal, find_right("WATCH", path), self.name)
            yield (self._read_event(line, path) for line in stream.lines)

    def _read_event(self, line: bytes, path: str) -> JSONMap:
        event = self._parsed(line, path)
        told = event.get("object")
        if not isinstance(told, dict):
            raise self.no_api_server(path)
        if event.get("type") == "ERROR":
            code = told.get("code")
            answer = Answer(status=code if isinstance(code, int) else 500, headers={}, body=json.dumps(told).encode())
            raise to_error(answer, None, self.name)
        return event

    def patch(
        self, path: str, body: object, kind: PatchKind = PatchKind.MERGE, query: Mapping[str, str] = _NOTHING
    ) -> dict[str, object]:
        """Changes an object. Sent again only where the API server has not taken it.

        Args:
            path: of the object.
            body: the patch, or the object to apply.
            kind: how it is meant.
            query: fieldManager, force, dryRun.
        """
        return self._ask("PATCH", path, query, body, kind.value, may_retry=_may_change_again)

    def post(self, path: str, body: object, query: Mapping[str, str] = _NOTHING) -> dict[str, object]:
        """Creates an object, or an Eviction at ``/api/v1/namespaces/NS/pods/NAME/eviction``. Never sent twice."""
        return self._ask("POST", path, query, body, "application/json", may_retry=_never)

    def put(self, path: str, body: object, query: Mapping[str, str] = _NOTHING) -> dict[str, object]:
        """Replaces an object, if it still is of the version that the body names. Never sent twice."""
        return self._ask("PUT", path, query, body, "application/json", may_retry=_never)

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: object = None,
        content_type: str | None = None,
        *,
        may_retry: Callable[[ClusterError, int], bool],
    ) -> dict[str, object]:
        data = None if body is None else json.dumps(body).encode()
        attempt = 0
        while True:
            try:
                return self._read(method, path, self.transport.send(method, path, query, data, content_type))
            except ClusterError as error:
                pause = self._pause_after(error, attempt)
                if pause is None or not may_retry(error, attempt):
                    raise
            self._sleep(pause)
            attempt += 1

    def _read(self, method: str, path: str, answer: Answer) -> dict[str, object]:
        self._has_answered = True
        self.answered_at = _find_date(answer)
        if answer.status >= 300:
            raise to_error(answer, find_right(method, path), self.name)
        return self._parsed(answer.body or b"{}", path)

    def _parsed(self, text: bytes, path: str) -> dict[str, object]:
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.no_api_server(path)
        return found

    def _pause_after(self, error: ClusterError, attempt: int) -> float | None:
        """Returns how long to wait before the next attempt; None where there is none."""
        if attempt >= len(self._pauses):
            return None
        pause = getattr(error, "retry_after", None) or self._pauses[attempt]
        return pause if pause <= LONGEST_PAUSE_SECONDS else None

    def _may_read_again(self, error: ClusterError, attempt: int) -> bool:
        if isinstance(error, ApiError):
            return error.status in _READ_AGAIN
        if not self._has_answered or (isinstance(error, ApiTimeoutError) and attempt >= _MOST_TIMEOUTS):
            return False
        return isinstance(error, ConnectionFailedError) and error.is_transient

    def _named_items(self, page: JSONMap, path: str) -> _NamedItems:
        """Returns the items of a page with their names; in a list they come without apiVersion and kind."""
        try:
            head = {"apiVersion": page["apiVersion"], "kind": str(page["kind"]).removesuffix("List")}
            found: Any = page["items"] or []
            return [((i["metadata"].get("namespace", ""), i["metadata"]["name"]), {**head, **i}) for i in found]
        except (LookupError, TypeError, AttributeError) as error:
            raise self.no_api_server(path) from error

    def no_api_server(self, path: str) -> ConnectionFailedError:
        """Returns the error for an answer to ``path`` that is none of Kubernetes."""
        return ConnectionFailedError(
            f"what answers for {self.name} is no API server: its {path} is no JSON of Kubernetes"
        )


def _find_date(answer: Answer) -> datetime | None:
    with suppress(ValueError):
        return parsedate_to_datetime(answer.headers.get("date", "")).astimezone(UTC)
    return None


def _never(error: ClusterError, attempt: int) -> bool:
    return False


def _may_change_again(error: ClusterError, attempt: int) -> bool:
    return isinstance(error, ApiError) and error.status in _CHANGE_AGAIN


def _continue(token: str) -> dict[str, str]:
    return {"continue": token} if token else {}


def _metadata(answer: JSONMap) -> Mapping[str, object]:
    metadata = answer.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _find_token(answer: JSONMap) -> str:
    """Returns the token for the next page; a Status that says 410 has one for the rest as it is now."""
    token = _metadata(answer).get("continue")
    return token if isinstance(token, str) else ""


def _find_total(page: JSONMap, done: int) -> int | None:
    remaining = _metadata(page).get("remainingItemCount")
    if isinstance(remaining, int):
        return done + remaining
    return None if _find_token(page) else done
