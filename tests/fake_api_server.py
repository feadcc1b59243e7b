"""An API server of a few lines that knows namespaces and nothing else, over HTTP, as ``gpupolicy serve`` asks it."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PATIENCE_SECONDS = 20


class FakeApiServer:
    """Namespaces that a test changes. ``asked`` holds the query of each request, ``tokens`` who asked,
    ``impersonated`` as whom.

    ``refuse`` is (code, message) for every further request, None to answer again; ``oldest`` is the version before
    which a watch has expired; ``end_watches`` closes those that are open.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.tokens: list[str] = []
        self.impersonated: list[str] = []
        self.refuse: tuple[int, str] | None = None
        self.oldest = 0
        self._labels: dict[str, Mapping[str, str]] = {}
        self._events: list[dict] = []
        self.generation = 0
        self._changed = threading.Condition()
        self.address = ""

    @property
    def version(self) -> int:
        """The version of the last change."""
        return len(self._events)

    def put(self, name: str, **labels: str) -> None:
        """Makes a namespace, or gives it other labels."""
        self._tell("MODIFIED" if name in self._labels else "ADDED", name, labels)
        self._labels[name] = labels

    def delete(self, name: str) -> None:
        """Ends a namespace."""
        self._tell("DELETED", name, self._labels.pop(name))

    def bookmark(self) -> None:
        """Tells watches that they have come so far."""
        self._tell("BOOKMARK", "", {})

    def fail(self, code: int, message: str) -> None:
        """Tells watches an error, as the API server does in the middle of one."""
        self._add({"type": "ERROR", "object": to_status(code, message)})

    def end_watches(self) -> None:
        """Closes the watches that are open."""
        with self._changed:
            self.generation += 1
            self._changed.notify_all()

    def to_list(self, query: Mapping[str, str]) -> dict:
        """A page of the list; what a page holds is said by ``limit``."""
        start, limit = int(query.get("continue", "0")), int(query["limit"])
        names = sorted(self._labels)
        more = {"continue": str(start + limit)} if start + limit < len(names) else {}
        items = [to_namespace(name, self._labels[name], self.version) for name in names[start : start + limit]]
        head = {"kind": "NamespaceList", "apiVersion": "v1"}
        return {**head, "metadata": {"resourceVersion": str(self.version), **more}, "items": items}

    def follow(self, version: int, generation: int) -> Iterator[dict]:
        """What comes after a version, until ``end_watches`` begins another generation of watches."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda seen=version: self.generation != generation or self.version > seen)
                if self.generation != generation:
                    return
                event = self._events[version]
            version += 1
            yield event

    def _tell(self, kind: str, name: str, labels: Mapping[str, str]) -> None:
        self._add({"type": kind, "object": to_namespace(name, labels, self.version + 1)})

    def _add(self, event: dict) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()


def to_namespace(name: str, labels: Mapping[str, str], version: int) -> dict:
    """A namespace as the API server writes it: without labels there is no field for them."""
    told = {"labels": dict(labels)} if labels else {}
    return {"kind": "Namespace", "metadata": {"name": name, "resourceVersion": str(version), **told}}


def to_status(code: int, message: str) -> dict:
    """A Status, in which the API server says what is wrong."""
    return {"kind": "Status", "code": code, "message": message, "reason": "Test"}


def kubeconfig(folder: Path, address: str) -> Path:
    """A kubeconfig for a fake API server."""
    file = folder / "kubeconfig"
    config = {
        "clusters": [{"name": "test", "cluster": {"server": address}}],
        "users": [{"name": "test", "user": {"token": "secret"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    file.write_text(json.dumps(config))
    return file


@contextmanager
def fake_api_server(tls: Path | None = None) -> Iterator[FakeApiServer]:
    """Runs one on loopback; with a folder that holds tls.crt and tls.key, over TLS."""
    state = FakeApiServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    server.daemon_threads = True
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "tls.crt", tls / "tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    state.address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        state.end_watches()
        server.shutdown()
        thread.join(PATIENCE_SECONDS)
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FakeApiServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.state.asked.append(query)
        self.state.tokens.append(self.headers.get("Authorization", ""))
        self.state.impersonated.append(self.headers.get("Impersonate-User", ""))
        assert parts.path == "/api/v1/namespaces"
        if self.state.refuse:
            self._answer(self.state.refuse[0], to_status(*self.state.refuse))
        elif query.get("watch") != "True" and query.get("watch") != "true":
            self._answer(200, self.state.to_list(query))
        elif int(query["resourceVersion"]) < self.state.oldest:
            self._answer(410, to_status(410, "too old resource version"))
        else:
            self._stream(int(query["resourceVersion"]))

    def _answer(self, code: int, document: dict) -> None:
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, version: int) -> None:
        generation = self.state.generation
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in self.state.follow(version, generation):
            self._write_chunk(json.dumps(event).encode() + b"\n")
        self._write_chunk(b"")

    def _write_chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        except OSError:  # the one that watched has gone
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
