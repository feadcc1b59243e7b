"""With the webhook down: GPU pods wait as the policy says, and everything else in the cluster goes on."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import Manifest, node, pod, scheduler_config, workload
from e2e.processes import wait_for
from e2e.product import Product, installed, shipped, variant
from e2e.rest import Answer, Api, Object

from gpupolicy import compile
from gpupolicy.certificates import renew, service_names, to_secret

GATES = [{"name": "example.test/wait"}]


@dataclass(frozen=True, slots=True)
class Outage:
    """A cluster whose webhook is down, and a namespace with a GPU pod for each thing that is done to one."""

    plane: ControlPlane
    product: Product
    namespace: str

    def pod(self, name: str) -> Manifest:
        """A reference to one of the pods."""
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": self.namespace}}

    def patch(self, name: str, patch: object, kind: str = "merge", subresource: str = "") -> Answer:
        return self.plane.api().patch(self.pod(name), patch, kind, subresource=subresource)

    def post(self, name: str, subresource: str, version: str, kind: str, **fields: object) -> Answer:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}
        return self.plane.api().request("POST", f"/api/v1/namespaces/{self.namespace}/pods/{name}/{subresource}", body)


@contextmanager
def outage(plane: ControlPlane, policy_file: Path, pods: Iterable[str] = ()) -> Iterator[Outage]:
    """Install a policy, make 8-GPU pods under it that a gate holds, and end the webhook's process."""
    namespace = plane.add_namespace(f"e2e-outage-{secrets.token_hex(4)}")
    with installed(plane, policy_file) as product:
        for name in pods:
            plane.create(pod(name, 8, schedulingGates=GATES), namespace)
        product.server.stop()
        yield Outage(plane, product, namespace)
    plane.delete_namespace(namespace)


def counted(plane: ControlPlane, metric: str, *labels: str) -> float:
    """What the API server's metrics count under some labels, of which the alerts select by these."""
    lines = plane.api().request("GET", "/metrics").message.splitlines()
    chosen = [line for line in lines if line.startswith(metric + "{") and all(label in line for label in labels)]
    return sum(float(line.rpartition(" ")[2]) for line in chosen)


def bound(down: Outage) -> Answer:
    ungated = down.patch("binding", [{"op": "remove", "path": "/spec/schedulingGates"}], "json")
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    return down.post("binding", "binding", "v1", "Binding", target=target) if ungated.accepted else ungated


def ended(down: Outage) -> Answer:
    held = down.patch("end", {"metadata": {"finalizers": ["example.test/keep"]}})
    deleted = down.plane.api().delete(down.pod("end"), grace_seconds=0)
    assert (held.status, deleted.status) == (200, 200)
    return down.patch("end", {"metadata": {"finalizers": None}})


WITH_GPU_PODS: dict[str, Callable[[Outage], Answer]] = {
    "label": lambda down: down.patch("label", {"metadata": {"labels": {"team": "a"}}}),
    "status": lambda down: down.patch("status", {"status": {"message": "seen"}}, subresource="status"),
    "debug": lambda down: down.patch(
        "debug",
        {"spec": {"ephemeralContainers": [{"name": "debug", "image": "example.test/debug:1"}]}},
        "strategic",
        "ephemeralcontainers",
    ),
    "resize": lambda down: down.patch(
        "resize",
        {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]}},
        "strategic",
        "resize",
    ),
    "binding": bound,
    "eviction": lambda down: down.post("eviction", "eviction", "policy/v1", "Eviction"),
    "deletion": lambda down: down.plane.api().delete(down.pod("deletion"), grace_seconds=0),
    "end": ended,
}

