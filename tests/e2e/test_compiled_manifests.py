"""The compiled registration as the API server reads it: which requests reach the webhook; and the compiled folder."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from e2e.controlplane import ControlPlane
from e2e.objects import pod
from e2e.processes import wait_for
from e2e.rest import Object
from e2e.webhooks import SmallWebhook, allowed
from golden.contents import policy_files

from gpupolicy import load
from gpupolicy.compiler import Order, compile_manifests
from gpupolicy.compiler.folder import write_folder
from gpupolicy.compiler.registration import compile_registration
from gpupolicy.compiler.rendering import render_files

POLICIES = policy_files()
REFERENCE = load(POLICIES["reference"])


@pytest.fixture
def recorder(control_plane: ControlPlane, namespace: str) -> Iterator[SmallWebhook]:
    """The compiled registration, with nothing changed but where the API server finds the webhook."""
    with SmallWebhook(lambda _: allowed()) as webhook:
        for manifest in compile_registration(Order(policy=REFERENCE)):
            hooks = [here(hook, webhook) for hook in manifest.document["webhooks"]]  # type: ignore[attr-defined]
            control_plane.apply({**manifest.document, "webhooks": hooks})

        def is_called() -> bool:
            control_plane.create(pod("probe", 1), namespace, dry_run=True)
            return len(webhook.requests) >= 2

        wait_for(is_called, message="both webhooks called")
        webhook.requests.clear()
        yield webhook


def here(hook: Object, webhook: SmallWebhook) -> Object:
    url = webhook.url + hook["clientConfig"]["service"]["path"]
    return {**hook, "clientConfig": {"url": url, "caBundle": webhook.ca_bundle}}


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
    """Placement can change only while scheduling gates hold the pod.

    A busy API server that works on an older copy tries an update again, and asks again.
    """
    control_plane.create(pod("gated", 1, schedulingGates=[{"name": "example.test/wait"}]), namespace)
    recorder.requests.clear()

    change(control_plane, namespace, "gated", {"metadata": {"labels": {"a": "b"}}})
    change(control_plane, namespace, "gated", {"spec": {"nodeSelector": {"rack": "r1"}}})
    change(control_plane, namespace, "gated", {"spec": {"schedulingGates": []}})

    asked = {(each["operation"], *each["object"]["spec"]["nodeSelector"].items()) for each in recorder.requests}
    assert asked == {("UPDATE", ("rack", "r1"))}


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
