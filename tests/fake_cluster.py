"""An API server of a few lines that lists what a test gives it, page by page, and fails where the test says so."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered instead of what is there. ``seconds`` lets the client wait, ``drop`` ends the connection."""

    status: int = 200
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0
    drop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Any
    body: bytes


class FakeCluster:
    """``lists`` holds objects by path, ``replies`` what is answered at the n-th request (from 0) or at all others."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.replies: dict[int, Reply] = {}
        self.always: Reply | None = None
        self.asked: list[Asked] = []
        self.address = ""

    def answer(self, asked: Asked) -> Reply:
        """Returns what is answered to a request."""
        reply = self.replies.get(len(self.asked), self.always)
        self.asked.append(asked)
        if reply is not None:
            return reply
        if asked.path not in self.lists:
            return Reply(
                status=404, body=to_status(404, "NotFound", "the server could not find the requested resource")
            )
        if asked.method != "GET":
            return Reply(body={"kind": "Done"})
        return Reply(body=self._page(asked))

    def _page(self, asked: Asked) -> dict[str, Any]:
        found, limit = self.lists[asked.path], int(asked.query["limit"])
        start = int(asked.query.get("continue", "0"))
        rest = len(found) - start - limit
        more = {"continue": str(start + limit), "remainingItemCount": rest} if rest > 0 else {}
        kind = "NodeList" if asked.path.endswith("nodes") else "PodList"
        items = found[start : start + limit]
        return {"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "7", **more}, "items": items}


def to_status(code: int, reason: str, message: str, **metadata: str) -> dict[str, Any]:
    """A Status, in which the API server says what is wrong."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata,
        "code": code,
        "reason": reason,
        "message": message,
    }


def named(name: str, namespace: str | None = None) -> dict[str, Any]:
    """An object as it stands in a list: without apiVersion and kind."""
    inside = {"namespace": namespace} if namespace else {}
    return {"metadata": {"name": name, **inside}}


def kubeconfig(folder: Path, address: str, user: Mapping[str, Any] | None = None) -> str:
    """A kubeconfig for a fake API server, with the context ``test``."""
    file = folder / "kubeconfig"
    config = {
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "users": [{"name": "test", "user": user if user is not None else {"token": "secret"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    file.write_text(json.dumps(config))
    return str(file)


@contextmanager
def fake_cluster() -> Iterator[FakeCluster]:
    """Runs one on loopback."""
    state = FakeCluster()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FakeCluster

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        asked = Asked(method=self.command, path=parts.path, query=query, headers=self.headers, body=body)
        self._send(self.state.answer(asked))

    def do_PATCH(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()

    def _send(self, reply: Reply) -> None:
        if reply.drop:
            self.close_connection = True
            return
        time.sleep(reply.seconds)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": JSON, **reply.headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client has waited long enough
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
