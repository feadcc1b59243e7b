"""What the webhook keeps in its Secret where it manages its certificates itself. No API server, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from gpupolicy.certificates.authority import KeyPair, expires_at, read_keys
from gpupolicy.errors import InputError

# A rotation that is asked for again and again must not fill the registrations.
MOST_PREVIOUS = 8
_SINCE, _UNTIL, _PREVIOUS = "next-ca-trusted-since", "previous-ca-until", "previous-ca.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """The authority in force and the serving certificate; during a rotation also the next and previous authorities.

    ``trusted_since``: when every registration was first seen to trust the next authority. ``previous``: PEM
    certificates of authorities whose serving certificates may still be in use ``until`` then.
    """

    authority: KeyPair
    serving: KeyPair
    next_authority: KeyPair | None = None
    trusted_since: datetime | None = None
    previous: bytes = b""
    until: datetime | None = None


def bundle_of(keyring: Keyring) -> bytes:
    """Returns the PEM text of every authority that clients have to trust, the one in force first."""
    following = keyring.next_authority.certificate if keyring.next_authority else b""
    return keyring.authority.certificate + following + keyring.previous


def fingerprints(bundle: bytes) -> frozenset[bytes]:
    """Returns what tells a bundle's certificates apart; none where it holds none or cannot be read."""
    try:
        return frozenset(each.public_bytes(Encoding.DER) for each in x509.load_pem_x509_certificates(bundle))
    except ValueError:
        return frozenset()


def joined_previous(keyring: Keyring) -> bytes:
    """Returns the previous authorities once the one in force has become one of them: the newest first, not too many."""
    older = x509.load_pem_x509_certificates(keyring.previous) if keyring.previous else []
    kept = b"".join(each.public_bytes(Encoding.PEM) for each in older[: MOST_PREVIOUS - 1])
    return keyring.authority.certificate + kept


def previous_until(keyring: Keyring) -> datetime:
    """Returns when the last serving certificate under the authority in force or a previous one ends."""
    ends = expires_at(keyring.serving.certificate)
    return ends if keyring.until is None else max(ends, keyring.until)


def to_data(keyring: Keyring) -> dict[str, bytes]:
    """Returns what the Secret holds."""
    data = {
        "ca.crt": keyring.authority.certificate,
        "ca.key": keyring.authority.key,
        "tls.crt": keyring.serving.certificate,
        "tls.key": keyring.serving.key,
    }
    if keyring.next_authority:
        data |= {"next-ca.crt": keyring.next_authority.certificate, "next-ca.key": keyring.next_authority.key}
    if keyring.trusted_since:
        data[_SINCE] = keyring.trusted_since.isoformat().encode()
    if keyring.previous and keyring.until:
        data |= {_PREVIOUS: keyring.previous, _UNTIL: keyring.until.isoformat().encode()}
    return data


def from_data(data: Mapping[str, bytes]) -> Keyring | None:
    """Reads what a Secret holds.

    Args:
        data: its entries, decoded.

    Returns:
        The keyring; None where the Secret is empty.

    Raises:
        InputError: an entry is missing or cannot be read, or a key is not that of its certificate. Nothing is made
            new then: another authority would void the registered bundle.
    """
    if not data:
        return None
    authority = _pair(data, "ca")
    read_keys(authority)
    following = _pair(data, "next-ca") if "next-ca.crt" in data else None
    if following:
        read_keys(following, certificate="next-ca.crt", key="next-ca.key")
    previous = data.get(_PREVIOUS, b"")
    if previous and not fingerprints(previous):
        raise InputError("is no PEM certificate", file=_PREVIOUS)
    return Keyring(
        authority=authority,
        serving=_pair(data, "tls"),
        next_authority=following,
        trusted_since=_time(data, _SINCE),
        previous=previous,
        until=_time(data, _UNTIL),
    )


def _pair(data: Mapping[str, bytes], name: str) -> KeyPair:
    for file in (f"{name}.crt", f"{name}.key"):
        if file not in data:
            raise InputError("is missing", file=file)
    return KeyPair(certificate=data[f"{name}.crt"], key=data[f"{name}.key"])


def _time(data: Mapping[str, bytes], name: str) -> datetime | None:
    if name not in data:
        return None
    try:
        return datetime.fromisoformat(data[name].decode()).astimezone(UTC)
    except ValueError as error:
        raise InputError("is no time", file=name) from error
