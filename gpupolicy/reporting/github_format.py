"""Findings as workflow commands, which GitHub Actions shows beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.reporting.places import relative_path

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = {**_IN_MESSAGES, ":": "%3A", ",": "%2C"}


def format_annotations(findings: Iterable[LocatedFinding], *, root: PurePath) -> str:
    """Returns one command for each finding, in the order given.

    Args:
        findings: GitHub shows the first ten errors and the first ten warnings of a step.
        root: the root of the repository; files below it are named from there.

    Source: the toolkit of GitHub Actions, actions/toolkit packages/core/src/command.ts.
    """
    return "".join(f"{_command(finding, root)}\n" for finding in findings)


def _command(finding: LocatedFinding, root: PurePath) -> str:
    file = finding.file and (relative_path(finding.file, root) or finding.file)
    properties = {"file": file, "line": finding.line, "col": finding.column, "title": finding.rule}
    listed = ",".join(
        f"{name}={_escape(str(value), _IN_PROPERTIES)}" for name, value in properties.items() if value is not None
    )
    hint = f"; {finding.hint}" if finding.hint else ""
    return f"::{_COMMANDS[finding.severity]} {listed}::{_escape(finding.message + hint, _IN_MESSAGES)}"


def _escape(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
