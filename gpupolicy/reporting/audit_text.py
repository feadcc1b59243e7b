"""An audit as lines for people: a line for each finding, with the pods that have it, and what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpupolicy.auditing.report import AuditedOwner, AuditReport, AuditVerdict, ExemptionUse, Fault
from gpupolicy.reporting.text_format import format_finding, format_findings

_OUTCOMES = (
    (AuditVerdict.DENY, "denied"),
    (AuditVerdict.REROUTE, "not routed"),
    (AuditVerdict.MISPLACED, "misplaced"),
    (AuditVerdict.WARN, "with warnings"),
    (AuditVerdict.EXEMPT, "exempt"),
)


def format_audit(report: AuditReport) -> str:
    """Returns what was found, by owner, then the exemptions in use."""
    owners = "".join(f"{line}\n" for each in report.owners if each.faults for line in _lines(each))
    uses = "".join(f"{_use(use)}\n" for use in report.exemptions)
    return owners + format_findings(report.findings) + uses


def summarize_audit(report: AuditReport) -> str:
    """Returns the one line that says what was audited, and what came out."""
    asking = f"{report.gpu_pods} with GPUs"
    ended = f", {report.ended} ended" if report.ended else ""
    outcome = ", ".join(f"{report.count(verdict)} {words}" for verdict, words in _OUTCOMES)
    return f"{_count(report.pods, 'pod')} ({asking}{ended}), {_count(len(report.owners), 'owner')}: {outcome}"


def _lines(audited: AuditedOwner) -> Iterator[str]:
    for fault in audited.faults:
        yield f"{audited.owner.label}: {format_finding(fault.finding)}"
        if fault.pods and audited.owner.kind != "Pod":
            yield f"  {_pods(fault)}"
        elif fault.nodes:
            yield f"  on {_listed(fault.nodes)}"
    for remedy in audited.remedies:
        yield from (f"  mend: {command}" for command in remedy.commands)
        yield f"  {'note' if remedy.commands else 'mend'}: {remedy.note}"


def _pods(fault: Fault) -> str:
    names = _listed(fault.pod_names, fault.pods - len(fault.pod_names))
    return f"{_count(fault.pods, 'pod')}: {names}" + (f"; on {_listed(fault.nodes)}" if fault.nodes else "")


def _listed(names: Sequence[str], more: int = 0) -> str:
    return ", ".join(names) + (f" and {more} more" if more else "")


def _use(use: ExemptionUse) -> str:
    ends = f"until {use.exemption.expires}" if use.exemption.expires else "without an end"
    by = f", owned by {use.exemption.owner}" if use.exemption.owner else ""
    users = f"{_count(use.pods, 'pod')} of {_count(use.owners, 'owner')}"
    return f"{use.place}: info: exempt {ends}: {users} ({use.exemption.reason}{by})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
