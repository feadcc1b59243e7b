"""What is bounded so that no client can fill the memory, and what is tried again when the machine was to blame."""

from __future__ import annotations

import asyncio
import errno
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import policy
from serving import echo, ends, read_answer, served

from gpupolicy.errors import InputError, ReviewError
from gpupolicy.model import Policy
from gpupolicy.webhook.bridge import Bridge, Limits
from gpupolicy.webhook.protocol import FRAMING_BYTES
from gpupolicy.webhook.reload import PolicySource, stamp
from gpupolicy.webhook.review import VALUES_LIMIT, read_review


def scope(query: bytes = b"timeout=3s") -> dict:
    return {
        "type": "http",
        "method": "POST",
        "path": "/mutate",
        "query_string": query,
        "http_version": "1.1",
        "scheme": "https",
        "headers": [],
    }


def answers(bridge: Bridge, *requests: Callable, asked: dict | None = None) -> list[int]:
    """The status of each of some requests that are under way at once."""

    async def one(receive: Callable) -> int:
        sent: list[dict] = []

        async def send(message: dict) -> None:
            sent.append(message)

        await bridge(asked or scope(), receive, send)
        return sent[0]["status"]

    async def run() -> list[int]:
        return await asyncio.gather(*map(one, requests))

    return asyncio.run(run())


def in_parts(*parts: bytes) -> Callable:
    """A body that comes in parts, each a turn of the loop later."""
    left = list(parts)

    async def receive() -> dict:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return receive


def test_of_bodies_that_are_too_long_together_the_one_that_is_waited_for_longest_is_put_off():
    bridge = Bridge(echo, limits=Limits(body_bytes=100, all_bytes=150))

    assert answers(bridge, in_parts(b"x" * 90, b"y"), in_parts(b"x" * 90, b"y")) == [503, 200]


def never(*parts: bytes) -> Callable:
    """A body that stops short."""
    left = list(parts)

    async def receive() -> dict:
        if not left:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    return receive


def test_bodies_that_stop_short_keep_no_other_out():
    """Neither by their number nor by their length."""
    bridge = Bridge(echo, limits=Limits(body_bytes=100, all_bytes=250, waiting=3, body_seconds=0.5))
    stalled = [never(b"x" * 90) for _ in range(5)]

    found = answers(bridge, *stalled, in_parts(b"x" * 20, b"x" * 20), in_parts(b"x" * 20))

    assert found == [503, 503, 503, 503, 408, 200, 200]


def test_what_was_given_up_counts_no_longer():
    bridge = Bridge(echo, limits=Limits(body_bytes=100, all_bytes=150, body_seconds=0.1))
    answers(bridge, never(b"x" * 90), never(b"x" * 90))

    assert answers(bridge, in_parts(b"x" * 75, b""), in_parts(b"x" * 75, b"")) == [200, 200]


def test_bodies_one_after_the_other_may_be_longer_together():
    bridge = Bridge(echo, limits=Limits(body_bytes=100, all_bytes=150))

    assert [*answers(bridge, in_parts(b"x" * 90)), *answers(bridge, in_parts(b"x" * 90))] == [200, 200]


def test_a_body_that_is_there_when_the_time_is_over_counts():
    """A process that was stopped finds the end of its time before what has come."""
    arrived: list[dict] = []

    async def receive() -> dict:
        if not arrived:
            arrived.append({"type": "http.request", "body": b"{}", "more_body": False})
            await asyncio.sleep(60)
        return arrived[0]

    assert answers(Bridge(echo, limits=Limits(body_seconds=0.01)), receive) == [200]


def test_a_time_out_of_very_many_digits_gets_a_retry_as_any_long_one():
    bridge = Bridge(echo, limits=Limits(waiting=0))

    assert answers(bridge, in_parts(b"{}"), asked=scope(b"timeout=" + b"9" * 5000 + b"s")) == [503]


