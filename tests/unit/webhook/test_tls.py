"""TLS as the API server meets it: HTTP/1.1 alone, and nothing old."""

from __future__ import annotations

import os
import ssl
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from serving import Endpoint, echo, served

from gpupolicy.certificates import TRIAL_NAMES, KeyPair, create_authority, issue
from gpupolicy.errors import InputError
from gpupolicy.webhook.tls import to_context


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server on loopback."""
    with served(echo, tmp_path_factory.mktemp("pki")) as endpoint:
        yield endpoint


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        pytest.param(["h2", "http/1.1"], "http/1.1", id="both"),
        pytest.param(["h2"], None, id="http2-alone"),
    ],
)
def test_only_http_1_1_is_negotiated(endpoint, offered, chosen):
    """The API server would speak h2 if it were on offer, and then find that it is not spoken here."""
    context = endpoint.trust()
    context.set_alpn_protocols(offered)

    with endpoint.connect(context) as connection:
        assert connection.selected_alpn_protocol() == chosen


def test_tls_1_1_is_refused(endpoint):
    context = endpoint.trust()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")

    with pytest.raises(ssl.SSLError):
        endpoint.connect(context)


def test_a_cipher_without_authentication_of_the_data_is_refused(endpoint):
    context = endpoint.trust()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA256")

    with pytest.raises(ssl.SSLError):
        endpoint.connect(context)


def test_tls_1_2_with_an_authenticated_cipher_is_served(endpoint):
    context = endpoint.trust()
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    with endpoint.connect(context) as connection:
        assert connection.cipher()[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"


NOW = datetime.now(UTC)
AUTHORITY = create_authority(now=NOW)
PAIR = issue(AUTHORITY, TRIAL_NAMES, now=NOW)


def test_where_the_system_has_no_files_in_memory_a_key_is_in_a_file_for_a_moment(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)

    assert to_context(PAIR).cert_store_stats()["x509"] == 0


@pytest.mark.parametrize("text", [pytest.param(b"half a file", id="no-pem"), pytest.param(b"\xff", id="no-text")])
def test_an_authority_of_clients_that_holds_no_certificate_is_refused(text):
    with pytest.raises(InputError) as caught:
        to_context(PAIR, text)

    assert (caught.value.file, caught.value.message) == ("client authority", "is no PEM certificate")


def test_where_clients_show_certificates_no_tickets_are_given_out():
    context = to_context(PAIR, AUTHORITY.certificate)

    assert (context.verify_mode, context.num_tickets, context.minimum_version) == (
        ssl.CERT_REQUIRED,
        0,
        ssl.TLSVersion.TLSv1_3,
    )


def test_a_pair_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"cannot be served: "):
        to_context(KeyPair(certificate=PAIR.certificate, key=AUTHORITY.key))
