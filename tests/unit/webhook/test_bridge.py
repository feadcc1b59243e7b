"""From ASGI to WSGI: what the application is told, and what becomes of its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from serving import echo

from gpupolicy.webhook.bridge import Bridge, Limits


def scope(path: str = "/mutate", *headers: tuple[bytes, bytes], query: bytes = b"") -> dict:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": query,
        "http_version": "1.1",
        "scheme": "https",
        "server": ("10.0.0.1", 8443),
        "headers": list(headers),
    }


def ask(asked: dict, *messages: dict, app: Callable = echo, **options: object) -> list[dict]:
    """What the bridge sends for a request whose body comes in the given messages."""
    sent: list[dict] = []
    left = list(messages) or [{"type": "http.request", "body": b"{}"}]

    async def receive() -> dict:
        return left.pop(0)

    async def send(message: dict) -> None:
        sent.append(message)

    asyncio.run(Bridge(app, **options)(asked, receive, send))
    return sent


def environ(asked: dict) -> dict:
    return json.loads(ask(asked)[1]["body"])["environ"]


def test_the_application_is_told_who_asks_for_what():
    asked = scope("/mutate", (b"content-type", b"application/json"), (b"user-agent", b"test"), query=b"timeout=3s")

    assert environ(asked) == {
        "CONTENT_LENGTH": "2",
        "CONTENT_TYPE": "application/json",
        "HTTP_USER_AGENT": "test",
        "PATH_INFO": "/mutate",
        "QUERY_STRING": "timeout=3s",
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "SERVER_NAME": "10.0.0.1",
        "SERVER_PORT": "8443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "https",
    }


def test_a_path_is_handed_on_as_bytes_in_latin_1():
    assert environ(scope("/ü"))["PATH_INFO"] == "/Ã¼"


def test_a_repeated_header_is_joined():
    assert environ(scope("/", (b"accept", b"a"), (b"accept", b"b")))["HTTP_ACCEPT"] == "a,b"


def test_a_header_with_an_underscore_cannot_pose_as_another():
    assert "HTTP_X_USER" not in environ(scope("/", (b"x_user", b"admin")))


def test_a_body_in_several_parts_is_put_together():
    parts = [{"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.request", "body": b"c"}]

    assert json.loads(ask(scope(), *parts)[1]["body"])["length"] == 3


def test_a_client_that_has_gone_is_not_answered():
    parts = [{"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.disconnect"}]

    assert ask(scope(), *parts) == []


def test_an_answer_is_handed_on_whole():
    def app(_environ: dict, start_response: Callable) -> list[bytes]:
        start_response("201 Created", [("Content-Length", "2"), ("X-A", "b")])
        return [b"a", b"b"]

    assert ask(scope(), app=app) == [
        {"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"2"), (b"x-a", b"b")]},
        {"type": "http.response.body", "body": b"ab"},
    ]


def test_an_answer_is_closed_after_reading():
    closed: list[bool] = []

    class Answer(list):
        def close(self) -> None:
            closed.append(True)

    def app(_environ: dict, start_response: Callable) -> Answer:
        start_response("200 OK", [])
        return Answer([b"x"])

    ask(scope(), app=app)

    assert closed == [True]


def test_every_http_error_is_told():
    codes: list[int] = []

    def app(_environ: dict, start_response: Callable) -> list[bytes]:
        start_response("400 Bad Request", [])
        return []

    ask(scope(), app=app, on_failure=codes.append)
    ask(scope("/", (b"content-length", b"9")), limits=Limits(body_bytes=8), on_failure=codes.append)
    ask(scope(), limits=Limits(waiting=0), on_failure=codes.append)
    ask(scope(), on_failure=codes.append)

    assert codes == [400, 413, 503]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(b"timeout=", id="empty"),
        pytest.param(b"timeout=soon", id="a-word"),
        pytest.param(b"timeout=-3s", id="negative"),
        pytest.param(b"\xff", id="no-text"),
    ],
)
def test_a_timeout_that_cannot_be_read_gets_no_retry(query):
    start, _ = ask(scope(query=query), limits=Limits(waiting=0))

    assert b"retry-after" not in dict(start["headers"])


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        pytest.param(b"timeout=3s", [(b"retry-after", b"1")], id="room-for-another-try"),
        pytest.param(b"timeout=1s", [], id="no-room"),
    ],
)
def test_an_application_that_cannot_answer_yet_is_asked_again_where_time_allows(query, headers):
    def app(_environ: dict, start_response: Callable) -> list[bytes]:
        start_response("503 Service Unavailable", [])
        return []

    start, _ = ask(scope(query=query), {"type": "http.request"}, app=app)

    assert (start["status"], start["headers"]) == (503, headers)