def review(spec: object) -> bytes:
    request = {"uid": "u", "kind": {"kind": "Pod"}, "operation": "CREATE", "object": {"spec": spec}}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param([0] * (VALUES_LIMIT + 1), id="numbers"),
        pytest.param([{}] * VALUES_LIMIT, id="mappings"),
        pytest.param(['a\\",'] * VALUES_LIMIT, id="strings"),
        pytest.param([[[[[]]]]] * (VALUES_LIMIT // 4), id="lists"),
    ],
)
def test_a_body_of_very_many_values_is_refused_before_it_is_read(spec):
    with pytest.raises(ReviewError, match="the body holds more than 500,000 values"):
        read_review(review(spec))


def test_commas_and_braces_in_a_string_are_no_values():
    assert read_review(review({"args": ['[{,"\\' * VALUES_LIMIT]})).is_pod


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"," * (VALUES_LIMIT + 1) + b'"' + b'\\"' * 100_000, id="values-first"),
        pytest.param(b'"' + b'\\"' * 100_000 + b"," * (VALUES_LIMIT + 1), id="string-first"),
    ],
)
def test_a_string_that_nothing_closes_is_looked_at_once(body):
    """Each of its quotes began a search to the end: half a megabyte took 31 s, in which no review was answered."""
    began = time.process_time()
    with pytest.raises(ReviewError):
        read_review(body)

    assert time.process_time() - began < 5


def test_a_body_in_utf_16_is_no_json():
    """Its letters hold bytes that pass for quotes, behind which any number of values went uncounted."""
    body = ('["\u2200",' + "[]," * VALUES_LIMIT + '"x"]').encode("utf-16-le")

    with pytest.raises(ReviewError, match=r"^the body is no JSON: "):
        read_review(body)


class Machine:
    """Loads a policy unless something is wrong with the machine or with the file."""

    def __init__(self) -> None:
        self.cause: Exception | None = None

    def load(self, path: Path) -> Policy:
        if self.cause:
            raise InputError("cannot be read", file=str(path)) from self.cause
        return policy()


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def told() -> list[bool]:
    return []


@pytest.fixture
def source(tmp_path: Path, machine: Machine, told: list[bool]) -> PolicySource:
    file = tmp_path / "policy.yaml"
    file.touch()
    return PolicySource(file, machine.load, lambda taken, _line: told.append(taken))


def test_a_file_that_the_machine_could_not_read_is_looked_at_again_and_told_once(source, machine, told):
    machine.cause = OSError(errno.EMFILE, "too many open files")
    asyncio.run(source.reload())
    asyncio.run(source.reload())
    looked_at_again = source.seen != stamp(source.paths)
    machine.cause = None
    asyncio.run(source.reload())

    assert looked_at_again
    assert told == [False, True]


def test_a_file_that_is_wrong_waits_for_its_next_change(source, machine, told):
    machine.cause = ValueError("no YAML")
    asyncio.run(source.reload())

    assert source.seen == stamp(source.paths)
    assert told == [False]


def test_headers_after_the_last_chunk_are_none_of_the_request(tmp_path):
    sent = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-After: 1\r\n\r\n"
    with served(echo, tmp_path) as endpoint, endpoint.connect() as connection:
        connection.sendall(sent)
        answer = read_answer(connection)

    assert answer.status == 200
    assert "HTTP_X_AFTER" not in json.loads(answer.body)["environ"]


def test_headers_after_the_last_chunk_have_an_end(tmp_path):
    with served(echo, tmp_path) as endpoint, endpoint.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ")
        with pytest.raises(OSError):  # noqa: PT011  # reset or broken pipe, as it comes
            connection.sendall(b"x" * (100 * FRAMING_BYTES))


def test_a_connection_that_was_to_become_something_else_is_closed_after_its_answer(tmp_path):
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with served(echo, tmp_path) as endpoint, endpoint.connect() as connection:
        connection.sendall(upgrade)
        status = read_answer(connection).status
        closed = ends(connection)

    assert (status, closed) == (200, True)
