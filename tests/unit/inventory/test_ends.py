"""When a pod says that it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gpupolicy.inventory.ends import ENDS_AT, MAX_RUNTIME, find_end, read_duration, read_time
from gpupolicy.pod import PodView

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def end(
    *, annotations: dict[str, object] | None = None, status: object = None, deleted: str | None = None, **spec: object
) -> datetime | None:
    status = {"startTime": "2026-11-29T12:00:00Z"} if status is None else status
    metadata = {"annotations": annotations, "deletionTimestamp": deleted}
    return find_end(PodView({"metadata": metadata, "spec": {"containers": [], **spec}, "status": status}))


def test_the_deadline_counts_from_the_start() -> None:
    assert end(activeDeadlineSeconds=90) == NOON + timedelta(seconds=90)


def test_annotations_say_a_time_or_a_duration() -> None:
    assert end(annotations={ENDS_AT: "2026-11-29T15:00:00+01:00"}) == NOON + timedelta(hours=2)
    assert end(annotations={MAX_RUNTIME: "4h30m"}) == NOON + timedelta(hours=4.5)


def test_the_earliest_counts() -> None:
    annotations: dict[str, object] = {MAX_RUNTIME: "1h", ENDS_AT: "2026-11-29T14:00:00Z"}

    assert end(annotations=annotations, activeDeadlineSeconds=7200) == NOON + timedelta(hours=1)


def test_a_deletion_under_way_is_an_end() -> None:
    assert end(deleted="2026-11-29T12:00:30Z", activeDeadlineSeconds=7200) == NOON + timedelta(seconds=30)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"status": {}, "activeDeadlineSeconds": 60}, id="not-started"),
        pytest.param({"status": [], "activeDeadlineSeconds": 60}, id="odd-status"),
        pytest.param({"activeDeadlineSeconds": "60"}, id="a-string"),
        pytest.param({"activeDeadlineSeconds": True}, id="a-boolean"),
        pytest.param({"activeDeadlineSeconds": 2**62}, id="for-ever"),
        pytest.param({"annotations": {ENDS_AT: "tomorrow"}}, id="no-time"),
        pytest.param({"annotations": {ENDS_AT: "2026-11-29T12:00:00"}}, id="no-zone"),
        pytest.param({"annotations": {ENDS_AT: 7}}, id="a-number"),
        pytest.param({"annotations": {MAX_RUNTIME: "long"}}, id="no-duration"),
    ],
)
def test_what_cannot_be_read_says_nothing(parts: dict[str, object]) -> None:
    assert end(**parts) is None  # type: ignore[arg-type]


def test_an_end_beyond_the_calendar_is_none() -> None:
    assert end(annotations={MAX_RUNTIME: "999999d"}, status={"startTime": "9999-01-01T00:00:00Z"}) is None
    assert read_time("0001-01-01T00:00:00+23:59") is None


def test_durations_are_days_hours_minutes_and_seconds() -> None:
    assert read_duration("1d2h3m4s") == timedelta(days=1, hours=2, minutes=3, seconds=4)
    assert read_duration("") is None
