"""Files that change under a running server: good ones are taken, bad ones leave the old in force."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from builders import policy
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from serving import echo, served, write_pair

from gpupolicy.certificates import TRIAL_NAMES, KeyPair, create_authority, issue
from gpupolicy.errors import ClusterError, InputError
from gpupolicy.webhook.reload import CertificateSource, PolicySource, look, stamp

NOW = datetime.now(UTC)


class Told:
    """Hears what a source tells."""

    def __init__(self) -> None:
        self.lines: list[tuple[bool, str]] = []

    def __call__(self, taken: bool, line: str) -> None:
        self.lines.append((taken, line))


def place(folder: Path, pair: KeyPair) -> None:
    """Puts a serving pair where the server looks."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


def source(folder: Path, told: Told | None = None) -> CertificateSource:
    return CertificateSource(folder / "tls.crt", folder / "tls.key", told or Told(), lambda _: None)


def rsa_pair() -> KeyPair:
    """A self-signed certificate with an RSA key, as other tools make it."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - timedelta(1), NOW + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return KeyPair(certificate=certificate.public_bytes(pem), key=secret)


def test_a_stamp_changes_when_a_link_above_the_file_is_swapped(tmp_path):
    """As kubelet does it with mounted Secrets and ConfigMaps."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tls.crt").write_text("same")
    (tmp_path / "..data").symlink_to("a")
    (tmp_path / "tls.crt").symlink_to("..data/tls.crt")
    before = stamp((tmp_path / "tls.crt",))
    (tmp_path / "new").symlink_to("b")
    (tmp_path / "new").replace(tmp_path / "..data")

    assert stamp((tmp_path / "tls.crt",)) != before


def test_a_stamp_of_a_missing_file_is_none(tmp_path):
    assert stamp((tmp_path / "gone",)) == (None,)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(create_authority(now=NOW).key, id="key-of-another"),
        pytest.param(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", id="broken"),
    ],
)
def test_a_bad_key_leaves_the_old_pair_in_force(tmp_path, content):
    told = Told()
    certificates = source(write_pair(tmp_path), told)
    (tmp_path / "tls.key").write_bytes(content)

    asyncio.run(certificates.reload())

    assert told.lines[0][0] is False
    assert told.lines[0][1].startswith("the changed certificate is not taken, the old one goes on: ")


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
def test_a_server_does_not_start_with_a_broken_pair(tmp_path, name):
    (write_pair(tmp_path) / name).write_bytes(b"")

    with pytest.raises(InputError) as caught:
        source(tmp_path)

    assert caught.value.file == str(tmp_path / name)


def test_a_key_with_a_password_is_refused_without_asking_for_it(tmp_path):
    """OpenSSL would stop the server and wait at the terminal."""
    key = serialization.load_pem_private_key((write_pair(tmp_path) / "tls.key").read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    (tmp_path / "tls.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
    )

    with pytest.raises(InputError) as caught:
        source(tmp_path)

    assert caught.value.message == "is no PEM private key without a password"


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(lambda: issue(create_authority(now=NOW), TRIAL_NAMES, now=NOW), id="same-kind-of-key"),
        pytest.param(rsa_pair, id="other-kind-of-key"),
    ],
)
def test_a_new_pair_is_served_to_new_connections(tmp_path, pair):
    """OpenSSL holds a certificate for each kind of key: the old one must not linger beside an RSA one."""
    new = pair()
    with served(echo, tmp_path) as endpoint:
        trust = endpoint.trust()
        trust.load_verify_locations(cadata=new.certificate.decode())
        trust.check_hostname, trust.verify_mode = False, 0
        place(tmp_path, new)
        endpoint.reload()
        with endpoint.connect(trust) as connection:
            served_now = connection.getpeercert(binary_form=True)

    assert served_now == x509.load_pem_x509_certificate(new.certificate).public_bytes(serialization.Encoding.DER)


def test_a_kept_connection_survives_a_new_pair(tmp_path):
    with served(echo, tmp_path) as endpoint:
        connection = endpoint.open()
        connection.request("POST", "/", b"{}")
        connection.getresponse().read()
        place(tmp_path, issue(create_authority(now=NOW), TRIAL_NAMES, now=NOW))
        endpoint.reload()
        connection.request("POST", "/", b"{}")
        status = connection.getresponse().status
        connection.close()

    assert status == 200


def test_the_end_of_the_served_certificate_is_told(tmp_path):
    ends: list[float] = []
    place(tmp_path, issue(create_authority(now=NOW), TRIAL_NAMES, now=NOW, days=30))
    CertificateSource(tmp_path / "tls.crt", tmp_path / "tls.key", Told(), ends.append)

    assert ends[-1] == int((NOW + timedelta(days=30)).timestamp())


def test_a_changed_policy_is_taken(tmp_path):
    told = Told()
    loaded = [policy(), policy()]
    policies = PolicySource(tmp_path / "policy.yaml", lambda _: loaded.pop(0), told)
    before = policies.current()

    asyncio.run(policies.reload())

    assert policies.current() is not before
    assert told.lines == [(True, "policy test was read again")]


def test_a_broken_policy_leaves_the_old_one_in_force_and_says_why(tmp_path):
    told = Told()
    good = policy()
    results: list[object] = [good, InputError("cannot be read")]

    def load(_path: Path) -> object:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    policies = PolicySource(tmp_path / "policy.yaml", load, told)
    asyncio.run(policies.reload())

    assert policies.current() is good
    assert told.lines == [(False, "the changed policy is not taken, the old one goes on:\ncannot be read")]


def test_a_policy_for_which_something_is_missing_is_not_taken(tmp_path):
    told = Told()
    loaded = [policy(), policy()]

    def prepare(_policy: object) -> None:
        raise ClusterError("there is no way to the cluster")

    policies = PolicySource(tmp_path / "policy.yaml", lambda _: loaded.pop(0), told, prepare=prepare)
    before = policies.current()

    asyncio.run(policies.reload())

    assert policies.current() is before
    assert told.lines == [
        (False, "the changed policy is not taken, the old one goes on:\nthere is no way to the cluster")
    ]


def test_watching_reloads_once_for_each_change(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    loads: list[Path] = []
    policies = PolicySource(file, lambda path: loads.append(path) or policy(), Told())

    async def change() -> None:
        await look(policies)
        file.write_text("22")
        await look(policies)
        await look(policies)

    asyncio.run(change())

    assert len(loads) == 2
