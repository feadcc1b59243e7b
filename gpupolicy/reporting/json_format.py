"""Reports as JSON, in the shapes that other programs rely on (docs/command-line.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpupolicy.errors import LocatedFinding, Severity, format_field

if TYPE_CHECKING:  # lint writes findings without loading the rooms of check
    from gpupolicy.admission import Placement
    from gpupolicy.manifests.explanation import Exempted, Explanation
    from gpupolicy.manifests.report import CheckedObject, CheckReport
    from gpupolicy.policytests.report import CaseResult, Coverage, TestReport

JSONValue = object


def to_text(value: JSONValue) -> str:
    """Returns a JSON text with a line end, in ASCII: a terminal's encoding, or a broken file name, cannot spoil it."""
    return json.dumps(value, indent=2) + "\n"


def finding_to_json(finding: LocatedFinding) -> dict[str, JSONValue]:
    """Returns a finding with its eight keys; what is not known is null."""
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "message": finding.message,
        "hint": finding.hint,
        "field": format_field(finding.field) or None,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
    }


def lint_to_json(findings: Iterable[LocatedFinding], files: int) -> dict[str, JSONValue]:
    """Returns a LintReport."""
    listed = tuple(findings)
    severities = [finding.severity for finding in listed]
    return {
        "kind": "LintReport",
        "findings": [finding_to_json(finding) for finding in listed],
        "summary": {
            "files": files,
            "errors": severities.count(Severity.ERROR),
            "warnings": severities.count(Severity.WARNING),
        },
    }


def check_to_json(report: CheckReport) -> dict[str, JSONValue]:
    """Returns a CheckReport; ``summary.pods`` counts pod templates, the verdicts count entries of ``objects``."""
    return {
        "kind": "CheckReport",
        "objects": [_object_to_json(entry) for entry in report.objects],
        "findings": [finding_to_json(finding) for finding in report.findings],
        "summary": {
            "files": report.files,
            "objects": report.object_count,
            "pods": report.pods,
            "denied": report.denied,
            "warned": report.warned,
            "skipped": report.skipped,
        },
    }


def explain_to_json(explanations: Iterable[Explanation]) -> dict[str, JSONValue]:
    """Returns an ExplainReport: the entries of a check, each with what stands behind it."""
    return {"kind": "ExplainReport", "objects": [_explanation_to_json(explanation) for explanation in explanations]}


def _explanation_to_json(explanation: Explanation) -> dict[str, JSONValue]:
    return {
        **_object_to_json(explanation.entry),
        "containers": [
            {
                "name": share.name,
                "role": share.role,
                "field": format_field(share.field),
                "gpus": gpus_to_json(share.gpus),
            }
            for share in explanation.shares
        ],
        "counting": explanation.counting,
        "because": [
            {"about": source.about, "text": source.text, "place": source.place} for source in explanation.sources
        ],
        "exemption": _exemption_to_json(explanation.exemption),
        "causes": dict(explanation.causes),
        "patch": [dict(operation) for operation in explanation.patch],
        "scheduling": list(explanation.scheduling),
    }


def _exemption_to_json(exempted: Exempted | None) -> dict[str, JSONValue] | None:
    if exempted is None:
        return None
    exemption = exempted.exemption
    return {
        "reason": exemption.reason,
        "owner": exemption.owner,
        "expires": exemption.expires.isoformat() if exemption.expires is not None else None,
        "place": exempted.place,
    }


def tests_to_json(report: TestReport) -> dict[str, JSONValue]:
    """Returns a TestReport of policy tests."""
    return {
        "kind": "TestReport",
        "cases": [_case_to_json(result) for result in report.results],
        "findings": [finding_to_json(finding) for finding in report.findings],
        "coverage": [_coverage_to_json(coverage) for coverage in report.coverage],
        "summary": {
            "tests": report.tests,
            "cases": len(report.results),
            "passed": len(report.results) - report.failed,
            "failed": report.failed,
        },
    }


def _case_to_json(result: CaseResult) -> dict[str, JSONValue]:
    return {
        "test": result.test,
        "case": result.case.name,
        "file": result.file,
        "line": result.case.line,
        "passed": result.passed,
        "differences": [
            {
                "what": difference.what,
                "expected": difference.expected,
                "got": difference.got,
                "diff": list(difference.diff),
            }
            for difference in result.differences
        ],
    }


def _coverage_to_json(coverage: Coverage) -> dict[str, JSONValue]:
    return {
        "policy": coverage.policy,
        "cases": coverage.cases,
        "percent": coverage.percent,
        "parts": [
            {"about": part.about, "name": part.name, "place": part.place, "cases": part.cases}
            for part in coverage.parts
        ],
        "rules": {rule.name: rule.cases for rule in coverage.rules if rule.cases},
    }


def placement_to_json(placement: Placement | None) -> dict[str, JSONValue] | None:
    """Returns where a pod may go, null where it is not routed."""
    if placement is None:
        return None
    return {
        "gpuTypes": list(placement.gpu_types),
        "slotGroups": list(placement.slot_groups),
        "schedulerName": placement.scheduler_name,
    }


def gpus_to_json(gpus: Mapping[str, int]) -> dict[str, JSONValue]:
    """Returns the effective request by resource name."""
    return dict(sorted(gpus.items()))


def _object_to_json(entry: CheckedObject) -> dict[str, JSONValue]:
    return {
        "file": entry.file,
        "line": entry.line,
        "apiVersion": entry.api_version,
        "kind": entry.kind,
        "namespace": entry.namespace,
        "name": entry.name,
        "podSpec": format_field(entry.pod_spec) if entry.pod_spec is not None else None,
        "gpus": gpus_to_json(entry.gpus),
        "verdict": str(entry.verdict),
        "reason": entry.reason,
        "findings": [finding_to_json(finding) for finding in entry.findings],
        "placement": placement_to_json(entry.placement),
    }
