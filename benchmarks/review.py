"""CPU of one review over TLS against a Flask view, on the same server and bodies, that parses and allows."""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rounds import HEADER, compare

from gpupolicy.certificates import TRIAL_NAMES, renew

ROOT = Path(__file__).resolve().parents[1]
CONNECTIONS = 8
ROWS = (
    ("/mutate", "/allow", "<= 1.3"),
    ("/mutate", "/allow-bare", ""),
    ("/validate", "/allow", "<= 1.3"),
    ("/mutate-by-flask", "/allow", "why there is a shortcut"),
)


class Connection:
    """A kept-alive TLS connection, as the API server holds them."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        plain = socket.create_connection(("127.0.0.1", port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = context.wrap_socket(plain, server_hostname="localhost")

    def ask(self, request: bytes) -> bytes:
        """Sends a whole request and returns the body of the answer."""
        self._socket.sendall(request)
        answer = self._socket.recv(65536)
        while b"\r\n\r\n" not in answer:
            answer += self._receive()
        header, _, body = answer.partition(b"\r\n\r\n")
        if not header.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(header.decode())
        length = int(header.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += self._receive()
        return body

    def _receive(self) -> bytes:
        received = self._socket.recv(65536)
        if not received:
            raise RuntimeError("the server closed the connection")
        return received


def post(path: str, body: bytes) -> bytes:
    """Returns a request with the headers of the API server."""
    return (
        f"POST {path}?timeout=3s HTTP/1.1\r\nHost: webhook.gpu-system.svc:443\r\n"
        f"User-Agent: kube-apiserver-admission\r\nContent-Length: {len(body)}\r\nAccept: application/json, */*\r\n"
        "Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n"
    ).encode() + body


def read_bodies() -> list[bytes]:
    """Returns the captured reviews of pods at CREATE, without the indentation they were stored with."""
    files = sorted((ROOT / "tests/data/reviews").glob("*-create-pods-*.json"))
    return [
        json.dumps(json.loads(f.read_bytes()), separators=(",", ":")).encode() for f in files if "binding" not in f.name
    ]


def ask_many(connections: list[Connection], path: str, bodies: list[bytes], requests: int) -> float:
    """Returns the server's CPU microseconds for each of many requests on all connections at once."""
    posts = [post(path, body) for body in bodies]

    def ask_all(connection: Connection) -> None:
        for index in range(requests // len(connections)):
            connection.ask(posts[index % len(posts)])

    cpu = b"GET /cpu HTTP/1.1\r\nHost: webhook\r\n\r\n"
    before = float(connections[0].ask(cpu))
    with ThreadPoolExecutor(len(connections)) as pool:
        list(pool.map(ask_all, connections))
    return (float(connections[0].ask(cpu)) - before) / requests * 1e6


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, default=ROOT / "policies/classic.yaml")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=2000)
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        pki = Path(folder)
        renew(pki, TRIAL_NAMES, now=datetime.now(UTC))
        command = [sys.executable, str(ROOT / "benchmarks/review_server.py"), str(args.policy)]
        server = subprocess.Popen([*command, str(pki / "tls.crt"), str(pki / "tls.key")], stdout=subprocess.PIPE)
        try:
            port = int(server.stdout.readline())
            context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
            connections = [Connection(port, context) for _ in range(CONNECTIONS)]
            bodies = read_bodies()
            print(HEADER)
            for path, other, goal in ROWS:
                pair = compare(
                    lambda path=path: ask_many(connections, path, bodies, args.requests),
                    lambda other=other: ask_many(connections, other, bodies, args.requests),
                    rounds=args.rounds,
                )
                print(pair.row(f"CPU a review, {path} / {other}", "us", goal))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
