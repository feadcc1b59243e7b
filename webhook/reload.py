"""Files that change while the webhook serves: the policy and the certificate. A bad new one leaves the old in force."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from gpupolicy.certificates import KeyPair, read_pair
from gpupolicy.certificates.keyring import fingerprints
from gpupolicy.errors import GPUPolicyError, InputError, reason_of
from gpupolicy.model import Policy

from .tls import ServedCertificate

POLL_SECONDS = 1.0

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


class Source(Protocol):
    """Files, what they looked like when they were last read, and how they are read again."""

    seen: Stamp

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""

    async def reload(self) -> None:
        """Reads the files again."""


async def look(source: Source) -> float:
    """Looks at a source's files and has it reload if they have changed; returns when to look again.

    Polling, because notification does not follow the links by which kubelet swaps mounted files.
    """
    found = stamp(source.paths)
    if found != source.seen:
        source.seen = found
        try:
            await source.reload()
        except BaseException:  # whatever it was, the files have not been taken
            source.seen = ()
            raise
    return POLL_SECONDS


class Refusals:
    """What kept a source's files from being taken; where that was the machine, they are read again at the next look."""

    def __init__(self) -> None:
        self._excuse = ""

    def is_news(self, source: Source, error: GPUPolicyError) -> bool:
        """Returns whether to tell of it: an excuse is told once. With one, the source's files count as unseen."""
        before, self._excuse = self._excuse, _excuse(error)
        if self._excuse:
            source.seen = ()
        return not self._excuse or self._excuse != before

    def clear(self) -> None:
        """Forgets it: the files were taken."""
        self._excuse = ""


def _excuse(error: BaseException) -> str:
    """Returns the reason where it is the machine's and not the file's: no descriptors left, say. "" otherwise."""
    cause: BaseException | None = error
    while (cause := cause.__cause__ if cause else None) is not None:
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError):
            return str(error)
    return ""


class PolicySource:
    """The policy in force. ``tell`` hears of each change: whether it was taken, and a line for the log.

    ``is_refused``: the file holds a policy that was not taken.
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
        self.paths: tuple[Path, ...] = (path,)
        self.seen = stamp(self.paths)
        self._load = load
        self._tell = tell
        self._prepare = prepare
        self._policy = load(path)
        self.is_refused = False
        self._refusals = Refusals()

    def current(self) -> Policy:
        """Returns the policy in force."""
        return self._policy

    async def reload(self) -> None:
        """Loads the file again, beside the loop: reviews go on meanwhile."""
        try:
            self._policy = await asyncio.to_thread(self._load_next)
        except GPUPolicyError as error:
            self.is_refused = True
            if self._refusals.is_news(self, error):
                self._tell(False, f"the changed policy is not taken, the old one goes on:\n{error}")
        else:
            self.is_refused = False
            self._refusals.clear()
            self._tell(True, f"policy {self._policy.name} was read again")

    def _load_next(self) -> Policy:
        policy = self._load(self.paths[0])
        self._prepare(policy)
        return policy


class CertificateSource:
    """The certificate in force, read from files. ``expires`` hears when each served certificate ends."""

    def __init__(
        self,
        certificate: Path,
        key: Path,
        tell: Told,
        expires: Callable[[float], None],
        *,
        client_authority: Path | None = None,
    ) -> None:
        """Loads the files; raises InputError where they cannot be used."""
        self._pair_paths = (certificate, key)
        self._client_path = client_authority
        self.paths = (certificate, key, *((client_authority,) if client_authority else ()))
        self.seen = stamp(self.paths)
        self._tell = tell
        self._expires = expires
        with _named(certificate):
            self.served = ServedCertificate(*self._read())
        self.context = self.served.context
        self._refusals = Refusals()
        expires(self.served.expiry)

    async def reload(self) -> None:
        """Loads the files again, on the loop: it takes about a millisecond."""
        try:
            with _named(self._pair_paths[0]):
                self.served.take(*self._read())
        except InputError as error:
            if self._refusals.is_news(self, error):
                self._tell(False, f"the changed certificate is not taken, the old one goes on: {error}")
        else:
            self._refusals.clear()
            self._expires(self.served.expiry)
            self._tell(True, "the certificate was read again")

    def _read(self) -> tuple[KeyPair, bytes | None]:
        pair = read_pair(*self._pair_paths)
        return pair, read_client_authority(self._client_path) if self._client_path else None


def read_client_authority(file: Path) -> bytes:
    """Returns the PEM text of a file with authorities of clients; raises InputError where it holds none."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=str(file)) from error
    if not fingerprints(content):
        raise InputError("is no PEM certificate", file=str(file))
    return content


@contextmanager
def _named(certificate: Path) -> Iterator[None]:
    """Names the file in an error about what it holds."""
    try:
        yield
    except InputError as error:
        raise InputError(error.message, file=str(certificate) if error.file == "certificate" else error.file) from error
