"""What makes two running pods alike: every part that admission reads, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, described, pod, required, within
from running_pods import running

from gpupolicy.auditing.living import as_created, find_likeness

PLAIN = running(pod(2))


def likeness(document: Any, *, with_labels: bool = False) -> bytes | None:
    return find_likeness(document, "team-a", "ReplicaSet", with_labels=with_labels)


def with_spec(**fields: Any) -> dict[str, Any]:
    return {**PLAIN, "spec": {**PLAIN["spec"], **fields}}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(described(PLAIN, name="b", uid="u-9", labels={"a": "b"}), id="name-and-labels"),
        pytest.param(with_spec(nodeName="gpu-9"), id="the-node-it-was-bound-to"),
        pytest.param(with_spec(volumes=[]), id="volumes"),
        pytest.param(with_spec(containers=[{**container(2), "name": "d", "env": [{"name": "x"}]}]), id="environment"),
        pytest.param({**PLAIN, "status": {"phase": "Pending"}}, id="status"),
    ],
)
def test_what_admission_does_not_read_makes_no_difference(other: dict[str, Any]) -> None:
    assert likeness(other) == likeness(PLAIN)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(with_spec(containers=[container(4)]), id="amount"),
        pytest.param(with_spec(containers=[container("2")]), id="the-way-an-amount-is-written"),
        pytest.param(with_spec(containers=[container(1), container(1)]), id="containers"),
        pytest.param(with_spec(initContainers=[container(2)]), id="init-container"),
        pytest.param(with_spec(affinity=required([within("a", "b")])), id="affinity"),
        pytest.param(with_spec(nodeSelector={"a": "b"}), id="node-selector"),
        pytest.param(with_spec(schedulerName="volcano"), id="scheduler"),
        pytest.param(with_spec(tolerations=[{"operator": "Exists"}]), id="tolerations"),
        pytest.param(with_spec(overhead={"nvidia.com/gpu": "1"}), id="overhead"),
        pytest.param(with_spec(resourceClaims=[{"name": "a"}]), id="claims"),
        pytest.param(with_spec(resources={"limits": {"cpu": "1"}}), id="pod-level-resources"),
        pytest.param(with_spec(serviceAccountName="trainer"), id="service-account"),
        pytest.param(described(PLAIN, annotations={"gpupolicy.dev/routed-to": "SLOT-2"}), id="the-note-of-routing"),
        pytest.param(described(PLAIN, annotations={"kubernetes.io/config.mirror": "x"}), id="mirror"),
        pytest.param(
            described(PLAIN, managedFields=[{"fieldsV1": {"f:spec": {"f:nodeName": {}}}}]), id="a-node-by-hand"
        ),
    ],
)
def test_what_admission_reads_makes_one(other: dict[str, Any]) -> None:
    assert likeness(other) != likeness(PLAIN)


def test_labels_make_one_where_the_policy_looks_at_them() -> None:
    other = described(PLAIN, labels={"a": "b"})

    assert likeness(other, with_labels=True) != likeness(PLAIN, with_labels=True)


def test_what_the_subresource_of_the_status_writes_is_no_hand() -> None:
    entry = {"subresource": "status", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}

    assert "nodeName" not in as_created(described(PLAIN, managedFields=[entry]))["spec"]  # type: ignore[operator]
