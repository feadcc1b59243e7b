"""The formats of an audit by name; the code of one is loaded when it is asked for."""

from __future__ import annotations

from gpupolicy.auditing.report import AuditReport
from gpupolicy.model import Policy
from gpupolicy.reporting.audit_findings import audit_to_check, place_findings
from gpupolicy.reporting.audit_text import format_audit, summarize_audit
from gpupolicy.reporting.json_format import to_text
from gpupolicy.reporting.style import Style

REPORT_FORMATS = ("policyreport", "openreports")


def write_audit(report: AuditReport, style: Style, policy: Policy) -> str:
    """Returns an audit as text."""
    if style.format == "json":
        from gpupolicy.reporting.audit_json import audit_to_json

        written = audit_to_json(report)
        return to_text({"kind": written["kind"], "summary": written["summary"]} if style.summary_only else written)
    if style.format == "sarif":
        from gpupolicy.reporting.rule_texts import audit_rules
        from gpupolicy.reporting.sarif_format import findings_to_sarif

        return to_text(findings_to_sarif(place_findings(report, policy), audit_rules(), root=style.root))
    if style.format == "junit":
        from gpupolicy.reporting.junit_format import check_to_junit

        return check_to_junit(audit_to_check(report), files=(), fail_on=style.fail_on)
    if style.format == "github":
        from gpupolicy.reporting.github_format import format_annotations

        return format_annotations(place_findings(report, policy), root=style.root)
    if style.format in REPORT_FORMATS:
        from gpupolicy.reporting.policy_report_format import OPEN_REPORT, POLICY_REPORT, audit_to_reports

        form = POLICY_REPORT if style.format == "policyreport" else OPEN_REPORT
        return to_text(audit_to_reports(report, form))
    return f"{summarize_audit(report)}\n" if style.summary_only else format_audit(report)
