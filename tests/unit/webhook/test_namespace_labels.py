"""``gpupolicy serve`` under a policy that selects namespaces by labels: when it is ready, and what it knows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_api_server import FakeApiServer, fake_api_server, kubeconfig
from serving import PATIENCE_SECONDS, Command, commanded, write_pair

SELECTS = """\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: training}
spec:
  gpuTypes:
    - {name: V100, gpusPerNode: 8, nodeSelector: {matchLabels: {gpu: v100}}}
  slotGroups:
    - {name: SLOT-SMALL, sizes: [1, 2, 4], nodes: [{gpuType: V100, weight: 3}]}
    - {name: SLOT-8, sizes: [8], nodes: [{gpuType: V100, weight: 1}]}
  admission:
    enforcement:
      default: deny
      overrides: [{namespaceSelector: {matchLabels: {stage: trial}}, action: warn}]
    exemptions: [{namespaces: [kube-system], reason: parts of the cluster itself}]
"""
SELECTS_NOT = SELECTS.replace("{matchLabels: {stage: trial}}", "{matchLabels: {kubernetes.io/metadata.name: trial}}")


def review(namespace: str) -> bytes:
    """Three GPUs, which the policy does not admit."""
    container = {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "3"}}}
    request = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": namespace,
        "object": {"metadata": {"name": "job-a"}, "spec": {"containers": [container]}},
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def is_allowed(command: Command, namespace: str) -> bool:
    status, body = command.endpoint.post("/validate?timeout=3s", review(namespace))
    assert status == 200
    return json.loads(body)["response"]["allowed"]


@pytest.fixture
def cluster() -> Iterator[FakeApiServer]:
    """Two namespaces."""
    with fake_api_server() as cluster:
        cluster.put("research")
        cluster.put("lab", stage="trial")
        yield cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A certificate for loopback and the policy."""
    (tmp_path / "policy.yaml").write_text(SELECTS)
    return write_pair(tmp_path)


@pytest.fixture
def command(folder: Path, cluster: FakeApiServer) -> Iterator[Command]:
    with served(folder, cluster) as command:
        yield command


def served(folder: Path, cluster: FakeApiServer):
    return commanded(folder / "policy.yaml", folder, "--kubeconfig", str(kubeconfig(folder, cluster.address)))


def test_a_selector_sees_the_labels_of_the_namespace(command):
    command.wait_for("^namespaces whose labels are known: 2$")

    assert (is_allowed(command, "research"), is_allowed(command, "lab")) == (False, True)


def test_a_changed_label_counts_without_a_restart(command, cluster):
    command.wait_for("^namespaces whose labels are known: 2$")
    before = is_allowed(command, "research")
    cluster.put("research", stage="trial")

    end = time.monotonic() + PATIENCE_SECONDS
    while not is_allowed(command, "research"):
        assert time.monotonic() < end
    assert not before


def test_the_webhook_is_not_ready_until_all_namespaces_are_listed(folder, cluster):
    cluster.refuse = (403, "namespaces is forbidden")
    with served(folder, cluster) as command:
        command.wait_for("^namespaces cannot be listed yet, reviews that need their labels wait: context test: na")
        before = command.probe("/readyz")
        cluster.refuse = None
        command.wait_for("^namespaces whose labels are known: 2$")

        assert before == (503, "namespaces are not known yet: context test: namespaces is forbidden (403)\n")
        assert command.probe("/readyz") == (200, "ok\n")


def test_a_review_of_a_namespace_that_is_not_known_yet_is_to_be_asked_again(command):
    """The API server does so after Retry-After; a guess could let in, or keep out, for good."""
    command.wait_for("^namespaces whose labels are known: 2$")
    connection = command.endpoint.open()
    connection.request("POST", "/validate?timeout=3s", review("just-made"))
    answer = connection.getresponse()
    message = json.loads(answer.read())["message"]
    connection.close()

    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert message == "the labels of namespace just-made are not known yet"


