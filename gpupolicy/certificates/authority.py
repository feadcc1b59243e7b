"""Makes and reads certificates: an authority of our own and serving certificates under it. No clock, no files."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gpupolicy.errors import InputError, UsageError
from gpupolicy.labels import find_dns_subdomain_problem

AUTHORITY_DAYS = 3650
SERVING_DAYS = 90
TRIAL_NAMES = ("localhost", "127.0.0.1", "::1")

_SKEW = timedelta(minutes=5)  # clocks of a cluster differ; a certificate that is not valid yet is an outage


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A certificate (or a chain, leaf first) and its private key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Returns the names by which a cluster calls a Service: the API server asks for the first one.

    Source: kubernetes/apiserver pkg/util/webhook/client.go (the server name is ``<service>.<namespace>.svc``).
    """
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local")


def create_authority(*, now: datetime, days: int = AUTHORITY_DAYS) -> KeyPair:
    """Makes a certificate authority with a P-256 key.

    Args:
        now: the present time, with a time zone.
        days: how long it is valid.

    Returns:
        A self-signed certificate that may sign serving certificates and nothing below them, and its key.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    # A subject of its own for each authority: OpenSSL finds issuers by subject, two alike confuse a bundle of both.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"gpupolicy authority {secrets.token_hex(4)}")])
    builder = (
        _builder(subject, subject, key.public_key(), now, now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    return _to_pair(builder.sign(key, hashes.SHA256()), key)


def issue(authority: KeyPair, names: tuple[str, ...], *, now: datetime, days: int = SERVING_DAYS) -> KeyPair:
    """Makes a serving certificate with a fresh P-256 key.

    Args:
        authority: who signs it.
        names: DNS names and IP addresses that clients call it by, at least one.
        now: the present time, with a time zone.
        days: how long it is valid, cut to the life of the authority.

    Returns:
        The certificate and its key.

    Raises:
        UsageError: a name is neither a DNS name nor an IP address, or the authority has expired or is none.
        InputError: the authority's certificate or key cannot be read, or they do not belong together.
    """
    issuer, issuer_key = read_keys(authority)
    if not _may_sign(issuer):
        raise UsageError("the certificate authority's certificate may not sign others")
    if issuer.not_valid_after_utc <= now:
        raise UsageError(f"the certificate authority expired on {issuer.not_valid_after_utc:%Y-%m-%d}")
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + timedelta(days=days), issuer.not_valid_after_utc)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpupolicy webhook")])
    builder = (
        _builder(subject, issuer.subject, key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_to_general_name(name) for name in names]), critical=False)
        .add_extension(_authority_identifier(issuer), critical=False)
    )
    return _to_pair(builder.sign(issuer_key, _hash_for(issuer_key)), key)


def expires_at(certificate: bytes) -> datetime:
    """Returns when a PEM certificate (the first of a chain) ends, in UTC; raises InputError if it cannot be read."""
    return read_certificate(certificate).not_valid_after_utc


def is_valid_at(certificate: bytes, now: datetime) -> bool:
    """Returns whether a PEM certificate has begun and not ended; raises InputError if it cannot be read."""
    read = read_certificate(certificate)
    return read.not_valid_before_utc <= now < read.not_valid_after_utc


def needs_renewal(certificate: bytes, now: datetime) -> bool:
    """Returns whether two thirds of a PEM certificate's life are over; raises InputError if it cannot be read."""
    read = read_certificate(certificate)
    return now >= read.not_valid_before_utc + (read.not_valid_after_utc - read.not_valid_before_utc) * 2 / 3


def ends_soon(certificate: bytes, now: datetime) -> bool:
    """Returns whether a PEM certificate should have been made new by now: a quarter of its life left, or three weeks.

    Raises:
        InputError: it cannot be read.
    """
    read = read_certificate(certificate)
    life = read.not_valid_after_utc - read.not_valid_before_utc
    return read.not_valid_after_utc - now < min(life / 4, timedelta(days=21))


def is_issued_by(certificate: bytes, authority: bytes) -> bool:
    """Returns whether an authority has signed a certificate (both PEM); raises InputError if one cannot be read."""
    try:
        read_certificate(certificate).verify_directly_issued_by(read_certificate(authority))
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def names_of(certificate: bytes) -> tuple[str, ...]:
    """Returns the DNS names and addresses a PEM certificate is good for, sorted."""
    try:
        names = read_certificate(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(sorted(str(name.value) for name in names))


def in_certificate_form(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns names as a certificate shows them, sorted; raises UsageError where one cannot stand in it."""
    return tuple(sorted({str(_to_general_name(name).value) for name in names}))


def read_keys(
    pair: KeyPair, *, certificate: str = "ca.crt", key: str = "ca.key"
) -> tuple[x509.Certificate, CertificateIssuerPrivateKeyTypes]:
    """Reads both PEM texts of a pair.

    Args:
        pair: what to read.
        certificate: file of the certificate, for messages.
        key: file of the key, for messages.

    Raises:
        InputError: one cannot be read, or the key is not the certificate's.
    """
    read = read_certificate(pair.certificate, certificate)
    try:
        private = serialization.load_pem_private_key(pair.key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError("is no PEM private key without a password", file=key) from error
    if read.public_key() != private.public_key():
        raise InputError(f"is not the key of {certificate}", file=key)
    return read, private  # type: ignore[return-value]  # a key that cannot sign has no certificate of its own


def read_certificate(pem: bytes, file: str = "certificate") -> x509.Certificate:
    """Returns the first certificate of a PEM text; raises InputError, naming the file, if there is none."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise InputError("is no PEM certificate", file=file) from error


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _may_sign(issuer: x509.Certificate) -> bool:
    try:
        return bool(issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
    except x509.ExtensionNotFound:
        return False


def _authority_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Uses the issuer's own identifier where it has one: other tools compute it in other ways."""
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _hash_for(key: CertificateIssuerPrivateKeyTypes) -> hashes.SHA256 | None:
    """The Edwards curves bring their own hash."""
    return None if isinstance(key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)) else hashes.SHA256()


def _to_general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        pass
    if problem := find_dns_subdomain_problem(name.removeprefix("*.")):
        raise UsageError(f'"{name}" is neither an IP address nor a DNS name: it {problem}')
    return x509.DNSName(name)


def _to_pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
