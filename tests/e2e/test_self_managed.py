"""Certificates that two replicas manage themselves, with the compiled rights and nothing else."""

from __future__ import annotations

import base64
import json
import random
import re
import secrets
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import of_kinds
from e2e.identities import Identity, kubeconfig_text
from e2e.objects import pod
from e2e.processes import ServerProcess, wait_for
from e2e.product import ask, unregister, variant
from e2e.rest import Object
from faults.clock import WrongClock, find_compiler

from gpupolicy import compile, load
from gpupolicy.certificates.authority import is_issued_by
from gpupolicy.certificates.keyring import fingerprints
from gpupolicy.model import Policy
from gpupolicy.webhook.self_managed import ROTATE_ANNOTATION

_SERVING = re.compile(r"^serving https://127\.0\.0\.1:(\d+) ", re.MULTILINE)
RIGHTS = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


@dataclass
class Replica:
    """``gpupolicy serve --self-managed`` as the compiled account; restarted it keeps its port."""

    installation: Installation
    clock: WrongClock | None
    port: int = 0

    def __post_init__(self) -> None:
        self.launch()

    def launch(self) -> None:
        variables = self.clock.environment if self.clock else {}
        command: list[str | Path] = [
            *("/usr/bin/env", *(f"{name}={value}" for name, value in variables.items())),
            *(sys.executable, "-m", "gpupolicy", "serve", self.installation.policy_file, "--self-managed"),
            *("--kubeconfig", self.installation.kubeconfig, "--host", "127.0.0.1", "--port", str(self.port)),
            *("--metrics-port", "0", "--dns", "127.0.0.1", "--settle-seconds", "2", "--drain-seconds", "0"),
        ]
        logs = self.installation.plane.log_folder
        self.process = ServerProcess(f"self-managed-{secrets.token_hex(4)}", command, logs)

    def wait_ready(self) -> None:
        self.process.wait_ready(lambda: bool(_SERVING.search(self.process.log.read_text())))
        found = _SERVING.search(self.process.log.read_text())
        assert found is not None
        self.port = int(found[1])

    def restart(self) -> None:
        """Kills it as a node that loses its power does, and starts it again."""
        self.process.kill()
        self.launch()

    @property
    def lines(self) -> list[str]:
        """What its log says."""
        return self.process.log.read_text().splitlines()

    @property
    def certificate(self) -> bytes:
        """What it serves, as PEM."""
        return ssl.get_server_certificate(("127.0.0.1", self.port)).encode()


@dataclass
class Installation:
    """What is compiled for a policy with self-managed certificates, applied to a namespace of its own."""

    plane: ControlPlane
    policy: Policy
    policy_file: Path
    kubeconfig: Path
    user: str
    replicas: list[Replica] = field(default_factory=list)

    @property
    def secret(self) -> Object:
        webhook = self.policy.webhook
        metadata = {"name": webhook.certificates.secret_name, "namespace": webhook.namespace}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        return self.plane.api().get(manifest, namespace=webhook.namespace).body

    @property
    def data(self) -> Mapping[str, bytes]:
        return {key: base64.b64decode(value) for key, value in self.secret.get("data", {}).items()}

    def registrations(self) -> list[Object]:
        path = "/apis/admissionregistration.k8s.io/v1"
        return [
            self.plane.api().request("GET", f"{path}/{kind}/gpupolicy-{self.policy.name}").body
            for kind in CONFIGURATIONS
        ]

    def bundles(self) -> list[frozenset[bytes]]:
        """What each hook trusts."""
        hooks = [hook for each in self.registrations() for hook in each["webhooks"]]
        return [fingerprints(base64.b64decode(hook["clientConfig"].get("caBundle", ""))) for hook in hooks]

    def rotate(self) -> None:
        """Asks for a new authority, as the docs say."""
        answer = self.plane.api().patch(self.secret, {"metadata": {"annotations": {ROTATE_ANNOTATION: "now"}}})
        assert answer.accepted, answer.message

    def is_settled(self, before: bytes) -> bool:
        """Whether another authority than before signs what all replicas serve, and all hooks trust it."""
        data = self.data
        now = data["ca.crt"]
        return (
            now != before
            and "next-ca.crt" not in data
            and all(is_issued_by(replica.certificate, now) for replica in self.replicas)
            and all(fingerprints(now) <= bundle for bundle in self.bundles())
        )


