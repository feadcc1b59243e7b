"""TLS as it is served: the certificate and the clients' authority can be changed without touching open connections."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpupolicy.certificates import KeyPair, expires_at
from gpupolicy.errors import InputError

# Forward secrecy and authenticated encryption, also where a client has no TLS 1.3.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


class ServedCertificate:
    """The certificate in force, as a TLS context for a listener.

    ``pair`` is what is served. With ``client_authority`` (PEM) only clients with a certificate of it are let in.
    """

    def __init__(self, pair: KeyPair, client_authority: bytes | None = None) -> None:
        """Raises InputError where the pair or the authority cannot be used."""
        self.pair = pair
        self._current = to_context(pair, client_authority)
        self.context = to_context(pair, client_authority)
        self.context.sni_callback = self._switch

    def take(self, pair: KeyPair, client_authority: bytes | None = None) -> None:
        """Serves another pair to new connections, from any thread; raises InputError where it cannot be used."""
        self._current = to_context(pair, client_authority)
        self.pair = pair

    @property
    def expiry(self) -> float:
        """When the served certificate ends, in seconds since 1970."""
        return expires_at(self.pair.certificate).timestamp()

    def _switch(self, connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        """Gives a new connection the newest context, whether it names a server or not.

        Loading a new pair into the first context would not do: OpenSSL keeps one certificate for each kind of key, so
        an old ECDSA one would still be served after a change to RSA; and an authority cannot be taken away again.
        """
        connection.context = self._current


def to_context(pair: KeyPair, client_authority: bytes | None = None) -> ssl.SSLContext:
    """Makes a context for a server.

    Args:
        pair: certificate (or chain, leaf first) and key.
        client_authority: PEM text of the authorities of clients; None: clients need no certificate.

    Raises:
        InputError: the pair cannot be served, or the authority holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    # With h2 on offer the API server would speak it to localhost; behind a Service it never does.
    context.set_alpn_protocols(["http/1.1"])
    if client_authority is not None:
        _ask_for_certificate(context, client_authority)
    try:
        with _as_file(pair.certificate.rstrip() + b"\n" + pair.key) as file:
            context.load_cert_chain(file)
    except (ssl.SSLError, OSError) as error:
        raise InputError(f"cannot be served: {error.strerror or error}", file="certificate") from error
    return context


def _ask_for_certificate(context: ssl.SSLContext, authority: bytes) -> None:
    """Lets nobody in without a certificate of the authority.

    A session that is resumed shows no certificate, so an authority taken away would go on for as long as its tickets.
    None are given out, and TLS 1.2, whose sessions the server itself remembers, is not spoken.
    """
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise InputError("is no PEM certificate", file="client authority") from error


@contextmanager
def _as_file(content: bytes) -> Iterator[Path]:
    """Python's TLS reads keys from files alone: a file in memory where the system has such, else one for a moment."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").exists():
        descriptor = os.memfd_create("tls")
        try:
            os.write(descriptor, content)
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield Path(file.name)
