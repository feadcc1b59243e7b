"""What the Secret of self-managed certificates holds: written and read back, and refused where it is broken."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpupolicy.certificates import KeyPair, create_authority, issue
from gpupolicy.certificates.keyring import (
    MOST_PREVIOUS,
    Keyring,
    bundle_of,
    fingerprints,
    from_data,
    joined_previous,
    previous_until,
    to_data,
)
from gpupolicy.errors import InputError

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
NAMES = ("gpupolicy-webhook.gpu-system.svc",)


def authority() -> KeyPair:
    return create_authority(now=NOW)


def keyring() -> Keyring:
    first = authority()
    return Keyring(authority=first, serving=issue(first, NAMES, now=NOW))


FULL = replace(
    keyring(),
    next_authority=authority(),
    trusted_since=NOW,
    previous=authority().certificate,
    until=NOW + timedelta(days=3),
)


@pytest.mark.parametrize("kept", [pytest.param(keyring(), id="plain"), pytest.param(FULL, id="in-a-rotation")])
def test_what_is_written_is_read_back(kept):
    assert from_data(to_data(kept)) == kept


def test_an_empty_secret_holds_no_keyring():
    assert from_data({}) is None


@pytest.mark.parametrize(
    ("change", "file", "message"),
    [
        pytest.param({"ca.key": None}, "ca.key", "is missing", id="no-key"),
        pytest.param({"ca.crt": None}, "ca.crt", "is missing", id="no-authority"),
        pytest.param({"tls.crt": None}, "tls.crt", "is missing", id="no-serving-certificate"),
        pytest.param({"ca.crt": b"x"}, "ca.crt", "is no PEM certificate", id="no-pem"),
        pytest.param({"ca.key": authority().key}, "ca.key", "is not the key of ca.crt", id="key-of-another"),
        pytest.param({"next-ca.key": None}, "next-ca.key", "is missing", id="no-next-key"),
        pytest.param(
            {"next-ca.crt": authority().certificate}, "next-ca.key", "is not the key of next-ca.crt", id="next"
        ),
        pytest.param({"previous-ca.crt": b"x"}, "previous-ca.crt", "is no PEM certificate", id="previous"),
        pytest.param({"previous-ca-until": b"soon"}, "previous-ca-until", "is no time", id="time"),
    ],
)
def test_a_broken_secret_is_an_error_that_names_the_entry(change, file, message):
    """And no reason for another authority: that would void every registered bundle."""
    data = {key: value for key, value in (to_data(FULL) | change).items() if value is not None}

    with pytest.raises(InputError) as caught:
        from_data(data)

    assert (caught.value.file, caught.value.message) == (file, message)


def test_a_bundle_holds_every_authority_that_may_sign():
    bundle = bundle_of(FULL)

    assert FULL.next_authority is not None
    assert fingerprints(bundle) == fingerprints(FULL.authority.certificate) | fingerprints(
        FULL.next_authority.certificate
    ) | fingerprints(FULL.previous)


def test_text_without_certificates_has_no_fingerprints():
    assert fingerprints(b"nothing") == frozenset()


def test_previous_authorities_are_kept_newest_first_and_not_too_many():
    kept = replace(keyring(), previous=b"".join(authority().certificate for _ in range(20)))

    joined = joined_previous(kept)

    assert len(fingerprints(joined)) == MOST_PREVIOUS
    assert joined.startswith(kept.authority.certificate)


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        pytest.param(None, timedelta(days=90), id="first"),
        pytest.param(NOW + timedelta(days=10), timedelta(days=90), id="older-ends-before"),
        pytest.param(NOW + timedelta(days=100), timedelta(days=100), id="older-ends-later"),
    ],
)
def test_previous_authorities_are_trusted_until_the_last_serving_certificate_ends(until, expected):
    assert previous_until(replace(keyring(), until=until)) == NOW + expected
