"""Clients that misbehave, each a function from an endpoint and a time to go on. They never raise: a refusal is fine."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator

from faults.load import reviews
from serving import Endpoint

BODY_LIMIT = 8 * 1024 * 1024
REVIEW = reviews()[0].read_bytes()
_MANY = 50  # connections of each kind of client at once

Misbehaviour = Callable[[Endpoint, float], None]


def head(length: int | None = None, *more: str, path: str = "/mutate?timeout=10s") -> bytes:
    """The header of a review, with its length or without."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return "\r\n".join([*lines, *([f"Content-Length: {length}"] if length is not None else []), "", ""]).encode()


def request(body: bytes, *more: str) -> bytes:
    """A whole review."""
    return head(len(body), *more) + body


def padded(size: int) -> bytes:
    """A review of a number of bytes."""
    document = json.loads(REVIEW)
    document["request"]["object"]["metadata"]["annotations"] = {"padding": ""}
    bare = json.dumps(document).encode()
    return bare.replace(b'"padding": ""', b'"padding": "' + b"x" * (size - len(bare)) + b'"')


def chunked(body: bytes, size: int = 65536) -> bytes:
    """A review whose body comes in chunks, without its length."""
    chunks = (body[at : at + size] for at in range(0, len(body), size))
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head(None, "Transfer-Encoding: chunked") + coded + b"0\r\n\r\n"


def plain(endpoint: Endpoint) -> socket.socket:
    """A TCP connection without TLS."""
    return socket.create_connection(("127.0.0.1", endpoint.port), timeout=20)


@contextlib.contextmanager
def _crowd(connect: Callable[[], socket.socket], many: int = _MANY) -> Iterator[list[socket.socket]]:
    crowd: list[socket.socket] = []
    try:
        for _ in range(many):
            with contextlib.suppress(OSError):
                crowd.append(connect())
        yield crowd
    finally:
        for each in crowd:
            each.close()


def _drip(endpoint: Endpoint, seconds: float, begin: bytes, drop: bytes) -> None:
    """Sends a beginning on many connections, and then a few bytes at a time; comes back when it is cut off."""
    end, trust = time.monotonic() + seconds, endpoint.trust()
    while time.monotonic() < end:
        with _crowd(lambda: endpoint.connect(trust)) as crowd:
            for each in crowd:
                with contextlib.suppress(OSError):
                    each.sendall(begin)
            left = list(crowd)
            while left and time.monotonic() < end:
                for each in list(left):
                    try:
                        each.sendall(drop)
                    except OSError:
                        left.remove(each)
                time.sleep(0.05)


def header_drop_by_drop(endpoint: Endpoint, seconds: float) -> None:
    """Slowloris: a header that never ends."""
    _drip(endpoint, seconds, b"POST /mutate HTTP/1.1\r\nHost: localhost\r\n", b"X-A: b\r\n")


def body_byte_by_byte(endpoint: Endpoint, seconds: float) -> None:
    _drip(endpoint, seconds, head(len(REVIEW)), b" ")


def half_a_body_three_hundred_times(endpoint: Endpoint, seconds: float) -> None:
    """On more connections than there may be bodies that are not whole."""
    end, trust = time.monotonic() + seconds, endpoint.trust()

    def connect() -> socket.socket:
        connection = endpoint.connect(trust)
        connection.sendall(request(REVIEW)[:-10])
        return connection

    while time.monotonic() < end:
        with _crowd(connect, 300):
            time.sleep(min(5.0, max(0.0, end - time.monotonic())))


def large_bodies_that_stop_short(endpoint: Endpoint, seconds: float) -> None:
    """Together they are longer than all may be."""
    end, trust, sent = time.monotonic() + seconds, endpoint.trust(), request(b" " * BODY_LIMIT)[:-1]

    def connect() -> socket.socket:
        connection = endpoint.connect(trust)
        connection.settimeout(2)
        with contextlib.suppress(OSError):
            connection.sendall(sent)
        return connection

    while time.monotonic() < end:
        with _crowd(connect, 12):
            time.sleep(min(5.0, max(0.0, end - time.monotonic())))


def chunks_byte_by_byte(endpoint: Endpoint, seconds: float) -> None:
    _drip(endpoint, seconds, head(None, "Transfer-Encoding: chunked"), b"1\r\n \r\n")


def empty_lines_after_a_review(endpoint: Endpoint, seconds: float) -> None:
    _drip(endpoint, seconds, request(REVIEW), b"\r\n")


def silence_before_tls(endpoint: Endpoint, seconds: float) -> None:
    with _crowd(lambda: plain(endpoint)):
        time.sleep(seconds)


def silence_after_tls(endpoint: Endpoint, seconds: float) -> None:
    trust = endpoint.trust()
    with _crowd(lambda: endpoint.connect(trust)):
        time.sleep(seconds)


