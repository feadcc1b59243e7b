"""When a pod ends, as far as the pod itself says: its deadline, its annotations, its deletion. No clock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from gpupolicy.pod import JSONMap, PodView

ENDS_AT = "gpupolicy.dev/ends-at"  # an RFC 3339 time
MAX_RUNTIME = "gpupolicy.dev/max-runtime"  # a duration such as 4h30m, from status.startTime

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?")
_MOST_SECONDS = 100 * 366 * 24 * 3600


def find_end(view: PodView) -> datetime | None:
    """Returns the earliest moment at which the pod says that it ends; None where it says nothing that can be read.

    Known are the deletion under way (metadata.deletionTimestamp, which includes the grace period),
    spec.activeDeadlineSeconds from status.startTime on, and the annotations ``gpupolicy.dev/ends-at`` and
    ``gpupolicy.dev/max-runtime``.
    """
    return min(_ends(view), default=None)


def read_time(value: object) -> datetime | None:
    """Returns an RFC 3339 time with its zone, in UTC; None where the value is none."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def read_duration(value: object) -> timedelta | None:
    """Returns a duration such as ``90s``, ``4h30m`` or ``2d``; None where the value is none."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _ends(view: PodView) -> Iterator[datetime]:
    if (deleted := read_time(view.metadata.get("deletionTimestamp"))) is not None:
        yield deleted
    if (started := _find_start(view.pod)) is not None:
        deadline = view.spec.get("activeDeadlineSeconds")
        if isinstance(deadline, int) and not isinstance(deadline, bool) and 0 <= deadline < _MOST_SECONDS:
            yield from _later(started, timedelta(seconds=deadline))
    if view.metadata.get("annotations") is None:
        return
    annotations = view.annotations
    if (stated := read_time(annotations.get(ENDS_AT))) is not None:
        yield stated
    if started is not None and (runtime := read_duration(annotations.get(MAX_RUNTIME))) is not None:
        yield from _later(started, runtime)


def _later(started: datetime, runtime: timedelta) -> Iterator[datetime]:
    try:
        yield started + runtime
    except OverflowError:  # beyond the year 9999: as good as never
        return


def _find_start(pod: JSONMap) -> datetime | None:
    status = pod.get("status")
    return read_time(status.get("startTime")) if isinstance(status, Mapping) else None
