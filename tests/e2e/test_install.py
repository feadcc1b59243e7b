"""What docs/install.md says, done to a real API server: by kubectl, kustomize and Helm, up, back, and out again."""

from __future__ import annotations

import base64
import json
import re
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from charts.contents import CHART
from charts.helm import Helm, bundled
from e2e.controlplane import ControlPlane
from e2e.governed import compile_folder, kubectl
from e2e.objects import pod
from e2e.processes import wait_for
from e2e.product import variant
from e2e.rest import Answer
from e2e.test_chart import helm as helm
from golden.contents import CA_BUNDLE

from gpupolicy.certificates import renew

INSTALL = Path(__file__).parents[2] / "docs" / "install.md"
MODES = ("secret", "certManager", "selfManaged")
NAMESPACED = "deployments,replicasets,pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings"
OTHERS = "networkpolicies,poddisruptionbudgets,resourcequotas,clusterroles,clusterrolebindings"
REGISTRATIONS = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace for an installation, and a policy whose webhook lives there."""

    plane: ControlPlane
    helm: Helm
    name: str
    folder: Path

    def policy(self, mode: str, **spec: Any) -> Path:
        """The classic policy for this namespace."""

        def change(found: dict[str, Any]) -> None:
            found.update({"webhook": {"namespace": self.name, "certificates": {"mode": mode}}, **spec})

        return variant("classic", self.folder, change)

    def run(self, verb: str, *arguments: str | Path) -> str:
        """A verb of helm on the cluster, for the release in this namespace."""
        done = self.helm.run(verb, "gpus", *arguments, "--namespace", self.name, kubeconfig=self.plane.kubeconfig())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, gpus: int) -> Answer:
        """What becomes of a pod somewhere else in the cluster."""
        return self.plane.api().post(pod("p", gpus), namespace="default", dry_run=True)

    def ours(self) -> list[str]:
        """Everything in the cluster that carries our label."""
        kinds = f"{REGISTRATIONS},{NAMESPACED},{OTHERS}"
        found = kubectl(self.plane, "get", kinds, "-A", "-l", "app.kubernetes.io/part-of=gpupolicy", "-o", "name")
        return found.split()


@pytest.fixture
def place(control_plane: ControlPlane, helm: Helm, tmp_path: Path) -> Iterator[Place]:
    name = control_plane.add_namespace(f"e2e-install-{secrets.token_hex(4)}", RESTRICTED)
    yield Place(control_plane, helm, name, tmp_path)
    control_plane.delete_namespace(name)


def rendered(place: Place, mode: str) -> str:
    done = place.helm.render(place.policy(mode).read_text(), {"createNamespace": True, **bundled(mode)}, place.name)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("foreign_kinds")
class TestStrictly:
    @pytest.mark.parametrize("mode", MODES)
    def test_the_api_server_takes_what_the_chart_renders_without_a_warning(self, mode: str, place: Place) -> None:
        kubectl(place.plane, "annotate", "namespace", place.name, "kubectl.kubernetes.io/last-applied-configuration={}")

        done = place.plane.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=rendered(place, mode)
        )

        assert (done.returncode, done.stderr) == (0, "")


class TestPodSecurity:
    """A namespace that enforces level restricted judges the pods that the Deployment would make."""

    def post(self, place: Place, mode: str, **changes: Any) -> Answer:
        documents = {each["kind"]: each for each in yaml.safe_load_all(rendered(place, mode)) if each}
        place.plane.apply(documents["ServiceAccount"])
        template = documents["Deployment"]["spec"]["template"]
        spec = {**template["spec"], **changes}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": "p"}, "spec": spec}
        return place.plane.api().post(made, namespace=place.name, dry_run=True)

    @pytest.mark.parametrize("mode", MODES)
    def test_our_pods_pass(self, mode: str, place: Place) -> None:
        answer = self.post(place, mode)

        assert (answer.status, answer.warnings) == (201, ())

    def test_a_pod_of_ours_that_could_be_root_would_not(self, place: Place) -> None:
        """That the judge judges."""
        answer = self.post(place, "secret", securityContext={})

        assert (answer.status, 'violates PodSecurity "restricted' in answer.message) == (403, True)


def filled(place: Place) -> None:
    """Do what the webhook does in mode selfManaged, as its account: fill its Secret and the bundles."""
    account = f"system:serviceaccount:{place.name}:gpupolicy-webhook"
    api = place.plane.api(account)
    secret: Any = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gpupolicy-webhook-tls"}}
    found = api.get(secret, namespace=place.name).body
    data = {"ca.crt": base64.b64encode(CA_BUNDLE).decode()}
    path = f"/api/v1/namespaces/{place.name}/secrets/gpupolicy-webhook-tls"
    assert api.request("PUT", path, {**found, "data": data}).accepted
    for kind, hooks in {"Mutating": 1, "Validating": 2}.items():
        configuration = reference(f"{kind}WebhookConfiguration")
        bundle = {"path": "clientConfig/caBundle", "value": base64.b64encode(CA_BUNDLE).decode()}
        patch = [{**bundle, "op": "add", "path": f"/webhooks/{i}/{bundle['path']}"} for i in range(hooks)]
        assert api.patch(configuration, patch, "json").accepted


def reference(kind: str) -> dict[str, Any]:
    version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "gpupolicy-classic"}}


def held(place: Place) -> tuple[set[str], list[str]]:
    """The bundles in both registrations, and the keys of the Secret."""
    get = place.plane.api().get
    found = [get(reference(f"{kind}WebhookConfiguration")).body for kind in ("Mutating", "Validating")]
    bundles = {hook["clientConfig"].get("caBundle", "") for each in found for hook in each["webhooks"]}
    secret: Any = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gpupolicy-webhook-tls"}}
    return bundles, sorted(get(secret, namespace=place.name).body.get("data", {}))


def served_policy(place: Place) -> str:
    text = kubectl(place.plane, "-n", place.name, "get", "configmap", "gpupolicy-webhook", "-o", "json")
    return str(json.loads(text)["data"]["policy.yaml"])


def order_of_deletions(place: Place) -> list[str]:
    """The kinds that somebody deleted of this installation, as the audit log has them."""
    events = place.plane.audit_events(containing='"verb":"delete"')
    ours = ("gpupolicy-classic", "gpupolicy-webhook")
    named = (each["objectRef"] for each in events if each["objectRef"].get("name") in ours)
    return [each["resource"] for each in named if each.get("namespace", place.name) == place.name]


def test_helm_installs_upgrades_rolls_back_and_uninstalls(place: Place) -> None:
    """Certificates that the webhook made itself survive; registrations go first; nothing of ours stays."""
    first = place.policy("selfManaged").read_text()
    place.run("install", CHART, *place.helm.options(first, {}, place.name)[2:])
    with_nobody_there = place.ask(1)
    others = place.ask(0)
    filled(place)
    before = held(place)

    second = place.policy("selfManaged", admission={"enforcement": "warn"}).read_text()
    place.run("upgrade", CHART, *place.helm.options(second, {"webhook": {"replicas": 3}}, place.name)[2:])
    upgraded = (held(place), served_policy(place))
    place.run("rollback", "1")
    rolled_back = (held(place), served_policy(place))
    place.run("uninstall")
    wait_for(lambda: not place.ours(), message=lambda: f"nothing left, but {place.ours()}")

    assert (with_nobody_there.status, others.status, place.ask(1).status) == (500, 201, 201)
    assert before == ({base64.b64encode(CA_BUNDLE).decode()}, ["ca.crt"])
    assert (upgraded, rolled_back) == ((before, second), (before, first))
    registrations = {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}
    assert set(order_of_deletions(place)[:2]) == registrations  # of the two, Helm takes either first


@pytest.fixture
def applied(place: Place) -> Iterator[Path]:
    """The compiled folder, applied; in a namespace that the folder makes."""
    renew(place.folder / "pki", ("gpupolicy-webhook",), now=datetime.now(UTC))
    options = ("--target", "webhook", "--ca-bundle", place.folder / "pki" / "ca.crt")
    folder = compile_folder(place.policy("secret"), place.folder / "out", *options)
    kubectl(place.plane, "apply", "--server-side", "--force-conflicts", "-k", folder)
    yield folder
    place.plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-k", folder)


class TestUninstallingByKubectl:
    def test_the_registration_first_and_then_the_folder_leaves_nothing_and_blocks_nobody(
        self, applied: Path, place: Place
    ) -> None:
        kubectl(place.plane, "delete", REGISTRATIONS, "gpupolicy-classic")
        after_the_first = place.ask(1)
        kubectl(place.plane, "delete", "--ignore-not-found", "--wait=false", "-k", applied)
        wait_for(lambda: not place.ours(), timeout=60, message=lambda: f"nothing left, but {place.ours()}")

        assert (after_the_first.status, place.ask(1).status) == (201, 201)

    def test_the_registration_last_refuses_gpu_pods_everywhere_until_it_goes_too(
        self, applied: Path, place: Place
    ) -> None:
        kubectl(place.plane, "-n", place.name, "delete", "deployment,service", "gpupolicy-webhook")
        without_us = place.ask(1)
        kubectl(place.plane, "delete", REGISTRATIONS, "gpupolicy-classic")

        assert (without_us.status, place.ask(1).status) == (500, 201)
        assert 'failed calling webhook "route.classic.gpupolicy.dev": failed to call webhook' in without_us.message


def overlay() -> Mapping[str, Any]:
    """The overlay of the docs."""
    (text,) = re.findall(r"```yaml\n# kustomization.yaml\n(.*?)```", INSTALL.read_text(), re.DOTALL)
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def built(place: Place, folder: Path) -> list[Any]:
    done = subprocess.run([place.plane.binaries["kubectl"], "kustomize", folder], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return list(yaml.safe_load_all(done.stdout))


def test_the_overlay_of_the_docs_changes_what_it_names_and_keeps_the_registration_last(place: Place) -> None:
    compile_folder(place.policy("selfManaged"), place.folder / "manifests", "--target", "webhook")
    (place.folder / "kustomization.yaml").write_text(yaml.safe_dump(dict(overlay())))

    before, after = built(place, place.folder / "manifests"), built(place, place.folder)
    changed = [each for each in after if each not in before]

    (deployment,) = changed
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (deployment["spec"]["replicas"], container["image"]) == (3, "registry.example.com/gpupolicy:0.1.0")
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "128Mi"}
    assert [each["kind"] for each in after[-2:]] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
