"""Certificates: who may sign, which names hold, when a new one is due, and what a folder keeps."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from gpupolicy.certificates import (
    TRIAL_NAMES,
    KeyPair,
    create_authority,
    expires_at,
    issue,
    needs_renewal,
    read_pair,
    renew,
    service_names,
    to_secret,
)
from gpupolicy.errors import InputError, UsageError

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
AUTHORITY = create_authority(now=NOW)
NAMES = service_names("gpupolicy-webhook", "gpu-system")


def verify(serving: KeyPair, name: str, *, at: datetime = NOW, authority: KeyPair = AUTHORITY) -> list:
    """Checks a chain as a strict client does."""
    subject = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    store = Store(x509.load_pem_x509_certificates(authority.certificate))
    verifier = PolicyBuilder().store(store).time(at).build_server_verifier(subject)
    return verifier.verify(x509.load_pem_x509_certificate(serving.certificate), [])


def extension(pair: KeyPair, kind: type) -> x509.ExtensionType:
    return x509.load_pem_x509_certificate(pair.certificate).extensions.get_extension_for_class(kind).value


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("gpupolicy-webhook.gpu-system.svc", id="as-the-api-server-calls-it"),
        pytest.param("gpupolicy-webhook.gpu-system.svc.cluster.local", id="full-name"),
    ],
)
def test_a_client_that_trusts_the_authority_accepts_the_service_under_its_name(name):
    serving = issue(AUTHORITY, NAMES, now=NOW)

    assert len(verify(serving, name)) == 2


@pytest.mark.parametrize("name", [pytest.param("localhost", id="name"), pytest.param("127.0.0.1", id="address")])
def test_a_certificate_for_trying_is_good_on_loopback(name):
    serving = issue(AUTHORITY, TRIAL_NAMES, now=NOW)

    assert len(verify(serving, name)) == 2


def test_another_name_is_refused():
    serving = issue(AUTHORITY, NAMES, now=NOW)

    with pytest.raises(VerificationError):
        verify(serving, "gpupolicy-webhook.other.svc")


def test_a_client_that_trusts_another_authority_refuses():
    serving = issue(AUTHORITY, NAMES, now=NOW)

    with pytest.raises(VerificationError):
        verify(serving, NAMES[0], authority=create_authority(now=NOW))


def test_a_serving_certificate_may_do_nothing_but_serve():
    serving = issue(AUTHORITY, NAMES, now=NOW)

    assert list(extension(serving, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_an_authority_may_not_make_further_authorities():
    assert extension(AUTHORITY, x509.BasicConstraints) == x509.BasicConstraints(ca=True, path_length=0)


def test_a_serving_certificate_ends_with_its_authority_at_the_latest():
    short = create_authority(now=NOW, days=10)

    assert expires_at(issue(short, NAMES, now=NOW, days=90).certificate) == NOW + timedelta(days=10)


def test_a_certificate_holds_five_minutes_before_it_was_made():
    serving = issue(AUTHORITY, NAMES, now=NOW)

    assert x509.load_pem_x509_certificate(serving.certificate).not_valid_before_utc == NOW - timedelta(minutes=5)


@pytest.mark.parametrize(
    ("days", "due"),
    [
        pytest.param(0, False, id="fresh"),
        pytest.param(59, False, id="before-two-thirds"),
        pytest.param(60, True, id="two-thirds"),
        pytest.param(91, True, id="over"),
    ],
)
def test_renewal_is_due_after_two_thirds_of_the_life(days, due):
    serving = issue(AUTHORITY, NAMES, now=NOW, days=90)

    assert needs_renewal(serving.certificate, NOW + timedelta(days=days)) is due


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "web_hook",
            "\"web_hook\" is neither an IP address nor a DNS name: it may hold lower case letters, digits, '-' and "
            "'.', and starts and ends with a letter or digit",
            id="underscore",
        ),
        pytest.param("", '"" is neither an IP address nor a DNS name: it is empty', id="empty"),
    ],
)
def test_a_name_that_cannot_stand_in_a_certificate_is_refused(name, message):
    with pytest.raises(UsageError) as caught:
        issue(AUTHORITY, (name,), now=NOW)

    assert str(caught.value) == message


def test_an_expired_authority_signs_nothing():
    with pytest.raises(UsageError) as caught:
        issue(create_authority(now=NOW, days=1), NAMES, now=NOW + timedelta(days=2))

    assert str(caught.value) == "the certificate authority expired on 2026-11-30"


def test_a_serving_certificate_signs_nothing():
    with pytest.raises(UsageError) as caught:
        issue(issue(AUTHORITY, NAMES, now=NOW), NAMES, now=NOW)

    assert str(caught.value) == "the certificate authority's certificate may not sign others"


def test_the_key_of_a_pair_is_not_shown():
    assert "PRIVATE KEY" not in repr(AUTHORITY)


def test_a_new_folder_gets_an_authority_and_a_serving_pair(tmp_path):
    renewal = renew(tmp_path / "pki", NAMES, now=NOW)

    assert (renewal.authority_reason, renewal.serving_reason) == ("there was none", "there was none")
    assert sorted(path.name for path in (tmp_path / "pki").iterdir()) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param("ca.key", 0o600, id="authority-key"),
        pytest.param("tls.key", 0o600, id="serving-key"),
        pytest.param("tls.crt", 0o644, id="certificate"),
    ],
)
def test_keys_are_readable_by_their_owner_alone(tmp_path, name, mode):
    renew(tmp_path, NAMES, now=NOW)

    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode


def test_a_second_run_changes_nothing(tmp_path):
    first = renew(tmp_path, NAMES, now=NOW)

    second = renew(tmp_path, NAMES, now=NOW + timedelta(days=30))

    assert (second.authority_reason, second.serving_reason) == (None, None)
    assert second.serving == first.serving


@pytest.mark.parametrize(
    ("names", "days", "reason"),
    [
        pytest.param(NAMES, 61, "it ends on 2027-02-27", id="old"),
        pytest.param(("webhook.example.com",), 0, "its names were others", id="other-names"),
    ],
)
def test_a_serving_pair_that_no_longer_fits_is_made_new_under_the_same_authority(tmp_path, names, days, reason):
    first = renew(tmp_path, NAMES, now=NOW)

    second = renew(tmp_path, names, now=NOW + timedelta(days=days))

    assert (second.authority, second.authority_reason, second.serving_reason) == (first.authority, None, reason)


def test_the_order_and_the_spelling_of_names_do_not_count(tmp_path):
    renew(tmp_path, ("localhost", "::1"), now=NOW)

    assert renew(tmp_path, ("0:0:0:0:0:0:0:1", "localhost"), now=NOW).serving_reason is None


def test_a_broken_serving_pair_is_made_new(tmp_path):
    renew(tmp_path, NAMES, now=NOW)
    (tmp_path / "tls.key").write_text("")

    assert renew(tmp_path, NAMES, now=NOW).serving_reason == "there was none"


def test_a_broken_authority_is_an_error_and_nothing_is_written(tmp_path):
    renew(tmp_path, NAMES, now=NOW)
    (tmp_path / "ca.key").write_text("")
    before = (tmp_path / "tls.crt").read_bytes()

    with pytest.raises(InputError) as caught:
        renew(tmp_path, ("other.example.com",), now=NOW)

    assert (caught.value.file, caught.value.message) == (
        str(tmp_path / "ca.key"),
        "is no PEM private key without a password",
    )
    assert (tmp_path / "tls.crt").read_bytes() == before


def test_an_authority_kept_elsewhere_signs_and_its_key_is_not_copied(tmp_path):
    renewal = renew(tmp_path, NAMES, now=NOW, authority=AUTHORITY)

    assert len(verify(renewal.serving, NAMES[0])) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.crt", "tls.crt", "tls.key"]


def test_a_changed_authority_makes_the_serving_pair_new(tmp_path):
    renew(tmp_path, NAMES, now=NOW)

    renewal = renew(tmp_path, NAMES, now=NOW, authority=AUTHORITY)

    assert renewal.serving_reason == "another authority had signed it"


def test_a_failed_write_leaves_the_old_files_and_no_scraps(tmp_path):
    renew(tmp_path, NAMES, now=NOW)
    (tmp_path / "tls.crt").unlink()
    (tmp_path / "tls.crt").mkdir()
    (tmp_path / "tls.crt" / "in-the-way").touch()

    with pytest.raises(InputError):
        renew(tmp_path, NAMES, now=NOW)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


def test_a_key_of_another_certificate_is_refused(tmp_path):
    renew(tmp_path, NAMES, now=NOW)

    with pytest.raises(InputError) as caught:
        read_pair(tmp_path / "tls.crt", tmp_path / "ca.key")

    assert caught.value.message == f"is not the key of {tmp_path / 'tls.crt'}"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError) as caught:
        read_pair(tmp_path / "tls.crt", tmp_path / "tls.key")

    assert (caught.value.file, caught.value.message) == (
        str(tmp_path / "tls.crt"),
        "cannot be read: no such file or directory",
    )


def test_the_secret_holds_the_pair_and_the_authority(tmp_path):
    secret = to_secret("gpupolicy-webhook-tls", "gpu-system", renew(tmp_path, NAMES, now=NOW))

    assert secret["type"] == "kubernetes.io/tls"
    assert list(secret["data"]) == ["ca.crt", "tls.crt", "tls.key"]
