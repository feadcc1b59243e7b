"""What a policy compiles to for the API server: objects that it takes, a guard that guards, conditions that select."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from e2e.controlplane import ControlPlane
from e2e.objects import node, pod
from e2e.processes import wait_for
from e2e.rest import Answer
from e2e.webhooks import SmallWebhook, allowed
from golden.contents import CA_BUNDLE, policy_files

from gpupolicy import load
from gpupolicy.compiler import Order, compile, compile_manifests
from gpupolicy.compiler.folder import write_folder
from gpupolicy.compiler.nodes import compile_nodes
from gpupolicy.compiler.registration import compile_registration
from gpupolicy.compiler.rendering import render_files
from gpupolicy.model import CertificateMode, LeaderElection, Policy

POLICIES = policy_files()
REFERENCE = load(POLICIES["reference"])
NOT_IN_THE_API = ("kubescheduler.config.k8s.io", "nfd.k8s-sigs.io", "cert-manager.io")
GROUP = "my.gpu.cluster/node-group"
TYPE = "my.gpu.cluster/gpu-type"


def moved_to(policy: Policy, namespace: str) -> Policy:
    """The policy with everything of its own in another namespace, which exists."""
    election = replace(policy.scheduler.leader_election or LeaderElection(), resource_namespace=namespace)
    scheduler = replace(policy.scheduler, leader_election=election)
    return replace(policy, scheduler=scheduler, webhook=replace(policy.webhook, namespace=namespace))


@pytest.mark.parametrize("name", POLICIES)
def test_the_api_server_takes_every_compiled_object_without_a_warning(
    name: str, control_plane: ControlPlane, namespace: str
) -> None:
    """Strictly: an unknown or repeated field is an error."""
    policy = moved_to(load(POLICIES[name]), namespace)
    bundle = CA_BUNDLE if policy.webhook.certificates.mode is CertificateMode.SECRET else None
    documents = [m.document for m in compile_manifests(Order(policy=policy, ca_bundle=bundle))]
    ours = [each for each in documents if not str(each["apiVersion"]).startswith(NOT_IN_THE_API)]

    applied = control_plane.apply(ours, dry_run=True)

    assert len(applied) == len(ours) > 10


@pytest.fixture
def guard(control_plane: ControlPlane) -> None:
    """The compiled guard, in force, and a node that an administrator labelled."""
    control_plane.add_node("n1", labels={GROUP: "SLOT-8", "other": "label"})
    control_plane.apply(m.document for m in compile_nodes(Order(policy=REFERENCE)) if m.kept_apart is None)
    wait_for(lambda: not by_kubelet(control_plane, {GROUP: "SLOT-1"}).accepted, message="the guard in force")


def by_kubelet(control_plane: ControlPlane, labels: dict[str, str | None], subresource: str = "") -> Answer:
    """What happens when the kubelet of n1 patches the labels of its node; nothing is kept."""
    patch = {"metadata": {"labels": labels}}
    return control_plane.api("system:node:n1").patch(node("n1"), patch, subresource=subresource, dry_run=True)


REFUSAL = (
    "nodes \"n1\" is forbidden: ValidatingAdmissionPolicy 'gpupolicy-reference-node-labels' with binding "
    "'gpupolicy-reference-node-labels' denied request: a kubelet may not set, change or remove {}: "
    "GPU policy reference owns the label, and an administrator sets it"
)


@pytest.mark.usefixtures("guard")
@pytest.mark.parametrize("subresource", ["", "status"], ids=["node", "status"])
@pytest.mark.parametrize(
    ("labels", "named"),
    [
        pytest.param({GROUP: "SLOT-1"}, GROUP, id="change"),
        pytest.param({GROUP: None}, GROUP, id="remove"),
        pytest.param({TYPE: "H100"}, TYPE, id="set"),
        pytest.param({TYPE: "H100", GROUP: "SLOT-1"}, f"{TYPE}, {GROUP}", id="two"),
    ],
)
def test_a_kubelet_cannot_touch_our_labels(
    labels: dict[str, str | None], named: str, subresource: str, control_plane: ControlPlane
) -> None:
    answer = by_kubelet(control_plane, labels, subresource)

    assert (answer.status, answer.message) == (403, REFUSAL.format(named))


@pytest.mark.usefixtures("guard")
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"nvidia.com/gpu.count": "8", "other": None}, id="other-labels"),
        pytest.param({GROUP: "SLOT-8"}, id="the-same-value"),
        pytest.param({"my.gpu.cluster/rack": "r1"}, id="another-label-of-the-domain"),
    ],
)
def test_a_kubelet_goes_on_with_everything_else(labels: dict[str, str | None], control_plane: ControlPlane) -> None:
    assert by_kubelet(control_plane, labels).accepted


@pytest.mark.usefixtures("guard")
def test_a_kubelet_cannot_register_with_our_labels_but_without_them(control_plane: ControlPlane) -> None:
    kubelet = control_plane.api("system:node:n2")

    refused = kubelet.post(node("n2", labels={GROUP: "SLOT-8"}), dry_run=True)

    assert refused.status == 403
    assert refused.message.endswith(
        "a kubelet may not set, change or remove my.gpu.cluster/node-group: "
        "GPU policy reference owns the label, and an administrator sets it"
    )
    assert kubelet.post(node("n2", labels={"other": "label"}), dry_run=True).accepted


@pytest.mark.usefixtures("guard")
def test_an_administrator_still_sets_our_labels(control_plane: ControlPlane) -> None:
    answer = control_plane.api().patch(node("n1"), {"metadata": {"labels": {GROUP: "SLOT-4"}}}, dry_run=True)

    assert answer.accepted


def test_applied_labels_are_removed_again_when_they_are_no_longer_wanted(control_plane: ControlPlane) -> None:
    """Server-side apply: what an earlier manifest of ours had and a later one has not, goes; the rest stays."""
    control_plane.add_node("n1", labels={TYPE: "V100", "other": "label"})
    full = compile(REFERENCE, ("nodes",), nodes=[control_plane.api().get(node("n1")).body])[-1]
    bare = {**full, "metadata": {"name": "n1", "labels": {TYPE: "V100"}}}

    control_plane.apply(full, field_manager="gpupolicy")
    (after,) = control_plane.apply(bare, field_manager="gpupolicy")

    assert {k: v for k, v in after["metadata"]["labels"].items() if "hostname" not in k} == {
        TYPE: "V100",
        "other": "label",
    }


@pytest.fixture
def recorder(control_plane: ControlPlane, namespace: str) -> Iterator[SmallWebhook]:
    """The compiled registration, with nothing changed but where the API server finds the webhook."""
    with SmallWebhook(lambda _: allowed()) as webhook:
        for manifest in compile_registration(Order(policy=REFERENCE)):
            (hook,) = manifest.document["webhooks"]  # type: ignore[misc]
            url = webhook.url + hook["clientConfig"]["service"]["path"]
            here = {**hook, "clientConfig": {"url": url, "caBundle": webhook.ca_bundle}}
            control_plane.apply({**manifest.document, "webhooks": [here]})

        def is_called() -> bool:
            control_plane.create(pod("probe", 1), namespace, dry_run=True)
            return len(webhook.requests) >= 2

        wait_for(is_called, message="both webhooks called")
        webhook.requests.clear()
        yield webhook


def without_gpus(**fields: object) -> dict[str, object]:
    return pod("p", 0, **fields)


def init_container(amount: str, name: str = "nvidia.com/gpu") -> dict[str, object]:
    return {"name": "init", "image": "example.test/init:1", "resources": {"limits": {name: amount}}}


CLAIM = {"name": "gpu", "resourceClaimName": "some"}


@pytest.mark.parametrize(
    ("asked", "calls"),
    [
        pytest.param(pod("p", 2), 2, id="limit"),
        pytest.param(pod("p", 2, resource="amd.com/gpu"), 0, id="not-counted"),
        pytest.param(pod("p", 1, resource="deviceclass.resource.kubernetes.io/gpu"), 2, id="implicit-dra-name"),
        pytest.param(without_gpus(initContainers=[init_container("8")]), 2, id="init-container"),
        pytest.param(without_gpus(initContainers=[init_container("0")]), 2, id="amount-0"),
        pytest.param(without_gpus(resourceClaims=[CLAIM]), 2, id="claim"),
        pytest.param(pod("p", 1, resource="nvidia.com/GPU"), 2, id="misspelt"),
        pytest.param(pod("p", 1, resource="nvidia.com/mig-1g.5gb"), 2, id="slice"),
        pytest.param(without_gpus(), 0, id="no-gpus"),
    ],
)
def test_only_pods_that_ask_for_counted_gpus_reach_the_webhook(
    asked: dict[str, object], calls: int, recorder: SmallWebhook, control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.create(asked, namespace, dry_run=True)

    assert len(recorder.requests) == calls


def test_an_excluded_namespace_never_reaches_the_webhook(recorder: SmallWebhook, control_plane: ControlPlane) -> None:
    control_plane.create(pod("p", 1), "kube-system", dry_run=True)

    assert recorder.requests == []


def change(control_plane: ControlPlane, namespace: str, name: str, patch: dict[str, object]) -> None:
    pod_of_that_name = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
    answer = control_plane.api().patch(pod_of_that_name, patch)
    assert answer.accepted, answer.message


def test_of_existing_pods_only_a_new_placement_reaches_the_validating_webhook(
    recorder: SmallWebhook, control_plane: ControlPlane, namespace: str
) -> None:
    """Placement can change only while scheduling gates hold the pod."""
    control_plane.create(pod("gated", 1, schedulingGates=[{"name": "example.test/wait"}]), namespace)
    recorder.requests.clear()

    change(control_plane, namespace, "gated", {"metadata": {"labels": {"a": "b"}}})
    change(control_plane, namespace, "gated", {"spec": {"nodeSelector": {"rack": "r1"}}})
    change(control_plane, namespace, "gated", {"spec": {"schedulingGates": []}})

    assert [(each["operation"], each["object"]["spec"]["nodeSelector"]) for each in recorder.requests] == [
        ("UPDATE", {"rack": "r1"})
    ]


def test_deleting_and_binding_pods_never_reach_the_webhook(
    recorder: SmallWebhook, control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.add_node("n1")
    control_plane.create(pod("p", 1), namespace)
    recorder.requests.clear()
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target}

    bound = control_plane.api().request("POST", f"/api/v1/namespaces/{namespace}/pods/p/binding", binding)
    gone = control_plane.api().delete(pod("p"), namespace=namespace, grace_seconds=0)

    assert (bound.accepted, gone.accepted, recorder.requests) == (True, True, [])


@pytest.mark.parametrize("name", POLICIES)
def test_kustomize_takes_the_folder_as_it_is(name: str, binaries: dict[str, Path], tmp_path: Path) -> None:
    policy = load(POLICIES[name])
    manifests = compile_manifests(Order(policy=policy))
    write_folder(tmp_path / "out", render_files(policy, manifests))

    built = subprocess.run([binaries["kubectl"], "kustomize", tmp_path / "out"], capture_output=True, text=True)

    assert (built.returncode, built.stderr) == (0, "")
    assert len(list(yaml.safe_load_all(built.stdout))) == sum(manifest.kept_apart is None for manifest in manifests)