ELSEWHERE: dict[str, Callable[[Api, str], Answer]] = {
    "pod-without-gpus": lambda api, namespace: api.post(pod("plain", 0), namespace=namespace),
    "gpu-pod-in-kube-system": lambda api, _: api.post(pod("driver", 1), namespace="kube-system", dry_run=True),
    "deployment-with-gpus": lambda api, namespace: api.post(workload("Deployment", "d", 0, 3), namespace=namespace),
    "node": lambda api, _: api.post({k: v for k, v in node("n2").items() if k != "status"}),
    "node-label": lambda api, _: api.patch(node("n1"), {"metadata": {"labels": {"rack": "r1"}}}),
    "node-status": lambda api, _: api.patch(node("n1"), {"status": node("n1")["status"]}, subresource="status"),
    "config-map": lambda api, namespace: api.post(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, namespace=namespace
    ),
    "removing-the-registration": lambda api, _: api.request(
        "DELETE",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/gpupolicy-classic",
        query={"dryRun": "All"},
    ),
}


@pytest.fixture(scope="class")
def down(control_plane: ControlPlane) -> Iterator[Outage]:
    """The classic policy's webhook down; its failurePolicy is the default."""
    with outage(control_plane, shipped("classic"), WITH_GPU_PODS) as down:
        yield down


class TestWithFailurePolicyFail:
    def test_a_new_gpu_pod_is_refused_and_the_user_reads_which_webhook_is_missing(self, down: Outage) -> None:
        answer = down.plane.api().post(pod("new", 1), namespace=down.namespace)

        assert answer.status == 500
        assert answer.message.startswith(
            'Internal error occurred: failed calling webhook "route.classic.gpupolicy.dev": failed to call webhook: '
        )
        assert answer.message.endswith("connect: connection refused")

    def test_the_api_server_counts_it_under_the_labels_of_the_alert(self, down: Outage) -> None:
        labels = ('name="route.classic.gpupolicy.dev"', 'error_type="calling_webhook_error"')
        before = counted(down.plane, "apiserver_admission_webhook_rejection_count", *labels)
        down.plane.api().post(pod("counted", 1), namespace=down.namespace)

        assert counted(down.plane, "apiserver_admission_webhook_rejection_count", *labels) == before + 1

    @pytest.mark.parametrize("name", WITH_GPU_PODS)
    def test_gpu_pods_that_are_there_live_and_end_as_ever(self, name: str, down: Outage) -> None:
        down.plane.add_node("n1")

        answer = WITH_GPU_PODS[name](down)

        assert answer.accepted, answer.message

    @pytest.mark.parametrize("name", ELSEWHERE)
    def test_everything_else_goes_on(self, name: str, down: Outage) -> None:
        down.plane.add_node("n1")

        answer = ELSEWHERE[name](down.plane.api(), down.namespace)

        assert answer.accepted, answer.message


def test_waiting_workloads_get_their_pods_when_the_webhook_is_back(control_plane: ControlPlane) -> None:
    with outage(control_plane, shipped("classic")) as down:
        control_plane.create(workload("ReplicaSet", "train", 2, 4), down.namespace)
        (event, *_) = control_plane.wait_for_events(down.namespace, about="train")
        with_it_down = control_plane.pods(down.namespace)
        with down.product.served_again():
            pods = wait_for(lambda: pair(control_plane.pods(down.namespace)), message="both pods")

    assert (event["reason"], with_it_down) == ("FailedCreate", [])
    assert [each["metadata"]["annotations"]["gpupolicy.dev/routed-to"] for each in pods] == ["SLOT-4", "SLOT-4"]


def pair(pods: list[Object]) -> list[Object]:
    """The pods, once there are two."""
    return pods if len(pods) == 2 else []


def test_a_webhook_that_hangs_refuses_gpu_pods_after_its_timeout_and_holds_nobody_else_up(
    control_plane: ControlPlane, namespace: str
) -> None:
    with installed(control_plane, shipped("classic")) as product:
        os.kill(product.server.process.pid, signal.SIGSTOP)
        with_gpus = control_plane.api().post(pod("p", 1), namespace=namespace)
        without = control_plane.api().post(pod("q", 0), namespace=namespace)
        os.kill(product.server.process.pid, signal.SIGCONT)
        again = control_plane.api().post(pod("p", 1), namespace=namespace)

    assert (with_gpus.status, with_gpus.message.endswith("context deadline exceeded")) == (500, True)
    assert (without.status, again.status) == (201, 201)


