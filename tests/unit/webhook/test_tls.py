"""TLS as the API server meets it: HTTP/1.1 alone, and nothing old."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Iterator

import pytest
from serving import Endpoint, echo, served


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
