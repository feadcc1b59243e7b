"""``gpupolicy serve`` as a process: it starts, reloads, drains and stops as a cluster needs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from serving import Command, commanded, read_answer, write_pair

from gpupolicy.certificates import TRIAL_NAMES, expires_at, issue, read_pair

POLICY = """\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: training}
spec:
  gpuTypes:
    - name: V100
      gpusPerNode: 8
      nodeSelector: {matchLabels: {nvidia.com/gpu.product: Tesla-V100-SXM2-32GB}}
  slotGroups:
    - {name: SLOT-SMALL, sizes: [1, 2, 4], nodes: [{gpuType: V100, weight: 3}]}
    - {name: SLOT-8, sizes: [8], nodes: [{gpuType: V100, weight: 1}]}
  scheduler:
    profiles:
      - schedulerName: bin-packing-scheduler
        scoringStrategy:
          type: MostAllocated
          resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: nvidia.com/gpu, weight: 100}]
  admission:
    requestSizes: powerOfTwo
    exemptions:
      - {namespaces: [kube-system, gpu-system], reason: parts of the cluster itself}
"""


def review(gpus: int) -> bytes:
    container = {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    request = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "team-a",
        "object": {"metadata": {"name": "job-a"}, "spec": {"containers": [container]}},
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def is_allowed(command: Command, gpus: int) -> bool:
    status, body = command.endpoint.post("/validate?timeout=3s", review(gpus))
    assert status == 200
    return json.loads(body)["response"]["allowed"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files as a cluster mounts them: policy.yaml and a certificate for loopback."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    return write_pair(tmp_path)


@pytest.fixture
def command(folder: Path) -> Iterator[Command]:
    """A server that drains for a second."""
    with commanded(folder / "policy.yaml", folder, "--drain-seconds", "1") as command:
        yield command


def half_a_review(command: Command) -> tuple[socket.socket, bytes]:
    """A connection with a review under way, and the rest of it."""
    body = review(1)
    connection = command.endpoint.connect()
    connection.sendall(b"POST /mutate HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:50])
    return connection, body[50:]


def test_the_address_and_the_policy_are_told_when_reviews_are_served(command):
    assert command.wait_for(r"^serving https://127.0.0.1:\d+ policy training$")


def test_a_served_review_is_judged_by_the_policy(command):
    assert [is_allowed(command, gpus) for gpus in (1, 3)] == [True, False]


def test_a_ready_server_says_so_on_the_plain_port(command):
    assert command.probe("/readyz") == (200, "ok\n")


def test_the_metrics_show_reviews_and_the_end_of_the_certificate(command, folder):
    is_allowed(command, 1)
    ends = expires_at((folder / "tls.crt").read_bytes()).timestamp()

    lines = command.probe("/metrics")[1].splitlines()

    assert 'gpupolicy_reviews_total{dry_run="false",operation="CREATE",verdict="allow"} 1.0' in lines
    assert [float(line.split()[1]) for line in lines if line.startswith("gpupolicy_certificate_expiry")] == [ends]


def test_sigterm_drains_before_it_stops(command):
    """Not ready at once, still answering, closing connections, finishing what is under way, exit 0."""
    connection, rest = half_a_review(command)
    with connection:
        command.stop()
        command.wait_for("^stopping in 1 s$")
        readiness = command.probe("/readyz")
        allowed = is_allowed(command, 1)
        connection.sendall(rest)
        answer = read_answer(connection)
    status = command.wait()

    assert (readiness, allowed) == ((503, "draining\n"), True)
    assert (answer.status, answer.headers["connection"]) == (200, "close")
    assert status == 0


def test_a_review_under_way_when_the_drain_ends_is_still_answered(command):
    connection, rest = half_a_review(command)
    with connection:
        command.stop()
        command.wait_for("^stopping in 1 s$")
        time.sleep(1.5)
        connection.sendall(rest)
        answer = read_answer(connection)

    assert answer.status == 200
    assert command.wait() == 0


def test_a_second_signal_stops_at_once(folder):
    with commanded(folder / "policy.yaml", folder, "--drain-seconds", "3600") as command:
        assert command.endpoint
        command.stop()
        command.wait_for("^stopping in 3600 s$")
        command.stop()

        assert command.wait() == 0


def test_an_interrupt_from_a_terminal_does_not_drain(folder):
    with commanded(folder / "policy.yaml", folder, "--drain-seconds", "3600") as command:
        assert command.endpoint
        command.stop(signal.SIGINT)

        assert command.wait() == 0


def test_a_certificate_swapped_as_kubelet_does_it_is_served_without_a_restart(folder):
    authority = read_pair(folder / "ca.crt", folder / "ca.key")
    for name in ("old", "new"):
        (folder / name).mkdir()
        pair = issue(authority, TRIAL_NAMES, now=datetime.now(UTC))
        (folder / name / "tls.crt").write_bytes(pair.certificate)
        (folder / name / "tls.key").write_bytes(pair.key)
    (folder / "..data").symlink_to("old")
    for name in ("tls.crt", "tls.key"):
        (folder / name).unlink()
        (folder / name).symlink_to(f"..data/{name}")
    with commanded(folder / "policy.yaml", folder) as command:
        serials = [serial(command)]
        (folder / "..tmp").symlink_to("new")
        os.replace(folder / "..tmp", folder / "..data")
        command.wait_for("^the certificate was read again$")
        serials.append(serial(command))

    assert serials[0] != serials[1]


def serial(command: Command) -> str:
    with command.endpoint.connect() as connection:
        return connection.getpeercert()["serialNumber"]


def test_a_certificate_without_its_key_leaves_the_old_one_in_force(command, folder):
    before = serial(command)
    authority = read_pair(folder / "ca.crt", folder / "ca.key")
    (folder / "tls.crt").write_bytes(issue(authority, TRIAL_NAMES, now=datetime.now(UTC)).certificate)
    command.wait_for("^the changed certificate is not taken, the old one goes on: .*tls.key: is not the key of ")

    assert serial(command) == before
    assert 'gpupolicy_reloads_total{result="refused",what="certificate"} 1.0' in command.probe("/metrics")[1]


def test_a_changed_policy_is_taken_without_a_restart(command, folder):
    before = is_allowed(command, 3)
    (folder / "policy.yaml").write_text(
        POLICY.replace("powerOfTwo", "[1, 2, 3, 4, 8]").replace("[1, 2, 4]", "[1, 2, 3, 4]")
    )
    command.wait_for("^policy training was read again$")

    assert (before, is_allowed(command, 3)) == (False, True)


def test_a_broken_policy_leaves_the_old_one_in_force_and_says_what_is_wrong(command, folder):
    assert command.endpoint
    (folder / "policy.yaml").write_text(POLICY.replace("powerOfTwo", "powerOfThree"))
    command.wait_for("^the changed policy is not taken, the old one goes on:$")
    command.wait_for(r"policy.yaml:19:\d+: .*powerOfThree")

    assert [is_allowed(command, gpus) for gpus in (1, 3)] == [True, False]


def test_a_certificate_for_trying_is_trusted_and_gone_after_the_run(folder):
    with commanded(folder / "policy.yaml", None) as command:
        allowed = is_allowed(command, 1)
        authority = command.authority
        command.stop(signal.SIGINT)
        status = command.wait()

    assert (allowed, status, authority.exists()) == (True, 0, False)


def refused(policy: Path, folder: Path, *options: str) -> tuple[int, list[str]]:
    """Exit status and lines of a server that cannot start."""
    with commanded(policy, folder, *options) as command:
        status = command.wait()
        command.collector.join()
        return status, command.lines


def test_a_port_in_use_is_said_in_one_line(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert refused(folder / "policy.yaml", folder, "--port", str(port)) == (
            2,
            [f"error: port {port} on 127.0.0.1 is in use"],
        )


def test_a_missing_certificate_is_said_in_one_line(folder):
    (folder / "tls.crt").unlink()

    assert refused(folder / "policy.yaml", folder) == (
        2,
        [f"error: {folder / 'tls.crt'}: cannot be read: no such file or directory"],
    )


def test_a_key_of_another_certificate_is_said_in_one_line(folder):
    (folder / "tls.key").write_bytes((folder / "ca.key").read_bytes())

    assert refused(folder / "policy.yaml", folder) == (
        2,
        [f"error: {folder / 'tls.key'}: is not the key of {folder / 'tls.crt'}"],
    )


def test_a_policy_with_errors_is_told_as_lint_tells_it(folder):
    (folder / "policy.yaml").write_text(POLICY.replace("powerOfTwo", "powerOfThree"))

    status, lines = refused(folder / "policy.yaml", folder)

    assert status == 2
    assert lines[0].startswith(f"{folder / 'policy.yaml'}:19:19: error: ")
    assert lines[-1] == "error: the policy has errors, so nothing was done"
