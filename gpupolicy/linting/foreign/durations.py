"""Durations as Go writes them: ``15s``, ``1m30s``, ``0``."""

from __future__ import annotations

import re

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")


def parse_duration(text: str) -> float | None:
    """Returns the seconds of a Go duration, None where it is none.

    Source: the Go standard library, time.ParseDuration.
    """
    if text in ("0", "+0", "-0"):
        return 0.0
    matched = _WHOLE.fullmatch(text)
    if matched is None:
        return None
    nanoseconds = sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(matched[2]))
    return (-nanoseconds if matched[1] == "-" else nanoseconds) / 10**9
