"""Which single step comes next in the life of certificates that the webhook manages itself.

Nothing is remembered between steps: each follows from what the Secret holds and what the registrations trust, so a
crash between any two of them costs nothing, and replicas that do the same work at once only meet in a conflict.

    BEGIN -> (RENEW)* -> PREPARE -> [registrations trust both] -> CONFIRM -> wait -> PROMOTE -> ... -> FORGET

A certificate is served only under an authority that the API server has been trusting for a while, and an authority is
forgotten only when nothing that it signed is valid any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from gpupolicy.certificates.authority import (
    SERVING_DAYS,
    KeyPair,
    create_authority,
    expires_at,
    in_certificate_form,
    is_issued_by,
    is_valid_at,
    issue,
    names_of,
    needs_renewal,
    read_keys,
)
from gpupolicy.certificates.keyring import Keyring, joined_previous, previous_until
from gpupolicy.errors import InputError

# A year, so that the change of authorities is a habit and no adventure after ten of them.
MANAGED_AUTHORITY_DAYS = 365
SETTLE = timedelta(seconds=60)


class Step(StrEnum):
    """What is done to the Secret."""

    BEGIN = "begin"
    RENEW = "renew"
    PREPARE = "prepare"
    CONFIRM = "confirm"
    PROMOTE = "promote"
    FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What holds for every step: the names of the serving certificate, and how long things last.

    ``settle``: how long API servers get to hear of an authority before it is used.
    """

    names: tuple[str, ...]
    settle: timedelta = SETTLE
    authority_days: int = MANAGED_AUTHORITY_DAYS
    serving_days: int = SERVING_DAYS


def next_step(
    keyring: Keyring | None, plan: Plan, *, now: datetime, trusted: bool, asked: bool = False
) -> tuple[Step, Keyring] | None:
    """Decides what to write into the Secret.

    Args:
        keyring: what it holds, None where it is empty.
        plan: names and times.
        now: the present time, with a time zone.
        trusted: whether every registration trusts all authorities of the keyring.
        asked: whether somebody asked for a new authority.

    Returns:
        The step and what the Secret holds after it; None where nothing is due.
    """
    if keyring is None:
        return Step.BEGIN, _begin(plan, now)
    rotated = _rotate(keyring, plan, now=now, trusted=trusted, asked=asked)
    if rotated:
        return rotated
    if not _is_valid(keyring.authority, now):
        return Step.BEGIN, _begin(plan, now)
    if not _is_good(keyring, plan, now):
        return Step.RENEW, replace(keyring, serving=_issue(keyring.authority, plan, now))
    if keyring.until is not None and keyring.until <= now:
        return Step.FORGET, replace(keyring, previous=b"", until=None)
    return None


def _rotate(keyring: Keyring, plan: Plan, *, now: datetime, trusted: bool, asked: bool) -> tuple[Step, Keyring] | None:
    following = keyring.next_authority
    if following is None or not _is_valid(following, now):
        if _is_valid(keyring.authority, now) and (asked or needs_renewal(keyring.authority.certificate, now)):
            following = create_authority(now=now, days=plan.authority_days)
            return Step.PREPARE, replace(keyring, next_authority=following, trusted_since=None)
    elif trusted:
        return _after_trust(keyring, following, plan, now)
    return None


def _begin(plan: Plan, now: datetime) -> Keyring:
    authority = create_authority(now=now, days=plan.authority_days)
    return Keyring(authority=authority, serving=_issue(authority, plan, now))


def _after_trust(keyring: Keyring, following: KeyPair, plan: Plan, now: datetime) -> tuple[Step, Keyring] | None:
    """A moment in the future is that of a clock that has been set back since: the wait begins anew."""
    since = keyring.trusted_since
    if since is None or since > now + plan.settle:
        return Step.CONFIRM, replace(keyring, trusted_since=now)
    if now < since + plan.settle:
        return None
    promoted = Keyring(
        authority=following,
        serving=_issue(following, plan, now),
        previous=joined_previous(keyring),
        until=previous_until(keyring),
    )
    return Step.PROMOTE, promoted


def _issue(authority: KeyPair, plan: Plan, now: datetime) -> KeyPair:
    return issue(authority, plan.names, now=now, days=plan.serving_days)


def _is_valid(pair: KeyPair, now: datetime) -> bool:
    """One that has not begun yet was made by a clock that was wrong, and is worth no more than one that has ended."""
    return is_valid_at(pair.certificate, now)


def _is_good(keyring: Keyring, plan: Plan, now: datetime) -> bool:
    """Whether the serving certificate can go on: under the authority, for these names, in its time, with its key."""
    serving = keyring.serving
    try:
        read_keys(serving, certificate="tls.crt", key="tls.key")
    except InputError:
        return False
    return (
        is_issued_by(serving.certificate, keyring.authority.certificate)
        and names_of(serving.certificate) == in_certificate_form(plan.names)
        and _is_valid(serving, now)
        and not (needs_renewal(serving.certificate, now) and _would_last_longer(keyring, plan, now))
    )


def _would_last_longer(keyring: Keyring, plan: Plan, now: datetime) -> bool:
    """No certificate outlives its authority: close to that one's end a new one would be no gain, again and again."""
    ends = min(now + timedelta(days=plan.serving_days), expires_at(keyring.authority.certificate))
    return ends > expires_at(keyring.serving.certificate)
