"""A live cluster as a source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cluster import FakeCluster, Reply, fake_cluster, kubeconfig, named, to_status

from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.errors import ForbiddenError
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.source import Reading


@pytest.fixture
def server() -> Iterator[FakeCluster]:
    with fake_cluster() as server:
        yield server


@pytest.fixture
def told() -> list[Reading]:
    return []


@pytest.fixture
def live(server: FakeCluster, tmp_path: Path, told: list[Reading]) -> LiveCluster:
    return connect(kubeconfig=kubeconfig(tmp_path, server.address), environ={}, page=2, on_read=told.append)


def test_pods_of_all_namespaces_or_of_one(server, live):
    server.lists["/api/v1/pods"] = [named("p", "a"), named("q", "b")]
    server.lists["/api/v1/namespaces/b/pods"] = [named("q", "b")]

    assert [pod["metadata"]["name"] for pod in live.pods()] == ["p", "q"]
    assert [pod["metadata"]["name"] for pod in live.pods(namespace="b")] == ["q"]


def test_every_call_asks_anew(server, live):
    server.lists["/api/v1/nodes"] = [named("a")]
    list(live.nodes())
    server.lists["/api/v1/nodes"] = [named("b")]

    assert list(live.nodes()) == [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}]


def test_a_pass_tells_how_far_it_is_and_when_it_is_over(server, live, told):
    server.lists["/api/v1/nodes"] = [named(name) for name in "abc"]
    list(live.nodes())

    assert [(reading.what, reading.done, reading.total, reading.is_over) for reading in told] == [
        ("nodes", 2, 3, False),
        ("nodes", 3, 3, False),
        ("nodes", 0, None, True),
    ]


def test_it_is_over_when_it_fails_too(server, live, told):
    server.always = Reply(status=403, body=to_status(403, "Forbidden", "no"))

    with pytest.raises(ForbiddenError):
        list(live.namespaces())
    assert [reading.is_over for reading in told] == [True]