def lenient(spec: dict[str, Any]) -> None:
    spec["webhook"] = {"failurePolicy": "Ignore"}


@pytest.fixture(scope="class")
def ignored(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outage]:
    """The webhook down of a policy that says Ignore."""
    with outage(control_plane, variant("classic", tmp_path_factory.mktemp("policy"), lenient)) as down:
        yield down


class TestWithFailurePolicyIgnore:
    @pytest.mark.parametrize("gpus", [2, 3])
    def test_gpu_pods_pass_unjudged_and_unrouted(self, gpus: int, ignored: Outage) -> None:
        """The price of Ignore: nobody is told, and the pods stay where the default scheduler puts them."""
        answer = ignored.plane.api().post(pod(f"p-{gpus}", gpus), namespace=ignored.namespace)

        assert (answer.status, answer.warnings) == (201, ())
        assert (answer.body["spec"].get("affinity"), answer.body["spec"]["schedulerName"]) == (
            None,
            "default-scheduler",
        )

    @pytest.mark.parametrize("hook", ["route", "check"])
    def test_the_api_server_counts_it_under_the_labels_of_the_alert(self, hook: str, ignored: Outage) -> None:
        label = f'name="{hook}.classic.gpupolicy.dev"'
        before = counted(ignored.plane, "apiserver_admission_webhook_fail_open_count", label)
        ignored.plane.create(pod(f"counted-{hook}", 1), ignored.namespace)

        assert counted(ignored.plane, "apiserver_admission_webhook_fail_open_count", label) == before + 1

    def test_the_audit_log_says_which_pods_passed_unjudged(self, ignored: Outage) -> None:
        ignored.plane.create(pod("unseen", 1), ignored.namespace)

        events = wait_for(lambda: ignored.plane.audit_events(containing='"name":"unseen"'))
        annotations = events[0]["annotations"]
        assert annotations["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"] == (
            "check.classic.gpupolicy.dev"
        )


@pytest.fixture
def installation(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Outage]:
    """What we compile for the webhook, with its Secret, applied to a namespace of its own while no webhook answers."""
    own = f"e2e-system-{secrets.token_hex(4)}"
    policy_file = variant("classic", tmp_path, lambda spec: spec.update(webhook={"namespace": own}))
    with outage(control_plane, policy_file) as down:
        policy = down.product.policy
        pair = renew(tmp_path / "tls", service_names(policy.webhook.name, own), now=datetime.now(UTC))
        documents = compile(policy, ("webhook",), ca_bundle=pair.authority)
        workload_first = [each for each in documents if "WebhookConfiguration" not in str(each["kind"])]
        control_plane.apply(workload_first[0])
        control_plane.apply([to_secret(policy.webhook.certificates.secret_name, own, pair), *workload_first[1:]])
        yield Outage(control_plane, down.product, own)
    control_plane.delete_namespace(own)


def test_our_own_deployment_comes_up_while_no_webhook_answers(
    installation: Outage, control_plane: ControlPlane
) -> None:
    """As after a cold start of the cluster. Controllers make the pods, Pod Security and a quota judge them."""
    control_plane.add_nodes(2, gpus=0)
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gpupolicy-webhook"}}

    def is_available() -> bool:
        control_plane.act_as_kubelets(installation.namespace)
        status = control_plane.api().get(deployment, namespace=installation.namespace).body["status"]
        return any(each["type"] == "Available" and each["status"] == "True" for each in status.get("conditions", []))

    with control_plane.scheduler(scheduler_config({"schedulerName": "default-scheduler"})):
        wait_for(is_available, message=lambda: str(control_plane.events(installation.namespace)))

    assert sorted(control_plane.bound_nodes(installation.namespace).values()) == ["gpu-001", "gpu-002"]