def test_what_is_decided_without_labels_does_not_wait_for_them(command):
    assert is_allowed(command, "kube-system")


def test_labels_stay_in_force_while_the_api_server_is_away(command, cluster):
    command.wait_for("^namespaces whose labels are known: 2$")
    cluster.refuse = (503, "the server is shutting down")
    cluster.end_watches()
    command.wait_for("^namespaces are not watched, the labels known so far go on: context test: the server is ")

    assert (is_allowed(command, "research"), is_allowed(command, "lab")) == (False, True)
    assert command.probe("/readyz") == (200, "ok\n")


def test_the_metrics_say_when_namespaces_were_last_heard_of(command):
    command.wait_for("^namespaces whose labels are known: 2$")

    assert heard_at(command) > 1_700_000_000


def heard_at(command: Command) -> float:
    lines = command.probe("/metrics")[1].splitlines()
    (line,) = (line for line in lines if line.startswith("gpupolicy_namespaces_heard_timestamp_seconds "))
    return float(line.split()[1])


def test_a_policy_that_needs_no_labels_asks_no_cluster(folder, cluster):
    (folder / "policy.yaml").write_text(SELECTS_NOT)
    with served(folder, cluster) as command:
        allowed = is_allowed(command, "lab"), is_allowed(command, "trial")
        ready = command.probe("/readyz")
        heard = heard_at(command)

    assert (allowed, ready) == ((False, True), (200, "ok\n"))
    assert heard != heard
    assert cluster.asked == []


def test_a_changed_policy_that_needs_labels_is_taken_when_they_are_known(folder, cluster):
    (folder / "policy.yaml").write_text(SELECTS_NOT)
    with served(folder, cluster) as command:
        before = is_allowed(command, "lab")
        (folder / "policy.yaml").write_text(SELECTS)
        command.wait_for("^policy training was read again$")

        assert (before, is_allowed(command, "lab")) == (False, True)


def test_a_changed_policy_whose_labels_cannot_be_read_is_refused(folder, cluster):
    cluster.refuse = (403, "namespaces is forbidden")
    (folder / "policy.yaml").write_text(SELECTS_NOT)
    with served(folder, cluster) as command:
        assert command.endpoint
        (folder / "policy.yaml").write_text(SELECTS)
        command.wait_for("^the changed policy is not taken, the old one goes on:$")
        command.wait_for("^namespaces are not known yet: context test: namespaces is forbidden ")

        assert (is_allowed(command, "trial"), is_allowed(command, "lab")) == (True, False)
        status, told = command.probe("/readyz")
        assert (status, told.split(", ")[0]) == (200, "ok\nthe changed policy is refused")


def test_a_changed_policy_is_refused_where_there_is_no_way_to_the_cluster(folder):
    (folder / "policy.yaml").write_text(SELECTS_NOT)
    with commanded(folder / "policy.yaml", folder) as command:
        assert command.endpoint
        (folder / "policy.yaml").write_text(SELECTS)
        command.wait_for("^the changed policy is not taken, the old one goes on:$")
        command.wait_for("^there is no way to the cluster: no --kubeconfig is given, and this is no pod with a token ")

        assert is_allowed(command, "trial")


def test_a_server_that_needs_labels_does_not_start_without_a_way_to_the_cluster(folder):
    with commanded(folder / "policy.yaml", folder) as command:
        status = command.wait()
        command.collector.join()

    assert status == 2
    assert command.lines == [
        f"{folder / 'policy.yaml'}:13 needs labels of namespaces: the cluster is asked",
        "error: there is no way to the cluster: no --kubeconfig is given, and this is no pod with a token "
        "(service host/port is not set)",
    ]


def test_it_stops_as_ever_while_it_watches(command):
    command.wait_for("^namespaces whose labels are known: 2$")
    command.wait_for("^probes and metrics ")
    command.stop()
    command.wait_for("^stopping in ")
    command.stop()

    assert command.wait() == 0
