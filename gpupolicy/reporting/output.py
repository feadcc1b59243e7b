"""The formats of check and lint by name; the code of one is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpupolicy.errors import LocatedFinding, in_order
from gpupolicy.reporting.style import Style

if TYPE_CHECKING:  # lint writes findings without loading the rooms of check
    from gpupolicy.manifests.report import CheckReport


def write_check(report: CheckReport, style: Style, files: Sequence[str]) -> str:
    """Returns a check as text; ``files`` are all that were read, in order."""
    if style.format == "json":
        from gpupolicy.reporting.json_format import check_to_json, to_text

        written = check_to_json(report)
        return to_text({"kind": written["kind"], "summary": written["summary"]} if style.summary_only else written)
    if style.format == "sarif":
        from gpupolicy.reporting.json_format import to_text
        from gpupolicy.reporting.rule_texts import check_rules
        from gpupolicy.reporting.sarif_format import findings_to_sarif

        is_whole = not report.unreadable
        return to_text(findings_to_sarif(report.every_finding, check_rules(), root=style.root, is_whole=is_whole))
    if style.format == "junit":
        from gpupolicy.reporting.junit_format import check_to_junit

        return check_to_junit(report, files=files, fail_on=style.fail_on)
    if style.format == "github":
        from gpupolicy.reporting.github_format import format_annotations

        return format_annotations(report.every_finding, root=style.root)
    from gpupolicy.reporting.text_format import format_check, summarize_check

    return f"{summarize_check(report)}\n" if style.summary_only else format_check(report)


def write_lint(findings: Sequence[LocatedFinding], style: Style, files: Sequence[str], *, is_whole: bool = True) -> str:
    """Returns what lint found as text; ``files`` are all that were judged, ``is_whole``: all could be read."""
    if style.format == "json":
        from gpupolicy.reporting.json_format import lint_to_json, to_text

        written = lint_to_json(findings, len(files))
        return to_text({"kind": written["kind"], "summary": written["summary"]} if style.summary_only else written)
    if style.format == "sarif":
        from gpupolicy.reporting.json_format import to_text
        from gpupolicy.reporting.rule_texts import lint_rules
        from gpupolicy.reporting.sarif_format import findings_to_sarif

        return to_text(findings_to_sarif(in_order(findings), lint_rules(), root=style.root, is_whole=is_whole))
    if style.format == "junit":
        from gpupolicy.reporting.junit_format import lint_to_junit

        return lint_to_junit(findings, files=files, fail_on=style.fail_on)
    if style.format == "github":
        from gpupolicy.reporting.github_format import format_annotations

        return format_annotations(findings, root=style.root)
    from gpupolicy.reporting.text_format import format_findings, summarize_lint

    return f"{summarize_lint(findings, len(files))}\n" if style.summary_only else format_findings(findings)
