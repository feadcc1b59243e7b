"""A policy that selects namespaces by labels, served as the account that it compiles and with that one's rights."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import of_kinds
from e2e.identities import Identity, api_client, kubeconfig_text
from e2e.objects import pod
from e2e.processes import wait_for
from e2e.product import PolicyServer, Product, installed, registration, unregister, variant
from e2e.rest import Api, Object

from gpupolicy import compile, load

USER = "system:serviceaccount:gpu-system:gpupolicy-webhook"
TOKEN = "/api/v1/namespaces/gpu-system/serviceaccounts/gpupolicy-webhook/token"
TRIAL = {"namespaceSelector": {"matchLabels": {"stage": "trial"}}, "action": "warn"}
DRIVERS = {"namespaceSelector": {"matchLabels": {"team": "drivers"}}, "reason": "they test odd sizes"}
SIZE = "[request-size-not-admitted]"


def by_labels(spec: dict[str, Any]) -> None:
    """In a trial one is only warned; drivers are exempt. A long time-out, so that the API server may ask again."""
    spec["admission"]["enforcement"] = {"default": "deny", "overrides": [TRIAL]}
    spec["admission"]["exemptions"].append(DRIVERS)
    spec["webhook"] = {"timeoutSeconds": 30}


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return variant("classic", tmp_path_factory.mktemp("policy"), by_labels)


@pytest.fixture(scope="module")
def account(control_plane: ControlPlane, policy_file: Path) -> Iterator[Identity]:
    """The compiled ServiceAccount in its namespace, as it proves itself in a pod: by a token of the API server."""
    documents = compile(load(policy_file), ("webhook",))
    control_plane.wait_until_ended("gpu-system")
    control_plane.apply(of_kinds(documents, "Namespace", "ServiceAccount"))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = control_plane.api().request("POST", TOKEN, request)
    assert answer.accepted, answer.message
    yield Identity(user=USER, token=answer.body["status"]["token"])
    control_plane.delete_namespace("gpu-system")


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane, account: Identity) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpupolicy-account-") as folder:
        file = Path(folder) / "kubeconfig"
        file.write_text(kubeconfig_text(account, control_plane.server, control_plane.certificate_authority))
        yield file


def rights(policy_file: Path) -> list[Object]:
    """What the policy compiles to for the account."""
    return of_kinds(compile(load(policy_file), ("webhook",)), "ClusterRole", "ClusterRoleBinding")


@contextmanager
def granted(control_plane: ControlPlane, policy_file: Path) -> Iterator[None]:
    """The account with the compiled rights."""
    documents = rights(policy_file)
    control_plane.apply(documents)
    try:
        yield
    finally:
        for document in documents:
            control_plane.api().delete(document)


@pytest.fixture(scope="class")
def product(control_plane: ControlPlane, policy_file: Path, kubeconfig: Path) -> Iterator[Product]:
    with (
        granted(control_plane, policy_file),
        installed(control_plane, policy_file, kubeconfig=kubeconfig) as product,
    ):
        yield product


def label(control_plane: ControlPlane, namespace: str, **labels: str | None) -> None:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    answer = control_plane.api().patch(manifest, {"metadata": {"labels": labels}})
    assert answer.accepted, answer.message


class TestSelectors:
    def test_the_label_that_a_namespace_has_now_decides(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        """Denied, only warned while it is labelled, and denied again."""

        def asked() -> tuple[int, list[str]]:
            answer = control_plane.api().post(pod("p", 3), namespace=namespace, dry_run=True)
            return answer.status, [warning[-len(SIZE) :] for warning in answer.warnings]

        before = asked()
        label(control_plane, namespace, stage="trial")
        wait_for(lambda: asked() == (201, [SIZE]), message=lambda: f"a warning, but {asked()}")
        label(control_plane, namespace, stage=None)
        wait_for(lambda: asked() == (403, []), message=lambda: f"a denial, but {asked()}")

        assert before == (403, [])

    def test_an_exemption_by_label_leaves_the_pod_as_it_is(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        label(control_plane, namespace, team="drivers")

        def asked() -> Object:
            return control_plane.api().post(pod("p", 3), namespace=namespace, dry_run=True).body

        wait_for(lambda: asked()["kind"] == "Pod", message=lambda: f"a pod, but {asked()}")

        assert (asked()["spec"]["schedulerName"], "affinity" in asked()["spec"]) == ("default-scheduler", False)

    def test_the_first_pod_of_a_namespace_just_made_is_judged_by_its_labels(
        self, product: Product, control_plane: ControlPlane
    ) -> None:
        """Should it come before the webhook has heard of its namespace, it waits and is not guessed at."""
        name = control_plane.add_namespace(f"e2e-{secrets.token_hex(4)}", {"stage": "trial"})

        answer = control_plane.api().post(pod("p", 3), namespace=name)
        control_plane.delete_namespace(name)

        assert (answer.status, answer.warnings[0].endswith(SIZE)) == (201, True)


@pytest.fixture(scope="class")
def api(control_plane: ControlPlane, policy_file: Path, account: Identity) -> Iterator[Api]:
    """The API server as the webhook sees it."""
    with granted(control_plane, policy_file):
        yield Api(api_client(account, control_plane.server, control_plane.certificate_authority))


class TestRights:
    def test_namespaces_may_be_listed_and_watched(self, api: Api) -> None:
        listed = api.request("GET", "/api/v1/namespaces")
        watched = api.request("GET", "/api/v1/namespaces", query={"watch": "true", "timeoutSeconds": "1"})

        assert (listed.status, watched.status) == (200, 200)

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            pytest.param("GET", "/api/v1/secrets", id="secrets"),
            pytest.param("GET", "/api/v1/namespaces/gpu-system/secrets", id="own-secrets"),
            pytest.param("GET", "/api/v1/pods", id="pods"),
            pytest.param("GET", "/api/v1/nodes", id="nodes"),
            pytest.param("GET", "/api/v1/namespaces/gpu-system/configmaps", id="own-config-maps"),
            pytest.param("GET", "/api/v1/namespaces/default", id="one-namespace"),
            pytest.param("DELETE", "/api/v1/namespaces/gpu-system", id="delete-namespace"),
            pytest.param(
                "GET",
                "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
                id="webhook-configurations",
            ),
        ],
    )
    def test_nothing_else_may_be_done(self, method: str, path: str, api: Api) -> None:
        answer = api.request(method, path)

        assert answer.status == 403
        assert f'User "{USER}" cannot ' in answer.message


def test_a_pod_waits_until_the_labels_of_namespaces_are_known(
    control_plane: ControlPlane, policy_file: Path, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """The rights come after the webhook: the API server is told to ask again, and the pod is judged in the end."""
    policy = load(policy_file)
    label(control_plane, namespace, stage="trial")
    server = PolicyServer(policy_file, tmp_path, control_plane.log_folder, kubeconfig=kubeconfig)
    try:
        control_plane.apply(registration(policy, server))
        with ThreadPoolExecutor(1) as pool:
            pending = pool.submit(control_plane.api().post, pod("p", 3), namespace=namespace)
            wait_for(lambda: server.failures() > 0, message="a review that is to be asked again")
            with granted(control_plane, policy_file):
                answer = pending.result(60)
    finally:
        unregister(control_plane, policy)
        server.stop()

    assert (answer.status, [warning[-len(SIZE) :] for warning in answer.warnings]) == (201, [SIZE])
