"""How a result is written, and which findings make it a failure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from gpupolicy.errors import LocatedFinding, Severity

FORMATS = ("text", "json", "sarif", "junit", "github")
SUMMARY_FORMATS = ("text", "json")

_WEIGHTS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a result is written.

    ``root`` is the folder that paths in machine formats count from, ``fail_on`` the least severity that fails, and
    ``summary_only`` leaves out everything but the counts (text and json).
    """

    format: str
    root: PurePath
    fail_on: Severity = Severity.ERROR
    summary_only: bool = False


def is_failing(finding: LocatedFinding, fail_on: Severity) -> bool:
    """Returns whether a finding weighs at least as much as the least severity that fails."""
    return _WEIGHTS[finding.severity] >= _WEIGHTS[fail_on]
