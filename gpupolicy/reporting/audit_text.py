"""An audit as lines for people: a line for each finding, with the pods that have it, and what mends it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gpupolicy.auditing.report import AuditedOwner, AuditReport, AuditVerdict, ExemptionUse, Fault
from gpupolicy.errors import counted
from gpupolicy.reporting.text_format import format_finding, format_findings

_OUTCOMES = (
    (AuditVerdict.DENY, "denied"),
    (AuditVerdict.REROUTE, "not routed"),
    (AuditVerdict.MISPLACED, "misplaced"),
    (AuditVerdict.WARN, "with warnings"),
    (AuditVerdict.EXEMPT, "exempt"),
)

_MOST_OWNERS = 3  # named behind a note


def format_audit(report: AuditReport) -> str:
    """Returns what was found, by owner, then the notes that several owners share, and the exemptions in use."""
    told = [each for each in report.owners if each.faults]
    shared = _shared_notes(told)
    owners = "".join(f"{line}\n" for each in told for line in _lines(each, shared))
    notes = "".join(f"{_ending(note, labels)}\n" for note, labels in shared.items())
    uses = "".join(f"{_use(use)}\n" for use in report.exemptions)
    return owners + notes + format_findings(report.findings) + uses


def summarize_audit(report: AuditReport) -> str:
    """Returns the one line that says what was audited, and what came out."""
    asking = f"{report.gpu_pods} with GPUs"
    ended = f", {report.ended} ended" if report.ended else ""
    outcome = ", ".join(f"{report.count(verdict)} {words}" for verdict, words in _OUTCOMES)
    return f"{counted(report.pods, 'pod')} ({asking}{ended}), {counted(len(report.owners), 'owner')}: {outcome}"


def _shared_notes(audited: Sequence[AuditedOwner]) -> Mapping[str, Sequence[str]]:
    """Returns what is to be known about the commands of several owners, with the owners."""
    found: dict[str, list[str]] = {}
    for each in audited:
        for remedy in each.remedies:
            if remedy.commands:
                found.setdefault(remedy.note, []).append(each.owner.label)
    return {note: labels for note, labels in found.items() if len(labels) > 1}


def _ending(note: str, labels: Sequence[str]) -> str:
    named = _listed(labels[:_MOST_OWNERS], max(0, len(labels) - _MOST_OWNERS))
    return f"note: {note} ({counted(len(labels), 'owner')}: {named})"


def _lines(audited: AuditedOwner, shared: Collection[str]) -> Iterator[str]:
    """Yields the findings, with the pods below the last that is about the same ones, and what mends them."""
    wheres = [_where(audited, fault) for fault in audited.faults]
    for fault, where, following in zip(audited.faults, wheres, [*wheres[1:], ""], strict=True):
        yield f"{audited.owner.label}: {format_finding(fault.finding)}"
        if where and where != following:
            yield f"  {where}"
    for remedy in audited.remedies:
        yield from (f"  mend: {command}" for command in remedy.commands)
        if not remedy.commands or remedy.note not in shared:
            yield f"  {'note' if remedy.commands else 'mend'}: {remedy.note}"


def _where(audited: AuditedOwner, fault: Fault) -> str:
    if fault.pods and audited.owner.kind != "Pod":
        return _pods(fault)
    return f"node: {_listed(fault.nodes)}" if fault.nodes else ""


def _pods(fault: Fault) -> str:
    names = _listed(fault.pod_names, fault.pods - len(fault.pod_names))
    return f"{counted(fault.pods, 'pod')}: {names}" + (f"; on {_listed(fault.nodes)}" if fault.nodes else "")


def _listed(names: Sequence[str], more: int = 0) -> str:
    return ", ".join(names) + (f" and {more} more" if more else "")


def _use(use: ExemptionUse) -> str:
    ends = f"until {use.exemption.expires}" if use.exemption.expires else "without an end"
    by = f", owned by {use.exemption.owner}" if use.exemption.owner else ""
    users = f"{counted(use.pods, 'pod')} of {counted(use.owners, 'owner')}"
    return f"{use.place}: info: exempt {ends}: {users} ({use.exemption.reason}{by})"
