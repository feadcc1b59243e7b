"""Clients that misbehave: what they are told, and that the others are served as if nothing were."""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

import pytest
from faults.clients import (
    BODY_LIMIT,
    MISBEHAVIOURS,
    REVIEW,
    Misbehaviour,
    chunked,
    head,
    padded,
    plain,
    request,
    requests_ahead_of_answers,
)
from faults.load import PACE, Report, loading
from faults.replicas import Installation, Replica
from faults.table import Measured
from serving import Endpoint, ends, read_answer

MEMORY_LIMIT = 256 * 1024 * 1024  # of the container that compile writes
# Four clients that leave the machine some time: at the most that there can be, all that bad clients take is taken from
# them.
PACED: Mapping[str, Any] = {"workers": 4, "rate": 400, **PACE}


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    with Installation(tmp_path_factory.mktemp("clients")).replica() as replica:
        yield replica


@dataclass
class Met:
    """What well-behaved clients met, and the most memory that the server held meanwhile."""

    report: Report | None = None
    peak: int = 0

    def check(self) -> None:
        """No review failed, and the container would still be there."""
        assert self.report
        assert self.report.failures == {}
        assert self.report.reviews > 0
        assert self.peak < MEMORY_LIMIT


@contextlib.contextmanager
def beside(
    replica: Replica, name: str, seconds: float, measured: Measured, pace: Mapping[str, Any] = PACED
) -> Iterator[Met]:
    """Well-behaved clients alone, and then while the block misbehaves, which takes its CPU from this process."""
    met = Met()
    with loading(replica.port, replica.installation.authority, **pace) as load:
        time.sleep(seconds / 4)
        replica.forget_peak()
        alone = load.finish()
    with loading(replica.port, replica.installation.authority, **pace) as load:
        began, used = time.monotonic(), time.process_time()
        yield met
        met.report = load.finish()
    cpu = (time.process_time() - used) / (time.monotonic() - began)
    met.peak = replica.peak()
    measured.fault(name, met.report, replica, before=alone, cpu=cpu)


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS, ids=lambda each: each.__name__)
def test_a_client_that_misbehaves_costs_no_other_a_review(
    misbehaviour: Misbehaviour, replica: Replica, seconds: float, measured: Measured
) -> None:
    with beside(replica, misbehaviour.__name__.replace("_", " "), seconds, measured) as met:
        misbehaviour(replica.endpoint, seconds)

    met.check()


@pytest.mark.parametrize(
    ("pace", "name"),
    [
        pytest.param(PACED, "all of them at once", id="paced"),
        pytest.param({"workers": 4, "rate": 0}, "all of them, beside as many reviews as there can be", id="unpaced"),
    ],
)
def test_all_of_them_at_once_cost_no_other_a_review(
    pace: Mapping[str, Any], name: str, installation: Installation, seconds: float, measured: Measured
) -> None:
    with installation.replica() as replica, beside(replica, name, seconds, measured, pace) as met:
        together(replica, seconds, MISBEHAVIOURS)

    met.check()


def together(replica: Replica, seconds: float, misbehaviours: Iterable[Misbehaviour]) -> None:
    threads = [threading.Thread(target=each, args=(replica.endpoint, seconds)) for each in misbehaviours]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def status_of(endpoint: Endpoint, sent: bytes) -> int:
    """The HTTP status of what is sent; 0 where the connection is closed without a word."""
    with endpoint.connect() as connection:
        with contextlib.suppress(OSError):  # refused before it was all sent
            connection.sendall(sent)
        try:
            return int(read_answer(connection).status)
        except (HTTPException, OSError):
            return 0


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(lambda: request(padded(BODY_LIMIT)), 200, id="at-the-limit"),
        pytest.param(lambda: head(BODY_LIMIT + 1), 413, id="above-it-announced"),
        pytest.param(lambda: chunked(padded(BODY_LIMIT)), 200, id="at-the-limit-in-chunks"),
        pytest.param(lambda: chunked(padded(BODY_LIMIT + 1)), 413, id="above-it-in-chunks"),
        pytest.param(lambda: request(gzip.compress(REVIEW), "Content-Encoding: gzip"), 400, id="gzip"),
        pytest.param(lambda: request(REVIEW).replace(b"application/json", b"text/plain"), 200, id="text-plain"),
        pytest.param(lambda: request(b"a=b").replace(b"json", b"x-www-form-urlencoded"), 400, id="a-form"),
        pytest.param(lambda: request(b""), 400, id="empty"),
        pytest.param(lambda: request(b"[" * 100_000), 400, id="deep"),
        pytest.param(lambda: request(REVIEW, "Content-Length: 3"), 400, id="two-lengths"),
        pytest.param(lambda: request(REVIEW, "Transfer-Encoding: chunked"), 400, id="length-and-chunks"),
        pytest.param(lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="http-2"),
        pytest.param(lambda: b"GET /mutate HTTP/1.1\r\nHost: x\r\n\r\n", 405, id="get"),
        pytest.param(lambda: b"CONNECT other:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="connect"),
        pytest.param(lambda: head(2, path="/mutate/%ff?timeout=" + "9" * 5000 + "s") + b"{}", 404, id="odd-address"),
        pytest.param(lambda: head(2, path="http://[x/") + b"{}", 400, id="no-address"),
        pytest.param(lambda: request(REVIEW, "Connection: Upgrade", "Upgrade: websocket"), 400, id="websocket"),
        pytest.param(lambda: request(REVIEW, "Connection: Upgrade", "Upgrade: h2c"), 400, id="h2c"),
        pytest.param(lambda: request(REVIEW, "X: " + "y" * 1_000_000), 0, id="long-header"),
    ],
)
def test_an_odd_request_is_answered_or_closed_and_the_next_client_is_served(
    sent: Callable[[], bytes], status: int, replica: Replica
) -> None:
    answered = status_of(replica.endpoint, sent())

    assert answered == status
    assert status_of(replica.endpoint, request(REVIEW)) == 200


