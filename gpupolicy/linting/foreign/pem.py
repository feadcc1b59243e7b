"""Certificates as they stand in manifests: PEM inside base64. Looks at the form alone."""

from __future__ import annotations

import base64
import binascii
import re

_BEGIN = b"-----BEGIN CERTIFICATE-----"
_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")


def decode_base64(text: str) -> bytes | None:
    """Returns what a base64 text holds, None where it is none; line ends are skipped, as Go does."""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return None


def has_certificate(text: str) -> bool:
    """Returns whether a base64 text holds a certificate in PEM form."""
    return _BEGIN in (decode_base64(text) or b"")


def has_key(text: str) -> bool:
    """Returns whether a base64 text holds a private key in PEM form."""
    return _KEY.search(decode_base64(text) or b"") is not None


def is_encoded_twice(text: str) -> bool:
    """Returns whether a base64 text holds base64 of a certificate."""
    inner = decode_base64(text) or b""
    return inner.isascii() and has_certificate(inner.decode("ascii"))
