"""Files that change while the webhook serves: the policy and the certificate. A bad new one leaves the old in force."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from pathlib import Path

from gpupolicy.certificates import expires_at, read_pair
from gpupolicy.errors import GPUPolicyError, InputError
from gpupolicy.model import Policy

POLL_SECONDS = 1.0
# Forward secrecy and authenticated encryption, also where a client has no TLS 1.3.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"

Stamp = tuple[tuple[int, ...] | None, ...]
Told = Callable[[bool, str], None]


def stamp(paths: tuple[Path, ...]) -> Stamp:
    """Returns what changes when one of the files does, links followed: kubelet swaps a link above them."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


async def watch(source: PolicySource | CertificateSource, *, seconds: float = POLL_SECONDS) -> None:
    """Looks at a source's files for ever and has it reload when they change.

    Polling, because notification does not follow the links by which kubelet swaps mounted files.
    """
    while True:
        await asyncio.sleep(seconds)
        found = stamp(source.paths)
        if found != source.seen:
            source.seen = found
            await source.reload()


class PolicySource:
    """The policy in force. ``tell`` hears of each change: whether it was taken, and a line for the log.

    ``prepare`` gets each changed policy before it is taken, and raises where what it needs is not there.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[Path], Policy],
        tell: Told,
        *,
        prepare: Callable[[Policy], None] = lambda _policy: None,
    ) -> None:
        """Loads the policy; raises what ``load`` raises."""
        self.paths = (path,)
        self.seen = stamp(self.paths)
        self._load = load
        self._tell = tell
        self._prepare = prepare
        self._policy = load(path)

    def current(self) -> Policy:
        """Returns the policy in force."""
        return self._policy

    async def reload(self) -> None:
        """Loads the file again, beside the loop: reviews go on meanwhile."""
        try:
            self._policy = await asyncio.to_thread(self._load_next)
        except GPUPolicyError as error:
            self._tell(False, f"the changed policy is not taken, the old one goes on:\n{error}")
        else:
            self._tell(True, f"policy {self._policy.name} was read again")

    def _load_next(self) -> Policy:
        policy = self._load(self.paths[0])
        self._prepare(policy)
        return policy


class CertificateSource:
    """The certificate in force, as a TLS context. ``expires`` hears when each served certificate ends."""

    def __init__(self, certificate: Path, key: Path, tell: Told, expires: Callable[[float], None]) -> None:
        """Loads the pair; raises InputError where it cannot be used."""
        self.paths = (certificate, key)
        self.seen = stamp(self.paths)
        self._tell = tell
        self._expires = expires
        self._current = self._load()
        self.context = self._load()
        self.context.sni_callback = self._switch

    async def reload(self) -> None:
        """Loads the files again, on the loop: it takes about a millisecond."""
        try:
            self._current = self._load()
        except InputError as error:
            self._tell(False, f"the changed certificate is not taken, the old one goes on: {error.file}: {error}")
        else:
            self._tell(True, "the certificate was read again")

    def _switch(self, connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext) -> None:
        """Gives a new connection the newest context.

        Loading a new pair into the first context would not do: OpenSSL keeps one certificate for each kind of key, so
        an old ECDSA one would still be served after a change to RSA.
        """
        connection.context = self._current

    def _load(self) -> ssl.SSLContext:
        certificate, key = self.paths
        pair = read_pair(certificate, key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_CIPHERS)
        # With h2 on offer the API server would speak it to localhost; behind a Service it never does.
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise InputError(f"cannot be served: {error.strerror or error}", file=str(certificate)) from error
        self._expires(expires_at(pair.certificate).timestamp())
        return context
