"""An audit as the report objects that dashboards show: PolicyReport (wgpolicyk8s.io) and Report (openreports.io).

Sources: sigs.k8s.io/wg-policy-prototypes v1alpha2 and github.com/openreports/reports-api v1alpha1, whose definitions
the tests ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpupolicy.auditing.report import AuditedOwner, AuditReport, Fault
from gpupolicy.errors import LocatedFinding, Severity

SOURCE = "gpupolicy"
MOST_RESULTS = 500  # in one object: etcd takes 1.5 MB, a result has half a kilobyte to two
_LONGEST_MESSAGE = 1_000
_LONGEST_NAME = 253
_SEVERITIES = {Severity.ERROR: "high", Severity.WARNING: "medium", Severity.INFO: "info"}
_RESULTS = ("pass", "fail", "warn", "error", "skip")

JSONMap = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportForm:
    """One of the two APIs. ``has_source``: the report itself names its source."""

    api_version: str
    kind: str
    cluster_kind: str
    has_source: bool


POLICY_REPORT = ReportForm(
    api_version="wgpolicyk8s.io/v1alpha2", kind="PolicyReport", cluster_kind="ClusterPolicyReport", has_source=False
)
OPEN_REPORT = ReportForm(
    api_version="openreports.io/v1alpha1", kind="Report", cluster_kind="ClusterReport", has_source=True
)


def audit_to_reports(report: AuditReport, form: ReportForm) -> JSONMap:
    """Returns a List to apply: a report for each namespace, and one for the cluster about the policy's exemptions.

    Args:
        report: the audit; its moment is the timestamp of every result.
        form: which of the two APIs.
    """
    by_namespace: dict[str, list[JSONMap]] = {}
    for audited in report.owners:
        results = by_namespace.setdefault(audited.owner.namespace, [])
        results += _results_of(audited, report)
    items = [
        item
        for namespace, results in sorted(by_namespace.items())
        for item in _objects(form.kind, form, report, results, namespace)
    ]
    about_policy = [_result(report, finding, ()) for finding in report.findings]
    items += _objects(form.cluster_kind, form, report, about_policy, None) if about_policy else ()
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _objects(
    kind: str, form: ReportForm, report: AuditReport, results: Sequence[JSONMap], namespace: str | None
) -> Iterator[JSONMap]:
    """Yields one object, more where the results are too many for one."""
    for start in range(0, len(results), MOST_RESULTS):
        part = results[start : start + MOST_RESULTS]
        number = start // MOST_RESULTS
        name = f"{SOURCE}-{report.policy}"[: _LONGEST_NAME - 8] + (f"-{number + 1}" if number else "")
        scope = {"scope": {"apiVersion": "v1", "kind": "Namespace", "name": namespace}} if namespace else {}
        yield {
            "apiVersion": form.api_version,
            "kind": kind,
            "metadata": {
                "name": name,
                **({"namespace": namespace} if namespace else {}),
                "labels": {"app.kubernetes.io/managed-by": SOURCE},
            },
            **({"source": SOURCE} if form.has_source else {}),
            **scope,
            "summary": _summary(part),
            "results": part,
        }


def _summary(results: Iterable[Mapping[str, object]]) -> JSONMap:
    counts = Counter(result["result"] for result in results)
    return {name: counts[name] for name in _RESULTS}


def _results_of(audited: AuditedOwner, report: AuditReport) -> Iterator[JSONMap]:
    resources = (_reference(audited),)
    told = [fault for fault in audited.faults if fault.finding.severity is not Severity.INFO]
    for fault in told:
        yield {**_result(report, fault.finding, resources), "properties": _properties(audited, fault)}
    if not told:
        outcome = "skip" if audited.exemption is not None else "pass"
        message = f"exempt: {audited.exemption.reason}" if audited.exemption else "admitted, routed and in its place"
        rule = "exempt" if audited.exemption else "admitted"
        yield {
            **_head(report, rule, outcome, message),
            "resources": list(resources),
            "properties": _properties(audited, None),
        }


def _result(report: AuditReport, finding: LocatedFinding, resources: Sequence[JSONMap]) -> JSONMap:
    outcome = "fail" if finding.severity is Severity.ERROR else "warn"
    hint = f"; {finding.hint}" if finding.hint else ""
    head = _head(report, finding.rule, outcome, f"{finding.message}{hint}")
    return {**head, "severity": _SEVERITIES[finding.severity], **({"resources": list(resources)} if resources else {})}


def _head(report: AuditReport, rule: str, outcome: str, message: str) -> JSONMap:
    """Returns what every result has; a warning is no score, by the definition of the word there."""
    moment = {"timestamp": _timestamp(report.moment)} if report.moment is not None else {}
    return {
        "source": SOURCE,
        "policy": report.policy,
        "rule": rule,
        "category": "GPU",
        "result": outcome,
        "scored": outcome in ("pass", "fail"),
        "message": message[:_LONGEST_MESSAGE],
        **moment,
    }


def _timestamp(moment: datetime) -> JSONMap:
    return {"seconds": int(moment.timestamp()), "nanos": 0}


def _reference(audited: AuditedOwner) -> JSONMap:
    owner = audited.owner
    return {"apiVersion": owner.api_version, "kind": owner.kind, "namespace": owner.namespace, "name": owner.name}


def _properties(audited: AuditedOwner, fault: Fault | None) -> dict[str, str]:
    """Returns texts that dashboards show beside a result."""
    properties = {"pods": str(fault.pods if fault is not None else audited.pods)}
    if audited.gpus:
        properties["gpus"] = ", ".join(f"{amount} {name}" for name, amount in sorted(audited.gpus.items()))
    if fault is not None and fault.nodes:
        properties["nodes"] = ", ".join(fault.nodes)
    rule = fault.finding.rule if fault is not None else ""
    for remedy in audited.remedies:
        if rule in remedy.rules and remedy.commands:
            properties["remedy"] = "; ".join(remedy.commands)[:_LONGEST_MESSAGE]
    return properties
