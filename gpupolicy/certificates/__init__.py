"""Certificates for the webhook: an authority of our own, serving certificates, and the folder that keeps them."""

from gpupolicy.certificates.authority import (
    AUTHORITY_DAYS,
    SERVING_DAYS,
    TRIAL_NAMES,
    KeyPair,
    create_authority,
    ends_soon,
    expires_at,
    issue,
    needs_renewal,
    service_names,
)
from gpupolicy.certificates.folder import Renewal, read_pair, renew, to_secret

__all__ = [
    "AUTHORITY_DAYS",
    "SERVING_DAYS",
    "TRIAL_NAMES",
    "KeyPair",
    "Renewal",
    "create_authority",
    "ends_soon",
    "expires_at",
    "issue",
    "needs_renewal",
    "read_pair",
    "renew",
    "service_names",
    "to_secret",
]
