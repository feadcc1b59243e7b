"""The server on a real TLS socket: clients that are silent, slow, wrong or too many do not hurt the others."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from serving import Endpoint, echo, ends, read_answer, served

from gpupolicy.webhook.bridge import Limits
from gpupolicy.webhook.protocol import listen
from gpupolicy.webhook.server import bind

LIMITS = Limits(body_bytes=1000, body_seconds=0.3)
HEADER = b"POST /mutate?timeout=3s HTTP/1.1\r\nHost: webhook\r\n"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server that is patient with headers, as in production, and short with bodies."""
    with served(echo, tmp_path_factory.mktemp("pki"), limits=LIMITS) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server that soon loses patience with headers."""
    with served(echo, tmp_path_factory.mktemp("pki"), header_seconds=0.3) as endpoint:
        yield endpoint


def chunked(length: int) -> bytes:
    """A request whose body comes in chunks of 100 bytes and a rest."""
    whole, rest = divmod(length, 100)
    chunks = b"64\r\n" + b"x" * 100 + b"\r\n"
    last = b"%x\r\n" % rest + b"x" * rest + b"\r\n" if rest else b""
    return HEADER + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * whole + last + b"0\r\n\r\n"


def test_a_connection_is_kept_for_the_next_review(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")
        first = read_answer(connection)
        connection.sendall(HEADER + b"Content-Length: 3\r\n\r\n{ }")
        second = read_answer(connection)

    assert [json.loads(answer.body)["length"] for answer in (first, second)] == [2, 3]


def test_an_answer_tells_neither_date_nor_server(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")
        answer = read_answer(connection)

    assert sorted(answer.headers) == ["content-length", "content-type"]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="silent"),
        pytest.param(HEADER, id="half-a-header"),
        pytest.param(HEADER + b"Content-Length: 100\r\n\r\n{", id="half-a-body"),
    ],
)
def test_stalled_connections_do_not_hold_up_a_review(endpoint, sent):
    """Go dials ahead and leaves connections silent; each would hold a thread of a threaded server."""
    with ExitStack() as stack:
        for stalled in [stack.enter_context(endpoint.connect()) for _ in range(40)]:
            stalled.sendall(sent)

        assert endpoint.post("/mutate", b"{}")[0] == 200


def test_connections_without_a_handshake_do_not_hold_up_a_review(endpoint):
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", endpoint.port)))

        assert endpoint.post("/mutate", b"{}")[0] == 200


@pytest.mark.parametrize(
    "sent", [pytest.param(b"", id="silent"), pytest.param(HEADER + b"Accept: a", id="half-a-header")]
)
def test_a_connection_that_sends_no_whole_header_in_time_is_closed(strict, sent):
    with strict.connect() as connection:
        connection.sendall(sent)

        assert ends(connection)


def test_a_kept_connection_that_then_sends_half_a_header_is_closed(strict):
    with strict.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")
        read_answer(connection)
        connection.sendall(HEADER)

        assert ends(connection)


def test_a_connection_that_is_idle_after_a_review_is_kept(strict):
    """The clock for headers must not run while nothing is asked: the API server reuses connections for 90 s."""
    with strict.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")
        read_answer(connection)
        time.sleep(0.6)
        connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")

        assert read_answer(connection).status == 200


def test_a_connection_without_a_handshake_is_closed(strict):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=20) as connection:
        assert connection.recv(1) == b""


def test_a_header_without_end_is_cut_off(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"A: " + b"a" * 70_000)

        assert ends(connection)


def test_half_a_body_is_answered_by_408(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 100\r\n\r\n{")
        answer = read_answer(connection)

    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert json.loads(answer.body)["message"] == "the body was not whole after 0.3 s"


def test_a_body_that_is_announced_too_long_is_refused_before_it_is_sent(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 1001\r\n\r\n")
        answer = read_answer(connection)

    assert (answer.status, answer.headers["connection"]) == (413, "close")
    assert json.loads(answer.body)["message"] == "the body is longer than 1000 bytes"


def test_a_chunked_body_that_grows_too_long_is_refused(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(chunked(1001))
        answer = read_answer(connection)

    assert answer.status == 413


@pytest.mark.parametrize("length", [pytest.param(250, id="short"), pytest.param(1000, id="at-the-limit")])
def test_a_chunked_body_arrives_whole(endpoint, length):
    with endpoint.connect() as connection:
        connection.sendall(chunked(length))
        asked = json.loads(read_answer(connection).body)

    assert (asked["length"], asked["environ"]["CONTENT_LENGTH"]) == (length, str(length))


def test_a_body_at_the_limit_is_taken(endpoint):
    assert endpoint.post("/mutate", b"x" * 1000)[0] == 200


def test_a_client_that_waits_for_continue_gets_it(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")

        assert read_answer(connection).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GARBAGE\r\n\r\n", id="no-http"),
        pytest.param(HEADER + b"Content-Length: x\r\n\r\n", id="length-no-number"),
        pytest.param(HEADER + b"Content-Length: -1\r\n\r\n", id="length-negative"),
        pytest.param(HEADER + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", id="two-lengths"),
        pytest.param(HEADER + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", id="chunk-no-number"),
        pytest.param(HEADER + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", id="length-and-chunks"),
    ],
)
def test_what_is_no_http_is_answered_by_400(endpoint, sent):
    with endpoint.connect() as connection:
        connection.sendall(sent)

        assert read_answer(connection).status == 400


def test_requests_that_were_sent_ahead_are_all_answered(endpoint):
    """However many: what was read of the ones behind is none of the one in front."""
    count, sent = 400, HEADER + b"Content-Length: 600\r\n\r\n" + b"x" * 600

    async def answers() -> bytes:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", endpoint.port, ssl=endpoint.trust(), server_hostname="localhost"
        )
        writer.write(sent * count + HEADER + b"Connection: close\r\n\r\n")
        found = await reader.read()
        writer.close()
        return found

    assert asyncio.run(answers()).count(b"HTTP/1.1 200 OK") == count + 1


def test_a_client_that_reads_no_answers_is_cut_off(endpoint, monkeypatch):
    monkeypatch.setattr("gpupolicy.webhook.protocol.UNREAD_SECONDS", 0.3)
    with endpoint.connect() as connection:
        end = send_without_end(connection)

    assert isinstance(end, ConnectionError | ssl.SSLError)


def send_without_end(connection: socket.socket) -> OSError:
    """Asks and reads nothing, until it cannot."""
    try:
        while True:
            connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")
    except OSError as error:
        return error


def test_of_requests_that_were_sent_ahead_one_of_all_connections_begins_in_a_turn_of_the_loop():
    """So whoever waits for his answer before he asks again waits for few of them."""
    clients, ahead = 3, 50

    async def turns_of_requests() -> list[int]:
        sock, turn, begun = bind("127.0.0.1", 0), 0, []
        done = asyncio.Event()

        async def app(scope: dict, _receive: object, send: Callable) -> None:
            begun.append((scope["path"], turn))
            if len(begun) == clients * (ahead + 1):
                done.set()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})

        listener = await listen(app, sock)
        writers = []
        for _ in range(clients):
            _, writer = await asyncio.open_connection(*sock.getsockname())
            writer.write(b"POST /first HTTP/1.1\r\n\r\n" + b"POST /ahead HTTP/1.1\r\n\r\n" * ahead)
            writers.append(writer)
        while not done.is_set():
            turn += 1
            await asyncio.sleep(0)
        listener.close()
        for writer in writers:
            writer.close()
        return [at for path, at in begun if path == "/ahead"]

    turns = asyncio.run(turns_of_requests())

    assert len(turns) == clients * ahead
    assert len(set(turns)) == len(turns)


def test_a_client_that_reads_late_gets_its_answers(endpoint):
    """The clock runs only while nothing can be sent."""
    with endpoint.connect() as connection:
        connection.sendall((HEADER + b"Content-Length: 2\r\n\r\n{}") * 50 + HEADER + b"Connection: close\r\n\r\n")
        time.sleep(0.3)
        answers = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answers.count(b"HTTP/1.1 200 OK") == 51


def test_a_client_that_leaves_in_mid_body_leaves_nothing_running(endpoint):
    with endpoint.connect() as connection:
        connection.sendall(HEADER + b"Content-Length: 100\r\n\r\n{")
    end = time.monotonic() + 5
    while endpoint.bridge.running and time.monotonic() < end:
        time.sleep(0.01)

    assert endpoint.bridge.running == 0


@pytest.mark.parametrize(
    ("query", "again"),
    [
        pytest.param("?timeout=3s", "1", id="time-for-another-try"),
        pytest.param("?timeout=1s", None, id="no-time-left"),
        pytest.param("", None, id="time-unknown"),
    ],
)
def test_of_reviews_that_are_too_many_the_one_that_is_waited_for_longest_is_answered_by_503(tmp_path, query, again):
    with served(echo, tmp_path, limits=Limits(waiting=1)) as endpoint, endpoint.connect() as slow:
        slow.sendall(HEADER.replace(b"?timeout=3s", query.encode()) + b"Content-Length: 2\r\n\r\n")
        while not endpoint.bridge.running:
            time.sleep(0.01)
        status, _ = endpoint.post("/mutate", b"{}")
        refused = read_answer(slow)
        closed = ends(slow)

    assert status == 200
    assert (refused.status, refused.headers["retry-after"], closed) == (503, again, True)


def test_an_answer_does_not_wait_for_the_clients_delayed_acknowledgement():
    """Header and body are two writes: without TCP_NODELAY each review took 44 ms instead of 1."""

    async def option_of_an_accepted_connection() -> int:
        sock = bind("127.0.0.1", 0)
        accepted: list[socket.socket] = []

        async def app(scope: dict, _receive: object, send: Callable) -> None:
            accepted.extend(c.transport.get_extra_info("socket") for c in listener._state.connections)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})

        listener = await listen(app, sock)
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        writer.write(HEADER + b"Content-Length: 0\r\n\r\n")
        await reader.readline()
        option = accepted[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        listener.close()
        writer.close()
        await writer.wait_closed()
        return option

    assert asyncio.run(option_of_an_accepted_connection()) != 0


def test_while_draining_every_answer_asks_for_a_new_connection(tmp_path):
    """Until 1.36 the API server goes on using a connection to a pod that has left the Service."""
    with served(echo, tmp_path) as endpoint, endpoint.connect() as connection:
        endpoint.bridge.draining = True
        connection.sendall(HEADER + b"Content-Length: 2\r\n\r\n{}")
        answer = read_answer(connection)

        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert ends(connection)