def test_plain_http_on_the_tls_port_is_closed(replica: Replica) -> None:
    with plain(replica.endpoint) as connection:
        connection.sendall(request(REVIEW))
        closed = ends(connection)

    assert closed


@pytest.fixture
def wanted(is_long: bool) -> int:
    """How many connections are tried: both ends live on this machine, so the limit of one process counts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(10_000 if is_long else 2_000, (hard if hard != resource.RLIM_INFINITY else 10**6) - 500)


def hold(endpoint: Endpoint, count: int, connect: Callable[[], socket.socket], held: list[socket.socket]) -> None:
    for _ in range(count):
        with contextlib.suppress(OSError):
            held.append(connect())


@pytest.mark.parametrize("over_tls", [False, True], ids=["tcp", "tls"])
def test_thousands_of_silent_connections_cost_no_other_a_review_and_stay_within_the_memory_limit(
    over_tls: bool, wanted: int, installation: Installation, seconds: float, measured: Measured
) -> None:
    count = wanted // 4 if over_tls else wanted  # a handshake costs both ends a millisecond
    name = f"{count:,} silent {'TLS' if over_tls else 'TCP'} connections"
    held: list[socket.socket] = []
    with installation.replica() as replica, beside(replica, name, seconds, measured) as met:
        trust = replica.endpoint.trust()
        hold(
            replica.endpoint,
            count,
            (lambda: replica.endpoint.connect(trust)) if over_tls else (lambda: plain(replica.endpoint)),
            held,
        )
        time.sleep(min(seconds, 5))
    for each in held:
        each.close()

    assert len(held) == count
    met.check()


def test_large_bodies_that_stop_short_stay_within_the_memory_limit(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    """Each holds nearly as much as a body may have; together they are more than the container may have."""
    count, sent = 64, request(b" " * BODY_LIMIT)[:-1]
    held: list[socket.socket] = []
    name = f"{count} bodies of 8 MiB that stop short"
    with installation.replica() as replica, beside(replica, name, seconds, measured) as met:
        trust = replica.endpoint.trust()

        def push() -> None:
            with contextlib.suppress(OSError):
                connection = replica.endpoint.connect(trust)
                held.append(connection)
                connection.sendall(sent)

        threads = [threading.Thread(target=push) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for each in held:
        each.close()

    met.check()


@pytest.mark.parametrize("item", ["[]", "{}", '{"a":0}', '"ab"', "1.5", "[" * 500 + "]" * 500], ids=range(6))
def test_a_body_of_many_small_values_stays_within_the_memory_limit(item: str, installation: Installation) -> None:
    document = json.loads(REVIEW)
    document["request"]["object"]["spec"]["extra"] = []
    bare = json.dumps(document).encode()
    values = ",".join([item] * ((BODY_LIMIT - len(bare)) // (len(item) + 1))).encode()
    with installation.replica() as replica:
        answered = status_of(replica.endpoint, request(bare.replace(b'"extra": []', b'"extra": [' + values + b"]")))
        peak = replica.peak()

    assert answered in (200, 400)
    assert peak < MEMORY_LIMIT


def test_headers_without_end_after_the_last_chunk_are_cut_off(installation: Installation) -> None:
    with installation.replica() as replica:
        before = replica.size().rss
        with replica.endpoint.connect() as connection:
            connection.sendall(head(None, "Transfer-Encoding: chunked") + b"1\r\n \r\n0\r\n")
            sent = send_until_cut_off(connection, b"a: b\r\n" * 10_000, 200_000_000)
        grown = replica.peak() - before

    assert sent < 200_000_000
    assert grown < 32 * 1024 * 1024


def test_requests_that_are_sent_ahead_of_their_answers_do_not_pile_up(
    installation: Installation, seconds: float
) -> None:
    with installation.replica() as replica:
        before = replica.size().rss
        requests_ahead_of_answers(replica.endpoint, seconds)
        grown = replica.peak() - before

    assert grown < 32 * 1024 * 1024


def send_until_cut_off(connection: socket.socket, block: bytes, most: int) -> int:
    sent = 0
    with contextlib.suppress(OSError):
        while sent < most:
            connection.sendall(block)
            sent += len(block)
    return sent


def test_requests_in_one_go_are_all_answered(replica: Replica) -> None:
    answers = b""
    with replica.endpoint.connect() as connection:
        connection.sendall(request(REVIEW) * 19 + request(REVIEW, "Connection: close"))
        while data := connection.recv(65536):
            answers += data

    assert answers.count(b"HTTP/1.1 200 OK") == 20


def test_nothing_of_what_clients_do_is_told_as_a_defect(replica: Replica) -> None:
    """The last of this file: the log of the replica that all the others met."""
    log = replica.log.read_text()

    assert "Traceback" not in log
    assert "Exception" not in log