def managed(namespace: str) -> Any:
    def change(spec: dict[str, Any]) -> None:
        certificates = {"mode": "selfManaged", "secretName": "webhook-certificates"}
        spec["webhook"] = {"namespace": namespace, "timeoutSeconds": 10, "certificates": certificates}

    return change


@pytest.fixture(scope="module")
def installation(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Both replicas are started at once while the Secret is empty; each is asked by one of the registrations."""
    folder = tmp_path_factory.mktemp("self-managed")
    own = f"e2e-system-{secrets.token_hex(4)}"
    policy_file = variant("classic", folder, managed(own))
    policy = load(policy_file)
    documents = compile(policy, ("webhook",))
    control_plane.apply(of_kinds(documents, "Namespace"))
    control_plane.apply(of_kinds(documents, "ServiceAccount", "Secret", *RIGHTS))
    user = f"system:serviceaccount:{own}:{policy.webhook.name}"
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        kubeconfig_text(
            account(control_plane, own, policy.webhook.name, user),
            control_plane.server,
            control_plane.certificate_authority,
        )
    )
    installation = Installation(control_plane, policy, policy_file, kubeconfig, user)
    try:
        compiler = find_compiler()
        clock = WrongClock(folder, compiler) if compiler else None
        installation.replicas += [Replica(installation, clock), Replica(installation, None)]
        for replica in installation.replicas:
            replica.wait_ready()
        control_plane.apply(by_address(documents, installation.replicas))
        wait_for(lambda: all(installation.bundles()), message="a bundle in every hook")
        wait_for(lambda: ask(control_plane, policy), message="an answer of both hooks")
        yield installation
    finally:
        unregister(control_plane, policy)
        for replica in installation.replicas:
            replica.process.kill()
        for document in of_kinds(documents, "ClusterRole", "ClusterRoleBinding"):
            control_plane.api().delete(document)
        control_plane.delete_namespace(own)


def account(plane: ControlPlane, namespace: str, name: str, user: str) -> Identity:
    """The compiled account as it proves itself in a pod."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    answer = plane.api().request("POST", path, request)
    assert answer.accepted, answer.message
    return Identity(user=user, token=answer.body["status"]["token"])


def by_address(documents: Any, replicas: list[Replica]) -> list[Object]:
    """The compiled registrations, the mutating one for the first replica and the validating one for the second."""
    found = of_kinds(documents, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    changed = json.loads(json.dumps(found))
    for each, replica in zip(changed, replicas, strict=True):
        for hook in each["webhooks"]:
            assert "caBundle" not in hook["clientConfig"]
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{replica.port}{path}"}
    return changed  # type: ignore[no-any-return]


@dataclass
class Calls:
    """How many pods were asked for, and why some were refused."""

    count: int = 0
    failures: list[str] = field(default_factory=list)

    def wait_for_more(self, calls: int = 20) -> None:
        """Waits until so many more have been asked for."""
        wanted = self.count + calls
        wait_for(lambda: self.count >= wanted, message="more calls")


@contextmanager
def pods_asked_for(plane: ControlPlane) -> Iterator[Calls]:
    """Makes dry runs of pods all the time."""
    calls, end = Calls(), threading.Event()

    def go_on() -> None:
        while not end.wait(0.01):
            answer = plane.api().post(pod("under-load", 2), namespace="default", dry_run=True)
            calls.count += 1
            if not answer.accepted:
                calls.failures.append(answer.message)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield calls
    finally:
        end.set()
        thread.join()


class TestSelfManaged:
    def test_replicas_that_start_at_once_serve_one_certificate_that_both_registrations_trust(
        self, installation: Installation
    ) -> None:
        served = {replica.certificate.strip() for replica in installation.replicas}

        assert served == {installation.data["tls.crt"].strip()}
        assert set(installation.bundles()) == {fingerprints(installation.data["ca.crt"])}

    def test_no_review_fails_while_the_authority_is_changed(self, installation: Installation) -> None:
        before = installation.data["ca.crt"]
        with pods_asked_for(installation.plane) as calls:
            calls.wait_for_more()
            installation.rotate()
            wait_for(lambda: installation.is_settled(before), timeout=60, message="another authority")
            calls.wait_for_more()

        assert calls.failures == []
        assert fingerprints(installation.data["previous-ca.crt"]) == fingerprints(before)

    def test_replicas_that_are_killed_in_the_midst_of_it_do_not_stop_it(self, installation: Installation) -> None:
        """At moments of chance: every order of single steps is tried in the unit tests."""
        chance = random.Random()
        before = installation.data["ca.crt"]
        installation.rotate()
        for replica in (*installation.replicas, *installation.replicas):
            threading.Event().wait(chance.uniform(0.0, 0.8))
            replica.restart()
        for replica in installation.replicas:
            replica.wait_ready()
        wait_for(lambda: installation.is_settled(before), message="another authority")

        wait_for(lambda: ask(installation.plane, installation.policy), message="an answer of both hooks")

    @pytest.mark.parametrize("days", [70, 4000, -4000])
    def test_no_review_fails_while_the_clock_of_a_replica_is_wrong_and_nothing_is_made_by_it(
        self, days: int, installation: Installation
    ) -> None:
        """By that clock the certificate is to be made new, has ended, has not begun; the API server knows better."""
        replica, before, told = installation.replicas[0], installation.data, len(installation.replicas[0].lines)
        if replica.clock is None:
            pytest.skip("no C compiler to make a clock that jumps")
        with pods_asked_for(installation.plane) as calls:
            calls.wait_for_more()
            replica.clock.set(timedelta(days=days))
            wait_for(lambda: any("cannot be kept up to date" in line for line in replica.lines[told:]))
            time.sleep(4)  # for some more attempts
            during = installation.data
            replica.clock.set(timedelta())
            wait_for(lambda: "certificates: the cluster is asked again" in replica.lines[told:], timeout=60)
            calls.wait_for_more()

        assert calls.failures == []
        assert during == before

    def test_manifests_that_are_applied_again_take_nothing_away(self, installation: Installation) -> None:
        before = (installation.data, installation.bundles())
        documents = compile(installation.policy, ("webhook",))
        installation.plane.apply(of_kinds(documents, "Secret"))
        installation.plane.apply(by_address(documents, installation.replicas))

        assert (installation.data, installation.bundles()) == before

    def test_every_compiled_object_is_taken_by_the_api_server(self, installation: Installation) -> None:
        documents = compile(installation.policy, ("webhook",))
        installation.plane.apply(documents, dry_run=True)

        assert "Deployment" in {each["kind"] for each in documents}

    def test_an_emptied_secret_is_filled_again_by_those_who_still_know(self, installation: Installation) -> None:
        before = installation.data
        secret = installation.secret
        answer = installation.plane.api().patch(secret, {"data": dict.fromkeys(secret["data"])})
        assert answer.accepted, answer.message
        wait_for(lambda: installation.data, message="a Secret with something in it")

        assert installation.data == before

    def test_each_right_is_used_and_no_request_is_refused(self, installation: Installation) -> None:
        events = [
            event
            for event in installation.plane.audit_events(containing=installation.user)
            if event["user"]["username"] == installation.user
        ]
        used = {(event["verb"], event["objectRef"]["resource"]) for event in events}
        refused = [event for event in events if event["responseStatus"]["code"] in (401, 403)]

        assert used == granted(installation.policy)
        assert refused == []


def granted(policy: Policy) -> set[tuple[str, str]]:
    """The verbs and resources that are compiled."""
    return {
        (verb, resource)
        for document in of_kinds(compile(policy, ("webhook",)), "Role", "ClusterRole")
        for rule in document["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
    }
