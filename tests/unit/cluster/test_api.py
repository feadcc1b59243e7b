"""Requests to an API server over HTTP: pages, versions that expire, refusals, and what is tried again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, Reply, fake_cluster, kubeconfig, named, to_status

from gpupolicy.cluster.api import MOST_RESTARTS, Api, PatchKind
from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.errors import (
    ApiError,
    ApiTimeoutError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
)
from gpupolicy.cluster.transport import Answer
from gpupolicy.node import JSONMap

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
EXPIRED = "The provided continue parameter is too old"
BUSY = Reply(status=429, body=to_status(429, "TooManyRequests", "slow down"))


@pytest.fixture
def server() -> Iterator[FakeCluster]:
    with fake_cluster() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    """How long the client has waited; it does not wait in earnest."""
    return []


@pytest.fixture
def api(server: FakeCluster, tmp_path: Path, pauses: list[float]) -> Api:
    """A client that asks for ten objects at a time and waits half a second for an answer."""
    live = connect(kubeconfig=kubeconfig(tmp_path, server.address), environ={}, answer_seconds=0.5)
    return Api(live.api.transport, page=10, sleep=pauses.append)


def fill(server: FakeCluster, count: int, path: str = NODES) -> list[str]:
    names = [f"n{number:03}" for number in range(count)]
    server.lists[path] = [named(name) for name in names]
    return names


def listed(api: Api, path: str = NODES) -> list[str]:
    return [item["metadata"]["name"] for item in api.list(path)]


def expired(**metadata: str) -> Reply:
    return Reply(status=410, body=to_status(410, "Expired", EXPIRED, **metadata))


class TestPages:
    def test_a_long_list_is_read_page_by_page(self, server, api):
        names = fill(server, 25)

        assert listed(api) == names
        assert [asked.query.get("continue") for asked in server.asked] == [None, "10", "20"]

    def test_items_get_the_kind_that_their_list_has_for_them(self, server, api):
        fill(server, 1)

        assert list(api.list(NODES)) == [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n000"}}]

    def test_an_empty_list_is_no_error(self, server, api):
        server.always = Reply(body={"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": None})

        assert listed(api) == []

    def test_a_selector_goes_along_with_every_page(self, server, api):
        fill(server, 11)
        list(api.list(NODES, {"labelSelector": "a=b"}))

        assert [asked.query["labelSelector"] for asked in server.asked] == ["a=b", "a=b"]

    def test_who_tries_again_by_itself_has_each_request_sent_once(self, server, api):
        server.always = BUSY

        with pytest.raises(TooManyRequestsError):
            listed(Api(api.transport, pauses=()))
        assert len(server.asked) == 1

    def test_how_far_it_is_is_told_after_every_page(self, server, api):
        fill(server, 25)
        told = []

        list(api.list(NODES, on_page=lambda done, total: told.append((done, total))))

        assert told == [(10, 25), (20, 25), (25, 25)]


class TestExpired:
    def test_the_rest_is_read_by_the_token_that_the_refusal_brings(self, server, api):
        names = fill(server, 25)
        server.replies[2] = expired(**{"continue": "20"})

        assert listed(api) == names
        assert [asked.query.get("continue") for asked in server.asked] == [None, "10", "20", "20"]

    def test_without_a_token_the_list_begins_anew_and_nothing_comes_twice(self, server, api):
        names = fill(server, 25)
        server.replies[2] = expired()

        assert listed(api) == names
        assert [asked.query.get("continue") for asked in server.asked] == [None, "10", "20", None, "10", "20"]

    def test_one_that_never_comes_to_an_end_is_an_error(self, server, api):
        server.always = expired()

        with pytest.raises(GoneError, match=r"^context test: The provided continue parameter is too old \(410\)$"):
            listed(api)
        assert len(server.asked) == MOST_RESTARTS + 1


class TestTriedAgain:
    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_a_busy_server_is_asked_again(self, status, server, api, pauses):
        names = fill(server, 3)
        server.replies[0] = Reply(status=status, body=b"busy")

        assert (listed(api), pauses) == (names, [0.5])

    def test_the_server_says_how_long_to_wait(self, server, api, pauses):
        fill(server, 3)
        server.replies[0] = Reply(status=429, headers={"Retry-After": "7"})
        listed(api)

        assert pauses == [7]

    def test_who_is_told_to_wait_for_minutes_gives_up(self, server, api, pauses):
        server.always = Reply(status=429, headers={"Retry-After": "600"})

        with pytest.raises(TooManyRequestsError) as caught:
            listed(api)
        assert (caught.value.retry_after, pauses) == (600, [])

    def test_it_is_not_asked_for_ever(self, server, api, pauses):
        server.always = BUSY

        with pytest.raises(TooManyRequestsError, match=r"^context test: slow down \(429\)$"):
            listed(api)
        assert pauses == [0.5, 1, 2, 4]

    @pytest.mark.parametrize(
        "broken", [pytest.param(Reply(drop=True), id="dropped"), pytest.param(Reply(seconds=1), id="silent")]
    )
    def test_a_connection_that_breaks_in_the_middle_of_a_list_is_made_anew(self, broken, server, api):
        names = fill(server, 25)
        server.replies[1] = broken

        assert listed(api) == names

    def test_silence_ends_after_two_more_attempts(self, server, api):
        fill(server, 25)
        server.replies = {1: Reply(seconds=1), 2: Reply(seconds=1), 3: Reply(seconds=1)}

        with pytest.raises(ApiTimeoutError, match=r"gave no answer within 0\.5 s$"):
            listed(api)
        assert len(server.asked) == 4

    def test_a_server_that_never_answered_is_not_waited_for(self, server, api, pauses):
        server.always = Reply(drop=True)

        with pytest.raises(
            ConnectionFailedError, match=r"^the connection to http://127\.0\.0\.1:\d+ \(context test\) broke"
        ):
            listed(api)
        assert pauses == []


def watched(api: Api) -> list[JSONMap]:
    with api.watch(NODES, "7", seconds=300, silence_seconds=0.5) as events:
        return list(events)


def events(*told: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in told)


ADDED = {"type": "ADDED", "object": named("a")}


class TestWatched:
    def test_events_come_until_the_server_ends_the_watch(self, server, api):
        server.always = Reply(body=events(ADDED, ADDED))

        assert watched(api) == [ADDED, ADDED]
        assert server.asked[0].query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "7",
            "timeoutSeconds": "300",
        }

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param(Reply(status=410, body=to_status(410, "Expired", EXPIRED)), id="at-the-start"),
            pytest.param(
                Reply(body=events(ADDED, {"type": "ERROR", "object": to_status(410, "Expired", EXPIRED)})),
                id="in-the-middle",
            ),
        ],
    )
    def test_a_version_that_has_expired_is_told_apart(self, reply, server, api):
        server.always = reply

        with pytest.raises(GoneError, match=r"^context test: The provided continue parameter is too old \(410\)$"):
            watched(api)

    @pytest.mark.parametrize("body", [b"<html>\n", b"[]\n", b"{}\n"])
    def test_what_is_no_event_is_said_to_be_none(self, body, server, api):
        server.always = Reply(body=body)

        with pytest.raises(ConnectionFailedError, match=r"^what answers for context test is no API server: "):
            watched(api)

    def test_silence_is_given_up_and_nothing_is_sent_again(self, server, api):
        server.always = Reply(seconds=1)

        with pytest.raises(ApiTimeoutError, match=r"gave no answer within 0\.5 s$"):
            watched(api)
        assert len(server.asked) == 1


FORBIDDEN = to_status(
    403,
    "Forbidden",
    'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
)
ANONYMOUS = to_status(403, "Forbidden", 'nodes is forbidden: User "system:anonymous" cannot list resource "nodes"')
REFUSALS = [
    pytest.param(
        Reply(status=401, body=to_status(401, "Unauthorized", "Unauthorized")),
        UnauthorizedError,
        "context test: the API server does not know who asks (401): the credentials are missing, wrong or expired",
        id="401",
    ),
    pytest.param(
        Reply(status=403, body=FORBIDDEN),
        ForbiddenError,
        "context test: user jane may not list nodes (403); missing is the RBAC rule "
        '{apiGroups: [""], resources: [nodes], verbs: [list]} in a ClusterRole (see docs/cluster-access.md)',
        id="403",
    ),
    pytest.param(
        Reply(status=403, body=ANONYMOUS),
        ForbiddenError,
        "context test: who does not log in may not list nodes (403): no credentials were sent",
        id="403-anonymous",
    ),
    pytest.param(
        Reply(status=403, body=to_status(403, "Forbidden", "webhook x denied the request")),
        ForbiddenError,
        "context test: webhook x denied the request (403)",
        id="403-by-admission",
    ),
    pytest.param(
        Reply(status=404, body=to_status(404, "NotFound", "there is none")),
        NotFoundError,
        "context test: there is none (404)",
        id="404",
    ),
    pytest.param(
        Reply(status=409, body=to_status(409, "Conflict", "changed")),
        ConflictError,
        "context test: changed (409)",
        id="409",
    ),
    pytest.param(
        Reply(status=422, body=to_status(422, "Invalid", "no\nlabel")),
        InvalidError,
        "context test: no label (422)",
        id="422",
    ),
    pytest.param(
        Reply(status=302, body=b"<html>log in</html>"),
        ApiError,
        "context test: the API server gives no reason (302)",
        id="proxy",
    ),
]


class TestRefusals:
    @pytest.mark.parametrize(("reply", "kind", "message"), REFUSALS)
    def test_a_refusal_says_what_is_to_be_done(self, reply, kind, message, server, api):
        server.always = reply

        with pytest.raises(ApiError) as caught:
            listed(api)
        assert (type(caught.value), str(caught.value), caught.value.status) == (kind, message, reply.status)

    def test_it_carries_the_reason_and_the_whole_status(self, server, api):
        server.always = Reply(status=403, body=FORBIDDEN)

        with pytest.raises(ForbiddenError) as caught:
            listed(api)
        assert (caught.value.reason, caught.value.answer) == ("Forbidden", FORBIDDEN)

    @pytest.mark.parametrize(
        "body", [b"<html>", b"[]", {"kind": "NodeList"}, {"apiVersion": "v1", "kind": "NodeList", "items": [1]}]
    )
    def test_what_is_no_list_of_kubernetes_is_said_to_be_none(self, body, server, api):
        server.always = Reply(body=body)

        with pytest.raises(ConnectionFailedError) as caught:
            listed(api)
        assert str(caught.value) == (
            "what answers for context test is no API server: its /api/v1/nodes is no JSON of Kubernetes"
        )


class TestChanges:
    @pytest.mark.parametrize("kind", PatchKind)
    def test_a_patch_is_sent_as_what_it_is(self, kind, server, api):
        server.lists["/api/v1/nodes/a"] = []
        answer = api.patch("/api/v1/nodes/a", {"x": 1}, kind, {"fieldManager": "gpupolicy"})
        (asked,) = server.asked

        assert answer == {"kind": "Done"}
        assert (asked.method, asked.headers["Content-Type"]) == ("PATCH", kind.value)
        assert (json.loads(asked.body), asked.query) == ({"x": 1}, {"fieldManager": "gpupolicy"})

    def test_a_patch_that_the_server_has_not_taken_is_sent_again(self, server, api, pauses):
        server.lists["/api/v1/nodes/a"] = []
        server.replies[0] = BUSY
        api.patch("/api/v1/nodes/a", {})

        assert (len(server.asked), pauses) == (2, [0.5])

    @pytest.mark.parametrize("reply", [Reply(drop=True), Reply(status=500)])
    def test_a_patch_that_may_have_been_taken_is_not(self, reply, server, api, pauses):
        fill(server, 1)
        listed(api)
        server.always = reply

        with pytest.raises((ApiError, ConnectionFailedError)):
            api.patch("/api/v1/nodes/a", {})
        assert (len(server.asked), pauses) == (2, [])

    def test_an_object_is_replaced_once(self, server, api, pauses):
        server.always = BUSY

        with pytest.raises(TooManyRequestsError):
            api.put("/api/v1/nodes/a", {"kind": "Node"})
        (asked,) = server.asked
        assert (asked.method, json.loads(asked.body), pauses) == ("PUT", {"kind": "Node"}, [])

    def test_an_eviction_is_never_sent_twice(self, server, api, pauses):
        """429 says that a PodDisruptionBudget does not allow it now: who asks decides when to ask again."""
        server.always = BUSY

        with pytest.raises(TooManyRequestsError):
            api.post("/api/v1/namespaces/a/pods/p/eviction", {"kind": "Eviction"})
        assert (len(server.asked), pauses) == (1, [])

    @pytest.mark.parametrize(
        ("act", "rule"),
        [
            pytest.param(
                lambda api: api.get("/api/v1/nodes/a"),
                '{apiGroups: [""], resources: [nodes], verbs: [get]} in a ClusterRole',
                id="get",
            ),
            pytest.param(
                lambda api: api.patch("/api/v1/nodes/a", {}),
                '{apiGroups: [""], resources: [nodes], verbs: [patch]} in a ClusterRole',
                id="patch",
            ),
            pytest.param(
                lambda api: api.post("/api/v1/namespaces/a/pods/p/eviction", {}),
                '{apiGroups: [""], resources: [pods/eviction], verbs: [create]} in a Role in namespace a or a '
                "ClusterRole",
                id="evict",
            ),
            pytest.param(
                lambda api: list(api.list("/apis/apps/v1/replicasets")),
                "{apiGroups: [apps], resources: [replicasets], verbs: [list]} in a ClusterRole",
                id="group",
            ),
        ],
    )
    def test_the_missing_rule_is_the_one_of_the_request(self, act: Callable[[Api], object], rule, server, api):
        server.always = Reply(status=403, body=FORBIDDEN)

        with pytest.raises(ForbiddenError) as caught:
            act(api)
        assert f"missing is the RBAC rule {rule} (see" in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "time"),
    [
        pytest.param(
            {"date": "Sun, 29 Nov 2026 12:00:00 GMT"},
            datetime(2026, 11, 29, 12, 0, tzinfo=UTC),
            id="as-servers-write-it",
        ),
        pytest.param({"date": "soon"}, None, id="no-time"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_an_answer_tells_what_time_it_is_for_the_api_server(headers, time):
    class Fixed:
        name = "test"

        def send(self, *_: object) -> Answer:
            return Answer(status=200, headers=headers, body=b"{}")

    api = Api(Fixed())
    api.get("/version")

    assert api.answered_at == time
