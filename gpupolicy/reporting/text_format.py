"""Reports as lines for people and editors: ``path:line:column: severity: message [rule]``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpupolicy.errors import LocatedFinding, Severity, counted, in_order, shown

if TYPE_CHECKING:  # lint writes findings without loading the rooms of check
    from gpupolicy.manifests.report import CheckReport
    from gpupolicy.policytests.report import TestReport


def format_finding(finding: LocatedFinding) -> str:
    """Returns a finding as one line without its end; the hint follows the message behind a semicolon.

    Characters that nobody sees, or that a terminal obeys, are escaped.
    """
    place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
    hint = f"; {finding.hint}" if finding.hint else ""
    line = f"{finding.severity}: {finding.message}{hint} [{finding.rule}]"
    line = " ".join((f"{place}: {line}" if place else line).splitlines())
    return shown(line, len(line))


def format_findings(findings: Iterable[LocatedFinding]) -> str:
    """Returns one line for each finding, in the order given."""
    return "".join(f"{format_finding(finding)}\n" for finding in findings)


def format_check(report: CheckReport) -> str:
    """Returns the findings of a check, sorted by place."""
    return format_findings(in_order((*report.findings, *(f for entry in report.objects for f in entry.findings))))


def summarize_check(report: CheckReport) -> str:
    """Returns the one line that says what was checked, and what came out."""
    parts = [
        counted(report.files, "file"),
        counted(report.object_count, "object"),
        counted(report.pods, "pod"),
    ]
    outcome = [
        f"{report.denied} denied",
        f"{report.warned} with warnings",
        f"{report.skipped} skipped",
    ]
    if report.unreadable:
        outcome.append(f"{report.unreadable} unreadable")
    return f"{', '.join(parts)}: {', '.join(outcome)}"


def summarize_lint(findings: Iterable[LocatedFinding], files: int) -> str:
    """Returns the one line that ends a lint."""
    severities = [finding.severity for finding in findings]
    errors, warnings = severities.count(Severity.ERROR), severities.count(Severity.WARNING)
    return f"{counted(files, 'file')}: {counted(errors, 'error')}, {counted(warnings, 'warning')}"


def format_tests(report: TestReport) -> str:
    """Returns what kept tests from running, then one line for each difference of a failed case, and its diff."""
    lines = [
        f"{result.file}:{result.case.line}:{result.case.column}: error: case {result.case.name}: {difference.what}: "
        f"expected {difference.expected}, got {difference.got} [policy-test-failed]\n"
        + "".join(f"    {line}\n" for line in difference.diff)
        for result in report.results
        for difference in result.differences
    ]
    return format_findings(report.findings) + "".join(lines)


def summarize_tests(report: TestReport) -> str:
    """Returns the one line that ends a run of policy tests."""
    cases = len(report.results)
    outcome = f"{cases - report.failed} passed, {report.failed} failed"
    return f"{counted(report.tests, 'test')}, {counted(cases, 'case')}: {outcome}"
