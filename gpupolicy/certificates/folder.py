"""A folder of certificates: ca.crt, ca.key, tls.crt, tls.key, kept up to date and written all or nothing."""

from __future__ import annotations

import os
import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gpupolicy.certificates.authority import (
    SERVING_DAYS,
    KeyPair,
    create_authority,
    expires_at,
    in_certificate_form,
    is_issued_by,
    issue,
    names_of,
    needs_renewal,
    read_keys,
)
from gpupolicy.errors import InputError, reason_of

_CERTIFICATE_MODE, _KEY_MODE = 0o644, 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """What a folder of certificates holds now, and what was made new: each reason is None where nothing was."""

    authority: bytes
    serving: KeyPair
    authority_reason: str | None
    serving_reason: str | None


def renew(
    folder: Path,
    names: tuple[str, ...],
    *,
    now: datetime,
    days: int = SERVING_DAYS,
    authority: KeyPair | None = None,
) -> Renewal:
    """Brings a folder up to date: ``ca.crt``, ``ca.key``, ``tls.crt``, ``tls.key``. What is still good stays.

    Args:
        folder: made if it is missing.
        names: DNS names and IP addresses for the serving certificate.
        now: the present time, with a time zone.
        days: how long a new serving certificate is valid.
        authority: an authority kept elsewhere; its certificate is copied to ``ca.crt``, its key is not.

    Returns:
        What the folder holds now and why each part was made new.

    Raises:
        UsageError: a name cannot stand in a certificate, or the authority has expired.
        InputError: the folder's authority cannot be read, or the folder cannot be written.
    """
    authority_reason = None
    files: dict[str, tuple[bytes, int]] = {}
    if authority is None:
        authority = _find_authority(folder)
    else:
        files["ca.crt"] = (authority.certificate, _CERTIFICATE_MODE)
    if authority is None:
        authority, authority_reason = create_authority(now=now), "there was none"
        files |= {"ca.crt": (authority.certificate, _CERTIFICATE_MODE), "ca.key": (authority.key, _KEY_MODE)}
    serving = _find_pair(folder / "tls.crt", folder / "tls.key")
    serving_reason = _find_renewal_reason(serving, authority, names, now)
    if serving is None or serving_reason:
        serving = issue(authority, names, now=now, days=days)
        files |= {"tls.key": (serving.key, _KEY_MODE), "tls.crt": (serving.certificate, _CERTIFICATE_MODE)}
    _write_files(folder, files)
    return Renewal(
        authority=authority.certificate,
        serving=serving,
        authority_reason=authority_reason,
        serving_reason=serving_reason,
    )


def read_pair(certificate: Path, key: Path) -> KeyPair:
    """Reads a certificate and its key from two PEM files.

    Raises:
        InputError: a file cannot be opened, or the two do not belong together.
    """
    pair = KeyPair(certificate=_read_file(certificate), key=_read_file(key))
    read_keys(pair, certificate=str(certificate), key=str(key))
    return pair


def to_secret(name: str, namespace: str, renewal: Renewal) -> dict[str, object]:
    """Returns the manifest of a Secret of type ``kubernetes.io/tls`` with the serving pair and the authority."""
    data = {
        "ca.crt": renewal.authority,
        "tls.crt": renewal.serving.certificate,
        "tls.key": renewal.serving.key,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {key: b64encode(value).decode("ascii") for key, value in data.items()},
    }


def _find_renewal_reason(
    serving: KeyPair | None, authority: KeyPair, names: tuple[str, ...], now: datetime
) -> str | None:
    """Returns why a serving certificate must be made new, or None."""
    if serving is None:
        return "there was none"
    if not is_issued_by(serving.certificate, authority.certificate):
        return "another authority had signed it"
    if names_of(serving.certificate) != in_certificate_form(names):
        return "its names were others"
    if needs_renewal(serving.certificate, now):
        return f"it ends on {expires_at(serving.certificate):%Y-%m-%d}"
    return None


def _find_authority(folder: Path) -> KeyPair | None:
    """A half or broken authority is an error: making a new one would silently void the registered bundle."""
    if not (folder / "ca.crt").exists() and not (folder / "ca.key").exists():
        return None
    return read_pair(folder / "ca.crt", folder / "ca.key")


def _find_pair(certificate: Path, key: Path) -> KeyPair | None:
    """A broken serving pair is nothing to keep: it is made new."""
    try:
        return read_pair(certificate, key)
    except InputError:
        return None


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=str(path)) from error


def _write_files(folder: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
    """Writes all files beside their places first, then moves them: a full disk leaves the old ones as they were."""
    written: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (content, mode) in files.items():
            written[name] = folder / f".{name}.{secrets.token_hex(4)}"
            descriptor = os.open(written[name], os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with open(descriptor, "wb") as file:
                file.write(content)
        for name in files:
            os.replace(written[name], folder / name)
            del written[name]
    except OSError as error:
        raise InputError(f"cannot be written: {reason_of(error)}", file=str(error.filename or folder)) from error
    finally:
        for path in written.values():
            path.unlink(missing_ok=True)
