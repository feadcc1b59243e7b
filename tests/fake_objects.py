"""An API server that answers by a table: as the webhook asks it for its Secret and its registrations."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fake_api_server import to_status


class Server:
    """Answers by a table and remembers what was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, object]] = {}
        self.asked: list[tuple[str, str, str, object]] = []

    def answer(self, method: str, path: str, content_type: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append((method, path.split("?")[0], content_type, json.loads(body) if body else None))
        code, document = self.answers.get((method, path.split("?")[0]), (404, to_status(404, "not found")))
        return code, document if isinstance(document, bytes) else json.dumps(document).encode()


@contextmanager
def table_server() -> Iterator[tuple[Server, str]]:
    """Runs one on loopback; gives it and its address."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, answer = state.answer(self.command, self.path, self.headers.get("Content-Type") or "", body)
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def __getattr__(self, name: str) -> object:
            """Every method of HTTP is answered alike."""
            if name.startswith("do_"):
                return self._serve
            raise AttributeError(name)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield state, f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()
    http.server_close()
