"""A webhook that wants to see a client's certificate, and an API server that is told to show one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from e2e.controlplane import ControlPlane
from e2e.objects import pod
from e2e.processes import wait_for
from e2e.product import PolicyServer, ask, register, registration, shipped, unregister

from gpupolicy import load
from gpupolicy.certificates import KeyPair, create_authority

NOW = datetime.now(UTC)
NAME = "kube-apiserver-webhook-client"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, the API server's certificate under it, and the files that docs/serving.md shows."""
    folder = tmp_path_factory.mktemp("clients")
    authority = create_authority(now=NOW)
    pair = client_pair(authority)
    (folder / "clients.crt").write_bytes(authority.certificate)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    user = {"client-certificate": str(folder / "tls.crt"), "client-key": str(folder / "tls.key")}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}
    (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
    shows = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(folder / "kubeconfig"),
    }
    plugins = [
        {"name": name, "configuration": shows} for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
    ]
    configuration = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins}
    (folder / "admission.json").write_text(json.dumps(configuration))
    return folder


def client_pair(authority: KeyPair) -> KeyPair:
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    builder = (
        x509.CertificateBuilder(issuer.subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(NOW - timedelta(minutes=5))
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    signed = builder.sign(serialization.load_pem_private_key(authority.key, None), hashes.SHA256())  # type: ignore[arg-type]
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return KeyPair(certificate=signed.public_bytes(pem), key=private)


@pytest.fixture(scope="module")
def plane(binaries: dict[str, Path], folder: Path) -> Iterator[ControlPlane]:
    """A control plane of our own: the setting is one of the API server's start."""
    with ControlPlane(apiserver_flags=("--admission-control-config-file", str(folder / "admission.json"))) as plane:
        yield plane


def served(plane: ControlPlane, folder: Path, tmp_path: Path, name: str) -> PolicyServer:
    options = ("--client-ca", folder / "clients.crt", "--client-name", name)
    return PolicyServer(shipped("classic"), tmp_path, plane.log_folder, options=options)


def test_an_api_server_that_shows_its_certificate_is_answered(
    plane: ControlPlane, folder: Path, tmp_path: Path
) -> None:
    server = served(plane, folder, tmp_path, NAME)
    try:
        register(plane, load(shipped("classic")), server)
        answers = [plane.api().post(pod(f"p-{gpus}", gpus), namespace="default", dry_run=True) for gpus in (1, 3)]
    finally:
        unregister(plane, load(shipped("classic")))
        server.stop()

    assert [answer.status for answer in answers] == [201, 403]


def test_an_api_server_of_another_name_is_not(plane: ControlPlane, folder: Path, tmp_path: Path) -> None:
    policy = load(shipped("classic"))
    server = served(plane, folder, tmp_path, "somebody-else")
    try:
        plane.apply(registration(policy, server))

        def refused() -> bool:
            ask(plane, policy)
            return server.count("gpupolicy_clients_refused_total") > 0

        wait_for(refused, message="a refused client")
        answer = plane.api().post(pod("p", 1), namespace="default", dry_run=True)
    finally:
        unregister(plane, policy)
        server.stop()

    assert answer.status == 500
    assert "failed calling webhook" in answer.message
