"""The harness itself: it leaves nothing behind, and what it offers is what a cluster would do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from e2e.controlplane import KEEP, ControlPlane, check_scheduler_config
from e2e.objects import node, pod, scheduler_config
from e2e.processes import ServerProcess, tail, wait_for
from e2e.rest import Object, RefusedError
from e2e.webhooks import SmallWebhook, denied, patched

TESTS = Path(__file__).parents[1]

START_AND_WAIT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from e2e.controlplane import ControlPlane
with ControlPlane() as plane:
    plane.controller_manager()
    plane.scheduler({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"})
    print(plane.folder, flush=True)
    time.sleep(600)
"""


def commands_naming(folder: str) -> list[str]:
    """The commands of all processes on this machine that name a folder."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if folder in line]


@pytest.fixture
def other_process(binaries: dict[str, Path], tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another Python that has started a whole control plane; the first line that it prints is the folder."""
    command = [sys.executable, "-c", START_AND_WAIT, str(TESTS)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield process
        process.kill()


@pytest.fixture
def demos(binaries: dict[str, Path]) -> Iterator[tuple[subprocess.Popen[str], subprocess.Popen[str]]]:
    """The cluster for people, as ``make cluster`` starts it, twice."""
    environment = {name: value for name, value in os.environ.items() if name != KEEP}

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, str(TESTS / "e2e" / "cluster.py")]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)

    with start() as one, start() as two:
        yield one, two
        one.kill()
        two.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_no_server_survives_the_sudden_death_of_the_process_that_started_it(
    other_process: subprocess.Popen[str],
) -> None:
    folder = first_line(other_process)
    before = commands_naming(folder)
    os.kill(other_process.pid, signal.SIGKILL)

    assert sorted(Path(line.split()[0]).name for line in before) == [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    ]
    wait_for(lambda: not commands_naming(folder), message=lambda: f"no process left, but {commands_naming(folder)}")


def test_a_server_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """The kernel ties a child to a thread, not to a process: a test that starts one in a pool must not lose it."""

    def start() -> ServerProcess:
        process = ServerProcess("sleeper", ["/bin/sh", "-c", "echo started; exec sleep 60"], tmp_path)
        wait_for(lambda: "started" in tail(process.log))
        return process

    with ThreadPoolExecutor() as pool:
        process = pool.submit(start).result()
    time.sleep(0.3)  # a signal would have come at once
    was_running = process.is_running
    process.kill()

    assert was_running


def test_two_clusters_for_people_started_at_the_same_moment_do_not_collide_and_end_without_a_trace(
    demos: tuple[subprocess.Popen[str], subprocess.Popen[str]], binaries: dict[str, Path]
) -> None:
    kubeconfigs = [first_line(demo).removeprefix("export KUBECONFIG=") for demo in demos]

    def kubectl(kubeconfig: str, *arguments: str) -> list[str]:
        command = [binaries["kubectl"], "--kubeconfig", kubeconfig, *arguments, "-o", "name"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    first = kubectl(kubeconfigs[0], "get", "nodes")
    kubectl(kubeconfigs[0], "delete", *first[:1])
    listed = [kubectl(kubeconfig, "get", "nodes") for kubeconfig in kubeconfigs]
    for demo, ending in zip(demos, (signal.SIGINT, signal.SIGTERM), strict=True):
        demo.send_signal(ending)

    assert [demo.wait(30) for demo in demos] == [0, 0]
    assert (len(first), listed) == (5, [first[1:], first])
    for kubeconfig in kubeconfigs:
        assert commands_naming(str(Path(kubeconfig).parent)) == []
        assert not Path(kubeconfig).exists()


def test_a_kubelet_may_not_change_the_node_of_another(control_plane: ControlPlane) -> None:
    control_plane.add_node("own")
    control_plane.add_node("other")
    kubelet = control_plane.api("system:node:own")
    label = {"metadata": {"labels": {"example.test/seen": "yes"}}}

    assert kubelet.patch(node("own"), label).status == 200
    assert kubelet.patch(node("other"), label).status == 403


def test_apply_keeps_nothing_on_a_dry_run(control_plane: ControlPlane, namespace: str) -> None:
    (judged,) = control_plane.apply(pod("p"), dry_run=True, namespace=namespace)

    assert judged["spec"]["schedulerName"] == "default-scheduler"
    assert control_plane.pods(namespace) == []


def test_apply_refuses_an_unknown_field(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(RefusedError, match=r"\.spec\.nodeNam"):
        control_plane.apply(pod("p", nodeNam="a"), dry_run=True, namespace=namespace)


def test_warnings_are_part_of_the_answer(control_plane: ControlPlane, namespace: str) -> None:
    answer = control_plane.api().post(pod("p", nodeNam="a"), namespace=namespace, dry_run=True, strict=False)

    assert answer.accepted
    assert answer.warnings == ('unknown field "spec.nodeNam"',)


def test_kubectl_speaks_as_the_user_it_is_given(control_plane: ControlPlane) -> None:
    done = control_plane.kubectl("get", "pods", user="jane")

    assert done.returncode == 1
    assert 'User "jane" cannot list resource "pods"' in done.stderr


def test_requests_are_found_in_the_audit_log(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.create(pod("p"), namespace)

    (event,) = wait_for(lambda: control_plane.audit_events(containing=f"/namespaces/{namespace}/pods"))

    assert (event["verb"], event["user"]["username"], event["responseStatus"]["code"]) == ("create", "admin", 201)


def test_a_webhook_is_registered_by_address_and_its_denial_reaches_the_user(
    control_plane: ControlPlane, namespace: str
) -> None:
    with SmallWebhook(lambda request: denied("not this one")) as webhook:
        control_plane.apply(webhook.registration("deny.example.test", namespaces=[namespace]))
        wait_for(lambda: not control_plane.api().post(pod("p"), namespace=namespace, dry_run=True).accepted)
        answer = control_plane.api().post(pod("p"), namespace=namespace)

    assert answer.message == 'admission webhook "deny.example.test" denied the request: not this one'
    assert (len(webhook.requests),) == control_plane.webhook_calls("deny.example.test") == (2,)


def test_a_mutating_webhook_changes_the_pod(control_plane: ControlPlane, namespace: str) -> None:
    label = {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}
    with SmallWebhook(lambda request: patched([label])) as webhook:
        control_plane.apply(webhook.registration("label.example.test", namespaces=[namespace], mutating=True))
        made = wait_for(lambda: seen(control_plane.create(pod("p"), namespace, dry_run=True)))

    assert made["metadata"]["labels"] == {"seen": "yes"}


def seen(made: Object) -> Object:
    """The pod, once the webhook is live and has labelled it; nothing before."""
    return made if made["metadata"].get("labels") else {}


def test_a_good_scheduler_configuration_comes_back_with_its_defaults(binaries: dict[str, Path]) -> None:
    status, error, defaulted = check_scheduler_config(scheduler_config({"schedulerName": "mine"}))

    assert (status, error) == (0, "")
    assert defaulted is not None
    assert defaulted["parallelism"] == 16


def test_a_bad_scheduler_configuration_comes_back_with_the_schedulers_own_words(binaries: dict[str, Path]) -> None:
    status, error, defaulted = check_scheduler_config(scheduler_config({"schedulerName": "a"}, parallelism=0))

    assert (status, defaulted) == (1, None)
    assert error == "parallelism: Invalid value: 0: should be an integer value greater than zero"
