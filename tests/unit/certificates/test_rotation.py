"""Self-managed certificates step by step: what comes next, and that nothing comes too early."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gpupolicy.certificates import create_authority, issue
from gpupolicy.certificates.authority import expires_at, is_issued_by, names_of
from gpupolicy.certificates.keyring import Keyring, fingerprints
from gpupolicy.certificates.rotation import Plan, Step, next_step

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
PLAN = Plan(names=("gpupolicy-webhook.gpu-system.svc",))


def begun(at: datetime = NOW) -> Keyring:
    return taken(None, at, expected=Step.BEGIN)


def taken(
    keyring: Keyring | None, at: datetime, *, expected: Step, trusted: bool = True, asked: bool = False
) -> Keyring:
    """The keyring after the step that is expected."""
    found = next_step(keyring, PLAN, now=at, trusted=trusted, asked=asked)
    assert found is not None
    assert found[0] is expected
    return found[1]


def prepared(at: datetime = NOW) -> Keyring:
    return taken(begun(at), at, expected=Step.PREPARE, asked=True)


def test_an_empty_secret_gets_an_authority_and_a_certificate_under_it():
    made = begun()

    assert is_issued_by(made.serving.certificate, made.authority.certificate)
    assert names_of(made.serving.certificate) == PLAN.names
    assert expires_at(made.authority.certificate) == NOW + 365 * DAY


def test_nothing_is_due_while_all_is_fresh():
    assert next_step(begun(), PLAN, now=NOW + 59 * DAY, trusted=True) is None


def test_the_serving_certificate_is_made_new_after_two_thirds_of_its_life():
    before = begun()
    after = taken(before, NOW + 61 * DAY, expected=Step.RENEW)

    assert after == replace(before, serving=after.serving)
    assert is_issued_by(after.serving.certificate, before.authority.certificate)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda k: issue(k.authority, ("other.gpu-system.svc",), now=NOW), id="other-names"),
        pytest.param(lambda k: issue(create_authority(now=NOW), PLAN.names, now=NOW), id="another-authority"),
        pytest.param(lambda k: replace(k.serving, key=k.authority.key), id="another-key"),
    ],
)
def test_a_serving_certificate_that_does_not_fit_is_made_new(broken):
    kept = begun()

    taken(replace(kept, serving=broken(kept)), NOW, expected=Step.RENEW)


def test_the_next_authority_is_made_after_two_thirds_of_the_life_of_the_one_in_force():
    kept = replace(begun(), serving=issue(begun().authority, PLAN.names, now=NOW))

    after = taken(kept, NOW + 244 * DAY, expected=Step.PREPARE)

    assert after.next_authority is not None
    assert (after.authority, after.serving) == (kept.authority, kept.serving)


def test_the_next_authority_is_made_when_somebody_asks_for_it():
    assert prepared().next_authority is not None


def test_the_next_authority_waits_until_the_registrations_trust_it():
    assert next_step(prepared(), PLAN, now=NOW + DAY, trusted=False) is None


def test_that_the_registrations_trust_it_is_written_down_before_it_signs():
    assert taken(prepared(), NOW, expected=Step.CONFIRM).trusted_since == NOW


def test_api_servers_get_time_to_hear_of_it():
    confirmed = taken(prepared(), NOW, expected=Step.CONFIRM)

    assert next_step(confirmed, PLAN, now=NOW + PLAN.settle - timedelta(seconds=1), trusted=True) is None


def test_after_that_it_signs_and_the_one_before_stays_trusted_while_a_certificate_of_it_is_valid():
    confirmed = taken(prepared(), NOW, expected=Step.CONFIRM)
    promoted = taken(confirmed, NOW + PLAN.settle, expected=Step.PROMOTE)

    assert promoted.authority == confirmed.next_authority
    assert is_issued_by(promoted.serving.certificate, promoted.authority.certificate)
    assert fingerprints(promoted.previous) == fingerprints(confirmed.authority.certificate)
    assert promoted.until == expires_at(confirmed.serving.certificate)
    assert (promoted.next_authority, promoted.trusted_since) == (None, None)


def test_a_registration_that_lost_its_trust_stops_the_promotion():
    confirmed = taken(prepared(), NOW, expected=Step.CONFIRM)

    assert next_step(confirmed, PLAN, now=NOW + DAY, trusted=False) is None


def test_a_clock_that_was_wrong_and_is_set_back_only_costs_another_wait():
    confirmed = replace(prepared(), trusted_since=NOW + 100 * DAY)

    assert taken(confirmed, NOW, expected=Step.CONFIRM).trusted_since == NOW


def test_the_previous_authority_is_forgotten_when_its_last_certificate_has_ended():
    confirmed = taken(prepared(), NOW, expected=Step.CONFIRM)
    promoted = taken(confirmed, NOW + PLAN.settle, expected=Step.PROMOTE)
    renewed = taken(promoted, NOW + 90 * DAY, expected=Step.RENEW)

    assert taken(renewed, NOW + 90 * DAY, expected=Step.FORGET).previous == b""
    assert next_step(renewed, PLAN, now=NOW + 90 * DAY - timedelta(seconds=1), trusted=True) is None


def test_an_authority_that_has_ended_is_replaced_at_once():
    """The cluster was switched off for a year: what is trusted is worth nothing, so nothing can be kept."""
    old = begun()

    assert taken(old, NOW + 366 * DAY, expected=Step.BEGIN).authority != old.authority


def test_a_prepared_authority_takes_over_from_one_that_has_ended():
    confirmed = taken(prepared(NOW + 200 * DAY), NOW + 200 * DAY, expected=Step.CONFIRM)
    ended = replace(confirmed, authority=begun().authority)

    assert taken(ended, NOW + 366 * DAY, expected=Step.PROMOTE).authority == confirmed.next_authority


def test_two_authorities_that_have_ended_are_replaced():
    confirmed = taken(prepared(), NOW, expected=Step.CONFIRM)

    taken(confirmed, NOW + 400 * DAY, expected=Step.BEGIN)


def test_a_certificate_that_has_not_begun_is_made_new():
    """It was made by a clock that was ahead; whoever verifies it has the right one."""
    kept = begun()
    early = replace(kept, serving=issue(kept.authority, PLAN.names, now=NOW + 70 * DAY))
    renewed = taken(early, NOW, expected=Step.RENEW)

    assert next_step(renewed, PLAN, now=NOW, trusted=True) is None


def test_an_authority_that_has_not_begun_is_replaced():
    early = begun(NOW + 4000 * DAY)
    again = taken(early, NOW, expected=Step.BEGIN)

    assert next_step(again, PLAN, now=NOW, trusted=True) is None


@pytest.mark.parametrize("days", [4000, -4000], ids=["not-begun", "ended"])
def test_a_next_authority_out_of_its_time_never_signs_and_is_made_anew_when_one_is_due(days):
    kept = replace(begun(), next_authority=create_authority(now=NOW + days * DAY, days=365), trusted_since=NOW - DAY)

    assert next_step(kept, PLAN, now=NOW, trusted=True) is None
    assert taken(kept, NOW, expected=Step.PREPARE, asked=True).trusted_since is None


def test_close_to_the_end_of_its_authority_a_certificate_is_not_made_new_again_and_again():
    """It cannot outlive the authority; what helps is the next one, which is not trusted yet."""
    kept = replace(begun(), next_authority=create_authority(now=NOW))
    end = expires_at(kept.authority.certificate)
    renewed = taken(kept, end - timedelta(minutes=1), expected=Step.RENEW, trusted=False)

    assert next_step(renewed, PLAN, now=end - timedelta(seconds=30), trusted=False) is None
