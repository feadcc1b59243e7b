"""Clients that have to show a certificate: who is let in, by real TLS, also after the authority has changed."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from serving import Command, commanded, write_pair

from gpupolicy.certificates import KeyPair, create_authority
from gpupolicy.webhook.protocol import names_of_client

NOW = datetime.now(UTC)
POLICY = Path(__file__).parents[3] / "policies" / "classic.yaml"
REQUEST = b"POST /mutate HTTP/1.1\r\nHost: webhook\r\nContent-Length: 2\r\n\r\n{}"


def client_pair(authority: KeyPair, common_name: str, *alternative: str) -> KeyPair:
    """A client's certificate, as an operator makes one for the API server."""
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, None)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    builder = (
        x509.CertificateBuilder(issuer.subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(NOW - timedelta(minutes=5))
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    )
    if alternative:
        names = x509.SubjectAlternativeName([x509.DNSName(name) for name in alternative])
        builder = builder.add_extension(names, critical=False)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return KeyPair(certificate=builder.sign(issuer_key, hashes.SHA256()).public_bytes(pem), key=private)


AUTHORITY, OTHER = create_authority(now=NOW), create_authority(now=NOW)
API_SERVER = client_pair(AUTHORITY, "kube-apiserver")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clients.crt").write_bytes(AUTHORITY.certificate)
    return write_pair(tmp_path)


@pytest.fixture
def command(folder: Path) -> Iterator[Command]:
    """A server that lets in whoever has a certificate of the authority."""
    with commanded(POLICY, folder, "--client-ca", str(folder / "clients.crt")) as command:
        yield command


@pytest.fixture
def named(folder: Path) -> Iterator[Command]:
    """And bears one of two names."""
    names = ("--client-name", "kube-apiserver", "--client-name", "api.example.test")
    with commanded(POLICY, folder, "--client-ca", str(folder / "clients.crt"), *names) as command:
        yield command


def is_answered(command: Command, pair: KeyPair | None, folder: Path, **limits: ssl.TLSVersion) -> bool:
    """Whether a client gets an answer; with TLS 1.3 a refusal comes after the handshake."""
    context = command.endpoint.trust()
    for name, version in limits.items():
        setattr(context, name, version)
    if pair:
        (folder / "client.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(folder / "client.pem")
    try:
        with command.endpoint.connect(context) as connection:
            connection.sendall(REQUEST)
            return connection.recv(100).startswith(b"HTTP/1.1 400 ")
    except OSError:
        return False


def test_a_client_of_the_authority_is_answered(command, folder):
    assert is_answered(command, API_SERVER, folder)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(None, id="none"),
        pytest.param(client_pair(OTHER, "kube-apiserver"), id="of-another-authority"),
    ],
)
def test_a_client_without_a_certificate_of_the_authority_is_refused(pair, command, folder):
    assert not is_answered(command, pair, folder)


def test_tls_1_2_is_refused_where_clients_are_asked_for_certificates(command, folder):
    """The server would remember its sessions, and a resumed one shows no certificate."""
    assert not is_answered(command, API_SERVER, folder, maximum_version=ssl.TLSVersion.TLSv1_2)


def test_no_session_can_be_resumed(command, folder):
    (folder / "client.pem").write_bytes(API_SERVER.certificate + API_SERVER.key)
    context = command.endpoint.trust()
    context.load_cert_chain(folder / "client.pem")
    with command.endpoint.connect(context) as connection:
        connection.sendall(REQUEST)
        connection.recv(100)

        assert connection.session is None or not connection.session.has_ticket


@pytest.mark.parametrize(
    ("pair", "answered"),
    [
        pytest.param(API_SERVER, True, id="common-name"),
        pytest.param(client_pair(AUTHORITY, "x", "api.example.test"), True, id="alternative-name"),
        pytest.param(client_pair(AUTHORITY, "kubelet", "node-1"), False, id="another-name"),
    ],
)
def test_of_the_authoritys_clients_only_those_named_are_answered(pair, answered, named, folder):
    assert is_answered(named, pair, folder) is answered


def test_a_refused_name_is_told_and_counted(named, folder):
    is_answered(named, client_pair(AUTHORITY, "kubelet", "node-1"), folder)
    named.wait_for("^a client was refused: its certificate names kubelet, node-1$")

    assert "gpupolicy_clients_refused_total 1.0" in named.probe("/metrics")[1].splitlines()


def test_another_authority_is_taken_without_a_restart_and_the_old_one_taken_away(command, folder):
    newcomer = client_pair(OTHER, "kube-apiserver")
    before = [is_answered(command, pair, folder) for pair in (API_SERVER, newcomer)]
    (folder / "clients.crt").write_bytes(OTHER.certificate)
    command.wait_for("^the certificate was read again$")
    after = [is_answered(command, pair, folder) for pair in (API_SERVER, newcomer)]

    assert (before, after) == ([True, False], [False, True])


def test_two_authorities_in_one_file_are_both_taken(command, folder):
    assert command.endpoint
    (folder / "clients.crt").write_bytes(AUTHORITY.certificate + OTHER.certificate)
    command.wait_for("^the certificate was read again$")

    assert [is_answered(command, pair, folder) for pair in (API_SERVER, client_pair(OTHER, "x"))] == [True, True]


def test_a_broken_authority_leaves_the_old_one_in_force(command, folder):
    assert command.endpoint
    (folder / "clients.crt").write_bytes(b"half a fi")
    command.wait_for(
        "^the changed certificate is not taken, the old one goes on: .*clients.crt: is no PEM certificate$"
    )

    assert [is_answered(command, pair, folder) for pair in (API_SERVER, None)] == [True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is no PEM certificate", id="empty"),
        pytest.param(None, "cannot be read: no such file or directory", id="missing"),
    ],
)
def test_a_server_does_not_start_with_a_broken_authority(content, message, folder):
    """It would let in everybody, or nobody."""
    file = folder / "clients.crt"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with commanded(POLICY, folder, "--client-ca", str(file)) as command:
        status = command.wait()
        command.collector.join()

        assert (status, command.lines) == (2, [f"error: {file}: {message}"])


def test_probes_need_no_certificate(command):
    assert command.probe("/readyz") == (200, "ok\n")


def test_a_certificate_without_names_names_nobody():
    assert names_of_client({}) == ()
