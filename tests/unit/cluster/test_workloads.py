"""Workloads of a cluster: the built-in kinds, and what happens where a right or an API is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from claim_builders import claim
from fake_cluster import FakeCluster, Reply, fake_cluster, kubeconfig, named, to_status

from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.workloads import read_claims, read_workloads

FORBIDDEN = to_status(
    403,
    "Forbidden",
    'resourceclaims is forbidden: User "jane" cannot list resource "resourceclaims" at the cluster scope',
)


@pytest.fixture
def server() -> Iterator[FakeCluster]:
    with fake_cluster() as server:
        yield server


@pytest.fixture
def live(server: FakeCluster, tmp_path: Path) -> LiveCluster:
    return connect(kubeconfig=kubeconfig(tmp_path, server.address), environ={})


def test_the_kinds_that_are_asked_for_are_listed(server: FakeCluster, live: LiveCluster) -> None:
    server.lists["/apis/apps/v1/deployments"] = [named("web", "a")]
    server.lists["/apis/batch/v1/jobs"] = [named("train", "a")]

    found = [each["metadata"]["name"] for each in read_workloads(live, ("Deployment", "Job"))]

    assert found == ["web", "train"]


def test_those_of_one_namespace_are_asked_for_there(server: FakeCluster, live: LiveCluster) -> None:
    server.lists["/apis/apps/v1/namespaces/a/deployments"] = [named("web", "a")]

    found = [each["metadata"]["name"] for each in read_workloads(live, ("Deployment",), namespace="a")]

    assert found == ["web"]


def test_a_kind_that_may_not_be_listed_is_told_and_the_others_are_read(server: FakeCluster, live: LiveCluster) -> None:
    server.replies[0] = Reply(status=403, body=to_status(403, "Forbidden", "deployments is forbidden"))
    server.lists["/apis/apps/v1/statefulsets"] = [named("db", "a")]
    notes: list[str] = []

    found = [
        each["metadata"]["name"] for each in read_workloads(live, ("Deployment", "StatefulSet"), on_note=notes.append)
    ]

    assert found == ["db"]
    assert [note.startswith("warning: deployments are not judged, only their pods: ") for note in notes] == [True]


def test_an_api_that_an_older_cluster_lacks_is_no_matter(live: LiveCluster) -> None:
    assert list(read_workloads(live, ("ResourceClaim",))) == []


def test_claims_are_known_by_what_pods_call_them(server: FakeCluster, live: LiveCluster) -> None:
    server.lists["/apis/resource.k8s.io/v1/resourceclaims"] = [claim(4)]

    assert set(read_claims(live)) == {("ResourceClaim", "team-a", "gpus")}


def test_a_missing_right_to_list_claims_is_told_with_its_rule(server: FakeCluster, live: LiveCluster) -> None:
    server.always = Reply(status=403, body=FORBIDDEN)
    notes: list[str] = []

    assert read_claims(live, on_note=notes.append) == {}
    assert [note.partition(":")[2].partition(": ")[0].strip() for note in notes] == [
        "the devices of resourceclaims are not counted",
        "the devices of resourceclaimtemplates are not counted",
    ]
    assert "resources: [resourceclaims], verbs: [list]" in notes[0]
