"""An audit in the terms of formats that know files: each owner as an object, each finding at a line of the policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpupolicy.auditing.report import AuditedOwner, AuditReport, AuditVerdict, Fault
from gpupolicy.errors import LocatedFinding, Severity, counted
from gpupolicy.manifests.report import CheckedObject, CheckReport, Verdict
from gpupolicy.model import Policy

_VERDICTS = {
    AuditVerdict.DENY: Verdict.DENY,
    AuditVerdict.REROUTE: Verdict.DENY,
    AuditVerdict.MISPLACED: Verdict.DENY,
    AuditVerdict.WARN: Verdict.WARN,
    AuditVerdict.EXEMPT: Verdict.SKIP,
    AuditVerdict.ALLOW: Verdict.ALLOW,
}


def place_findings(report: AuditReport, policy: Policy) -> tuple[LocatedFinding, ...]:
    """Returns all findings with their owner in the message, at the line of the policy that stands behind each.

    Args:
        report: the audit.
        policy: the policy; what runs has no file, and code scanning shows nothing without one.
    """
    placed = (_place(each, fault, policy) for each in report.owners for fault in each.faults)
    return (*placed, *report.findings)


def _place(audited: AuditedOwner, fault: Fault, policy: Policy) -> LocatedFinding:
    line, column = (policy.find_place(fault.cause) if fault.cause else None) or policy.find_place(()) or (1, 1)
    pods = f" ({counted(fault.pods, 'pod')})" if fault.pods and audited.owner.kind != "Pod" else ""
    message = f"{audited.owner.label}{pods}: {fault.finding.message}"
    return replace(fault.finding, message=message, file=policy.origin.file, line=line, column=column)


def audit_to_check(report: AuditReport) -> CheckReport:
    """Returns an audit as a check of objects, whose files are namespaces."""
    return CheckReport(
        files=len({each.owner.namespace for each in report.owners}),
        object_count=len(report.owners),
        objects=tuple(_entries(report)),
        findings=tuple(replace(finding, file="exemptions", line=None, column=None) for finding in report.findings),
    )


def _entries(report: AuditReport) -> Iterator[CheckedObject]:
    for each in report.owners:
        owner = each.owner
        errors = (f"{f.message} [{f.rule}]" for f in each.findings if f.severity is Severity.ERROR)
        exempt = f"exempt: {each.exemption.reason}" if each.exemption else ""
        yield CheckedObject(
            file=f"namespace {owner.namespace}",
            line=None,
            api_version=owner.api_version,
            kind=owner.kind,
            namespace=owner.namespace,
            name=owner.name,
            verdict=_VERDICTS[each.verdict],
            reason="; ".join(errors) or exempt,
            gpus=each.gpus,
            findings=each.findings,
            placement=each.placement,
        )
