"""The decision on one pod of a manifest, with what the API server would refuse in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from gpupolicy.admission import Decision, decide
from gpupolicy.admission.claims import Claims
from gpupolicy.errors import Finding, Severity
from gpupolicy.manifests.api_rules import find_pod_problems
from gpupolicy.manifests.namespaces import NamespaceLabels
from gpupolicy.manifests.objects import ManifestObject
from gpupolicy.model import Policy
from gpupolicy.workloads import PodTemplate

_RUNS = "a pod that runs already has a node: gpupolicy audit judges it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a manifest does not say: the namespace of objects that name none, and when exemptions expire.

    ``claims`` are the resource claims and templates that stand in any of the files, ``namespace_labels`` the labels of
    the Namespaces there, by name.
    """

    namespace: str = "default"
    now: datetime | None = None
    claims: Claims = field(default_factory=dict)
    namespace_labels: NamespaceLabels = field(default_factory=dict)

    def namespace_of(self, manifest: ManifestObject, template: PodTemplate) -> str:
        """Returns the namespace of a pod: that of an object inside of the manifest goes before the manifest's own."""
        return template.namespace or manifest.namespace or self.namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPod:
    """A pod of an object, and its decision; the fields of ``findings`` count from the object's root."""

    template: PodTemplate
    decision: Decision
    findings: tuple[Finding, ...]


def judge_pod(policy: Policy, manifest: ManifestObject, template: PodTemplate, surroundings: Surroundings) -> JudgedPod:
    """Judges one pod of an object as if it were being created now.

    Args:
        policy: the policy.
        manifest: the object.
        template: one of its pods.
        surroundings: what the manifest does not say.

    Returns:
        The decision and its findings; those about a pod that was found by its shape alone only warn.
    """
    namespace = surroundings.namespace_of(manifest, template)
    decision = decide(
        policy,
        template.pod,
        operation="CREATE",
        namespace=namespace,
        namespace_labels=surroundings.namespace_labels.get(namespace),
        owner_kind=template.owner_kind,
        now=surroundings.now,
        claims=surroundings.claims,
    )
    findings = (
        replace(finding, field=template.field_of(finding.field))
        for finding in (*_refused(template), *_decided(policy, manifest, decision))
    )
    if not template.is_known:
        findings = (_softened(finding) for finding in findings)
    return JudgedPod(template=template, decision=decision, findings=tuple(findings))


def _refused(template: PodTemplate) -> Iterator[Finding]:
    """Yields what the API server refuses; the metadata of a Pod itself is judged as its object's."""
    is_whole_object = template.field_of(("metadata",)) == ("metadata",)
    for finding in find_pod_problems(template.pod):
        if not is_whole_object or finding.field[0] != "metadata":
            yield finding


def _decided(policy: Policy, manifest: ManifestObject, decision: Decision) -> Iterator[Finding]:
    """Yields the decision's findings with the line of the policy that stands behind each."""
    runs = bool(manifest.value.get("status"))
    for finding in (*decision.violations, *decision.warnings, *decision.audited):
        if runs and finding.rule == "node-name-set":
            finding = replace(finding, hint=_RUNS)
        cause = decision.causes.get(finding.rule)
        yield replace(finding, message=f"{finding.message} ({policy.cite(*cause)})") if cause else finding


def _softened(finding: Finding) -> Finding:
    return replace(finding, severity=Severity.WARNING) if finding.severity is Severity.ERROR else finding
