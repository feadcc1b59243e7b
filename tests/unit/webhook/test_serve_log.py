"""The log of the running command: what is written, and that reviews go on where nothing can be written."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from serving import PATIENCE_SECONDS, Command, Endpoint, commanded, write_pair
from starting import start

from gpupolicy.certificates import TRIAL_NAMES, issue, read_pair

POLICY = Path(__file__).parents[3] / "policies" / "classic.yaml"


def review(gpus: int) -> bytes:
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}}
    container = {"name": "c", "image": "x", "resources": limits, "env": [{"name": "TOKEN", "value": "hunter2"}]}
    request = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": "team-a",
        "userInfo": {"username": "jane"},
        "object": {"metadata": {"name": "job-a"}, "spec": {"containers": [container]}},
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def answer(endpoint: Endpoint, gpus: int) -> bool:
    status, body = endpoint.post("/validate?timeout=3s", review(gpus))
    assert status == 200
    return json.loads(body)["response"]["allowed"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY.read_text())
    return write_pair(tmp_path)


@pytest.fixture
def command(folder: Path) -> Iterator[Command]:
    with commanded(folder / "policy.yaml", folder, "--log-format", "json") as command:
        yield command


def events(command: Command, event: str) -> list[dict]:
    command.wait_for(f'"event": "{event}"')
    return [found for line in list(command.lines) if (found := json.loads(line))["event"] == event]


def test_every_line_is_a_json_object(command):
    answer(command.endpoint, 3)

    assert events(command, "denied")
    assert {json.loads(line)["level"] for line in command.lines} == {"info"}


def test_a_denial_names_who_what_and_why_and_no_environment(command):
    answer(command.endpoint, 3)

    (found,) = events(command, "denied")
    assert (found["user"], found["namespace"], found["name"], found["rules"]) == (
        "jane",
        "team-a",
        "job-a",
        ["request-size-not-admitted"],
    )
    assert "hunter2" not in "\n".join(command.lines)


def test_the_version_in_the_log_is_that_of_the_answer_and_of_the_metrics(command):
    _, body = command.endpoint.post("/validate?timeout=3s", review(3))
    (found,) = events(command, "denied")
    name, _, fingerprint = found["policy"].partition("@")

    assert json.loads(body)["response"]["auditAnnotations"]["policy"] == found["policy"]
    assert f'gpupolicy_policy_info{{hash="{fingerprint}",policy="{name}"}} 1.0' in command.probe("/metrics")[1]


def test_a_refused_policy_is_a_warning_and_readiness_says_so(command, folder):
    assert command.endpoint
    (folder / "policy.yaml").write_text("kind: GPUPolicy\n")

    (found,) = events(command, "warning")
    assert found["message"].startswith("the changed policy is not taken, the old one goes on:")
    assert command.probe("/readyz")[1].startswith("ok\nthe changed policy is refused, classic@")
    assert 'gpupolicy_reload_refused{what="policy"} 1.0' in command.probe("/metrics")[1]


def test_a_certificate_that_ends_soon_is_a_warning_at_the_start(folder):
    authority = read_pair(folder / "ca.crt", folder / "ca.key")
    pair = issue(authority, TRIAL_NAMES, now=datetime.now(UTC) - timedelta(days=80), days=90)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    with commanded(folder / "policy.yaml", folder, "--log-format", "json") as command:
        (found,) = events(command, "warning")

        assert found["message"].startswith("the certificate ends on ")
        assert "\nthe certificate ends on " in command.probe("/readyz")[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no disk that is always full")
def test_reviews_go_on_while_the_disk_is_full(folder):
    port = free_port()
    with open("/dev/full", "wb") as full:
        process = serve(folder, port, full)
    try:
        endpoint = Endpoint(port, folder / "ca.crt")
        wait_for_port(port)

        assert [answer(endpoint, gpus) for gpus in (1, 3, 3)] == [True, False, False]
    finally:
        process.kill()
        process.wait()


def test_reviews_go_on_when_nobody_reads_the_log_any_more(folder):
    port = free_port()
    process = serve(folder, port, subprocess.PIPE)
    try:
        endpoint = Endpoint(port, folder / "ca.crt")
        wait_for_port(port)
        process.stderr.close()

        assert [answer(endpoint, gpus) for gpus in (1, 3, 3)] == [True, False, False]
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


def serve(folder: Path, port: int, stderr: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gpupolicy", "serve", str(folder / "policy.yaml"), "--host", "127.0.0.1"]
    files = ["--cert", str(folder / "tls.crt"), "--key", str(folder / "tls.key"), "--drain-seconds", "0"]
    return start([*command, "--port", str(port), "--metrics-port", "0", *files], stderr=stderr)


def wait_for_port(port: int) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("no server")
