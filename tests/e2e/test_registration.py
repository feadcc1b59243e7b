"""Which pods the API server asks our webhook about, registered as compiled, and which it never does."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import GPU, Manifest, node, pod, workload
from e2e.processes import wait_for
from e2e.product import Product, installed, variant

NONE = (0, 0)
ONE_EACH = (1, 1)


@pytest.fixture(scope="module")
def own_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """Where the webhook itself would run."""
    name = control_plane.add_namespace(f"e2e-own-{secrets.token_hex(4)}")
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture(scope="module")
def product(
    control_plane: ControlPlane, own_namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    """The classic policy in its own namespace."""
    folder = tmp_path_factory.mktemp("policy")
    policy = variant("classic", folder, lambda spec: spec.update(webhook={"namespace": own_namespace}))
    with installed(control_plane, policy) as product:
        yield product


def container(amount: str = "1", part: str = "limits", resource: str = GPU, **fields: object) -> Manifest:
    return {"name": "more", "image": "example.test/more:1", "resources": {part: {resource: amount}}, **fields}


def test_a_pod_that_asks_for_gpus_is_shown_once_to_each_hook(
    product: Product, control_plane: ControlPlane, namespace: str
) -> None:
    calls = product.calls_during(lambda: control_plane.create(pod("p", 1), namespace))

    assert calls == ONE_EACH


def test_a_pod_without_gpus_never_reaches_the_webhook(
    product: Product, control_plane: ControlPlane, namespace: str
) -> None:
    reviews = product.server.reviews()

    calls = product.calls_during(lambda: control_plane.create(pod("p", 0), namespace))

    assert (calls, product.server.reviews()) == (NONE, reviews)


def test_the_pod_of_a_deployment_is_shown_and_neither_the_deployment_nor_its_replica_set(
    product: Product, control_plane: ControlPlane, namespace: str
) -> None:
    def deploy() -> None:
        control_plane.create(workload("Deployment", "train", 1, 1), namespace)
        wait_for(lambda: control_plane.pods(namespace), message="the Deployment's pod")

    assert product.calls_during(deploy) == ONE_EACH


@pytest.mark.parametrize("name", ["kube-system", "kube-node-lease"])
def test_pods_of_the_clusters_own_namespaces_never_reach_the_webhook(
    name: str, product: Product, control_plane: ControlPlane
) -> None:
    calls = product.calls_during(lambda: control_plane.create(pod("p", 3), name, dry_run=True))

    assert calls == NONE


def test_pods_of_the_webhooks_own_namespace_never_reach_it(
    product: Product, control_plane: ControlPlane, own_namespace: str
) -> None:
    calls = product.calls_during(lambda: control_plane.create(pod("p", 3), own_namespace))

    assert calls == NONE


@pytest.mark.parametrize(
    ("asked", "group"),
    [
        pytest.param(pod("p", 1, initContainers=[container("8")]), "SLOT-8", id="init-container"),
        pytest.param(pod("p", 1, initContainers=[container("1", restartPolicy="Always")]), "SLOT-2", id="sidecar"),
        pytest.param(
            pod("p", 1, initContainers=[container("1", restartPolicy="Always"), container("3") | {"name": "init"}]),
            "SLOT-4",
            id="init-container-after-a-sidecar",
        ),
        pytest.param(pod("p", 0, initContainers=[container("4")]), "SLOT-4", id="init-container-alone"),
    ],
)
def test_gpus_of_init_containers_and_sidecars_count(
    asked: Manifest, group: str, product: Product, control_plane: ControlPlane, namespace: str
) -> None:
    made = control_plane.create(asked, namespace, dry_run=True)

    assert made["metadata"]["annotations"]["gpupolicy.dev/routed-to"] == group


def test_gpus_that_a_limit_range_adds_count(product: Product, control_plane: ControlPlane, namespace: str) -> None:
    default = {"type": "Container", "default": {GPU: "2"}, "defaultRequest": {GPU: "2"}}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "gpus"}, "spec": {"limits": [default]}}
    control_plane.create(limits, namespace)

    made = control_plane.create(pod("p", 0), namespace, dry_run=True)

    assert made["metadata"]["annotations"]["gpupolicy.dev/routed-to"] == "SLOT-2"


def test_gpus_that_a_runtime_class_adds_count(product: Product, control_plane: ControlPlane, namespace: str) -> None:
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": namespace},
        "handler": "sandboxed",
        "overhead": {"podFixed": {GPU: "2"}},
    }
    control_plane.create(runtime)

    answer = control_plane.api().post(pod("p", 1, runtimeClassName=namespace), namespace=namespace)
    control_plane.api().delete(runtime)

    assert (answer.status, "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8" in answer.message) == (403, True)


def mirror(uid: str) -> Manifest:
    """A mirror pod of n1's kubelet, for a static pod with 3 GPUs."""
    annotations = {"kubernetes.io/config.mirror": "hash", "kubernetes.io/config.source": "file"}
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}
    static = pod("static", 3, nodeName="n1")
    return {**static, "metadata": {"name": "static", "annotations": annotations, "ownerReferences": [owner]}}


def test_a_kubelets_mirror_of_a_static_pod_never_reaches_the_webhook(
    product: Product, control_plane: ControlPlane, namespace: str
) -> None:
    """The pod runs whatever the API says."""
    control_plane.add_node("n1")
    uid = control_plane.api().get(node("n1")).body["metadata"]["uid"]

    calls = product.calls_during(lambda: control_plane.create(mirror(uid), namespace, user="system:node:n1"))

    assert calls == NONE


def test_a_users_pod_is_no_mirror_because_it_says_so(
    product: Product, control_plane: ControlPlane, namespace: str
) -> None:
    """The API server takes the annotation from everybody, with a nodeName: 3 GPUs would be taken unseen."""
    control_plane.add_node("n1")
    uid = control_plane.api().get(node("n1")).body["metadata"]["uid"]

    answer = control_plane.api().post(mirror(uid), namespace=namespace)

    assert (answer.status, "[node-name-set]" in answer.message) == (403, True)
