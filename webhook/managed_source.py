"""Self-managed certificates as a source for the server: the cluster's Secret beside the file of clients' authority."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

from gpupolicy.certificates import expires_at
from gpupolicy.certificates.keyring import Keyring
from gpupolicy.errors import InputError

from .reload import Refusals, Told, read_client_authority, stamp
from .tls import ServedCertificate


class ManagedSource:
    """The certificate in force where the Secret keeps it; ``take`` is for ``SelfManaged``.

    ``expires`` hears when the served certificate and its authority end.
    """

    def __init__(
        self, tell: Told, expires: Callable[[float, float], None], *, client_authority: Path | None = None
    ) -> None:
        """Reads the clients' authority; raises InputError where it cannot be read."""
        self.paths: tuple[Path, ...] = (client_authority,) if client_authority else ()
        self.seen = stamp(self.paths)
        self._tell, self._expires = tell, expires
        self._refusals = Refusals()
        self._clients = self._read()
        self._served: ServedCertificate | None = None

    @property
    def served(self) -> ServedCertificate:
        """What is served."""
        if self._served is None:
            raise RuntimeError("nothing was taken yet")
        return self._served

    @property
    def context(self) -> ssl.SSLContext:
        """For the listener."""
        return self.served.context

    def take(self, keyring: Keyring) -> None:
        """Serves a keyring's certificate to new connections, from any thread."""
        if self._served is None:
            self._served = ServedCertificate(keyring.serving, self._clients)
        elif self._served.pair != keyring.serving:
            self._served.take(keyring.serving, self._clients)
        self._expires(self._served.expiry, expires_at(keyring.authority.certificate).timestamp())

    async def reload(self) -> None:
        """Reads the clients' authority again."""
        try:
            clients = self._read()
            self.served.take(self.served.pair, clients)
        except InputError as error:
            if self._refusals.is_news(self, error):
                self._tell(False, f"the changed certificate is not taken, the old one goes on: {error}")
        else:
            self._refusals.clear()
            self._clients = clients
            self._tell(True, "the certificate was read again")

    def _read(self) -> bytes | None:
        return read_client_authority(self.paths[0]) if self.paths else None
