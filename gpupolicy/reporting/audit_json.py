"""An audit as JSON, in the shape that other programs rely on (docs/audit.md)."""

from __future__ import annotations

from gpupolicy.auditing.report import AuditedOwner, AuditReport, AuditVerdict, ExemptionUse
from gpupolicy.model import Exemption
from gpupolicy.reporting.json_format import JSONValue, finding_to_json, gpus_to_json, placement_to_json


def audit_to_json(report: AuditReport) -> dict[str, JSONValue]:
    """Returns an AuditReport."""
    return {
        "kind": "AuditReport",
        "owners": [_owner_to_json(each) for each in report.owners],
        "exemptions": [_use_to_json(use) for use in report.exemptions],
        "findings": [finding_to_json(finding) for finding in report.findings],
        "summary": {
            "pods": report.pods,
            "gpuPods": report.gpu_pods,
            "ended": report.ended,
            "workloads": report.workloads,
            "owners": len(report.owners),
            "denied": report.count(AuditVerdict.DENY),
            "rerouted": report.count(AuditVerdict.REROUTE),
            "misplaced": report.count(AuditVerdict.MISPLACED),
            "warned": report.count(AuditVerdict.WARN),
            "exempt": report.count(AuditVerdict.EXEMPT),
        },
    }


def _owner_to_json(audited: AuditedOwner) -> dict[str, JSONValue]:
    owner = audited.owner
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "namespace": owner.namespace,
        "name": owner.name,
        "pods": audited.pods,
        "gpus": gpus_to_json(audited.gpus),
        "verdict": str(audited.verdict),
        "findings": [finding_to_json(finding) for finding in audited.findings],
        "affected": [
            {
                "rule": fault.finding.rule,
                "pods": fault.pods,
                "podNames": list(fault.pod_names),
                "nodes": list(fault.nodes),
            }
            for fault in audited.faults
        ],
        "remedies": [
            {"rules": list(remedy.rules), "commands": list(remedy.commands), "note": remedy.note}
            for remedy in audited.remedies
        ],
        "placement": placement_to_json(audited.placement),
        "exemption": _exemption_to_json(audited.exemption) if audited.exemption is not None else None,
    }


def _use_to_json(use: ExemptionUse) -> dict[str, JSONValue]:
    return {
        **_exemption_to_json(use.exemption),
        "place": use.place,
        "pods": use.pods,
        "owners": use.owners,
        "daysLeft": use.days_left,
    }


def _exemption_to_json(exemption: Exemption) -> dict[str, JSONValue]:
    return {
        "reason": exemption.reason,
        "owner": exemption.owner,
        "expires": exemption.expires.isoformat() if exemption.expires is not None else None,
    }