def _again_and_again(endpoint: Endpoint, seconds: float, connect: Callable[[], socket.socket], sent: bytes) -> None:
    """Sends something on new connections and reads what comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), connect() as connection:
            connection.sendall(sent)
            while connection.recv(65536):
                pass
        time.sleep(0.005)


def half_closed(endpoint: Endpoint, seconds: float) -> None:
    """Says that no more will come, in the middle of a body."""
    end, trust = time.monotonic() + seconds, endpoint.trust()
    while time.monotonic() < end:
        with contextlib.suppress(OSError), endpoint.connect(trust) as connection:
            connection.sendall(request(REVIEW)[:-10])
            socket.socket.shutdown(connection, socket.SHUT_WR)
            connection.recv(65536)
        time.sleep(0.005)


def gone_in_the_middle(endpoint: Endpoint, seconds: float) -> None:
    """Resets the connection in the middle of a body."""
    end, trust = time.monotonic() + seconds, endpoint.trust()
    while time.monotonic() < end:
        with contextlib.suppress(OSError), endpoint.connect(trust) as connection:
            connection.sendall(request(REVIEW)[:-10])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        time.sleep(0.005)


def answers_never_read(endpoint: Endpoint, seconds: float) -> None:
    """Asks without end and reads nothing."""
    end, trust = time.monotonic() + seconds, endpoint.trust()

    def connect() -> ssl.SSLSocket:
        connection = endpoint.connect(trust)
        connection.settimeout(0.05)
        return connection

    with _crowd(connect) as crowd:
        left = list(crowd)
        while left and time.monotonic() < end:
            for each in list(left):
                try:
                    each.sendall(request(REVIEW) * 4)
                except OSError:  # full: it is left as it is, and the others go on
                    left.remove(each)
        time.sleep(max(0.0, end - time.monotonic()))


def requests_ahead_of_answers(endpoint: Endpoint, seconds: float) -> None:
    """Asks without end, reads what is answered, and never waits for it."""
    end, trust, requests = time.monotonic() + seconds, endpoint.trust(), request(REVIEW) * 20
    with _crowd(lambda: endpoint.connect(trust)) as crowd:
        left = dict.fromkeys(crowd, requests)
        for each in crowd:
            each.setblocking(False)
        while left and time.monotonic() < end:
            for each, rest in list(left.items()):
                try:
                    left[each] = _push(each, rest) or requests
                    _drain(each)
                except OSError:
                    del left[each]
            time.sleep(0.005)


def _push(connection: socket.socket, data: bytes) -> bytes:
    """Sends what goes at once and returns the rest."""
    with contextlib.suppress(ssl.SSLWantWriteError, ssl.SSLWantReadError):
        while data:
            data = data[connection.send(data) :]
    return data


def _drain(connection: socket.socket) -> None:
    """Reads what is there."""
    with contextlib.suppress(ssl.SSLWantWriteError, ssl.SSLWantReadError):
        while connection.recv(65536):
            pass


def plain_http(endpoint: Endpoint, seconds: float) -> None:
    _again_and_again(endpoint, seconds, lambda: plain(endpoint), request(REVIEW))


def tls_garbage(endpoint: Endpoint, seconds: float) -> None:
    """A TLS record header, and then what is no handshake."""
    _again_and_again(endpoint, seconds, lambda: plain(endpoint), b"\x16\x03\x01\x02\x00" + b"\xff" * 600)


def http_2_preface(endpoint: Endpoint, seconds: float) -> None:
    trust = endpoint.trust()
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    _again_and_again(endpoint, seconds, lambda: endpoint.connect(trust), preface)


def garbage_in_tls(endpoint: Endpoint, seconds: float) -> None:
    trust = endpoint.trust()
    _again_and_again(endpoint, seconds, lambda: endpoint.connect(trust), b"\x00\xff" * 5000)


def bodies_at_the_limit(endpoint: Endpoint, seconds: float) -> None:
    trust, sent = endpoint.trust(), request(padded(BODY_LIMIT), "Connection: close")
    _again_and_again(endpoint, seconds, lambda: endpoint.connect(trust), sent)


def bodies_above_the_limit(endpoint: Endpoint, seconds: float) -> None:
    trust = endpoint.trust()
    _again_and_again(endpoint, seconds, lambda: endpoint.connect(trust), request(b" " * (BODY_LIMIT + 1)))


def zipped_bodies(endpoint: Endpoint, seconds: float) -> None:
    """A small body that would become a large one: it is not unpacked."""
    trust, body = endpoint.trust(), gzip.compress(b" " * BODY_LIMIT)
    sent = request(body, "Content-Encoding: gzip", "Connection: close")
    _again_and_again(endpoint, seconds, lambda: endpoint.connect(trust), sent)


MISBEHAVIOURS: tuple[Misbehaviour, ...] = (
    header_drop_by_drop,
    body_byte_by_byte,
    half_a_body_three_hundred_times,
    large_bodies_that_stop_short,
    chunks_byte_by_byte,
    empty_lines_after_a_review,
    silence_before_tls,
    silence_after_tls,
    half_closed,
    gone_in_the_middle,
    answers_never_read,
    requests_ahead_of_answers,
    plain_http,
    tls_garbage,
    http_2_preface,
    garbage_in_tls,
    bodies_at_the_limit,
    bodies_above_the_limit,
    zipped_bodies,
)
