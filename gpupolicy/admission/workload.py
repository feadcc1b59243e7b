"""Early feedback: a workload is judged when it is made, because a refusal of its pods would be told to nobody.

The API server takes a Deployment or a Job whose pods no webhook will let in; only events say later why none comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from gpupolicy.admission.decision import MOST_FINDINGS, Decision, decide
from gpupolicy.admission.scope import is_being_deleted
from gpupolicy.errors import Finding, Severity, format_field
from gpupolicy.model import EarlyAction, Policy
from gpupolicy.pod import JSONMap
from gpupolicy.workloads import Found, PodTemplate, find_pods
from gpupolicy.workloads.naming import name_path, number_equals

MOST_PODS = 1000  # of one object, before and after a change; 20,000 in 3 MB would hold all reviews up for seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What surrounds the request, as ``admit`` takes it."""

    namespace: str | None = None
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    now: datetime | None = None
    username: str | None = None


def admit_workload(
    policy: Policy,
    workload: JSONMap,
    *,
    operation: str = "CREATE",
    old: JSONMap | None = None,
    subresource: str = "",
    surroundings: Surroundings | None = None,
) -> Decision:
    """Decides on an object that makes pods, by what will be decided on each of them.

    Args:
        policy: the policy; ``spec.admission.workloads`` says what is done about pods that would be denied.
        workload: the object.
        operation: CREATE or UPDATE; nothing else is judged.
        old: the object before an UPDATE; then only what the change made wrong counts.
        subresource: as in the review; a subresource is never judged.
        surroundings: what surrounds the request.

    Returns:
        One decision with the findings of all pods, their fields counting from the object's root. It has no patch: what
        stands in the object stays as its author, or git, has it.
    """
    if reason := _find_reason_to_pass(policy, workload, operation, subresource):
        return Decision(allowed=True, judged=False, reason=reason)
    found = find_pods(policy, workload)
    if not found.is_known or not found.templates:
        return Decision(allowed=True, judged=False, reason="no kind that is known to make pods")
    before = old if operation == "UPDATE" else None
    decisions = judge_pods(policy, workload, found, before, surroundings or Surroundings())
    judged = [(template, decision) for template, decision in decisions if decision is not None]
    if not judged:
        return Decision(allowed=True, judged=False, reason="no pod template changed")
    return _merge(policy, judged)


def judge_pods(
    policy: Policy, workload: JSONMap, found: Found, old: JSONMap | None, surroundings: Surroundings
) -> Iterator[tuple[PodTemplate, Decision | None]]:
    """Decides on each pod that an object will make, on the first ``MOST_PODS`` of them: the rest is judged when made.

    Args:
        policy: the policy.
        workload: the object.
        found: its pods.
        old: the object before an UPDATE, whose pods are known again by their names in lists.
        surroundings: what surrounds the request.

    Yields:
        Each pod with its decision: in full where it asks for other GPUs, else without what was wrong before. None where
        the pod is as it was.
    """
    before = dict(islice(_by_name(old, find_pods(policy, old)), MOST_PODS)) if old is not None else {}
    judge = _Judge(policy=policy, around=surroundings)
    for name, template in islice(_by_name(workload, found), MOST_PODS):
        yield template, judge.judge(template, before.get(name))


def _find_reason_to_pass(policy: Policy, workload: JSONMap, operation: str, subresource: str) -> str | None:
    """Says why a request passes whatever the object looks like."""
    if policy.admission.workloads is EarlyAction.OFF:
        return "workloads are not judged at their own creation (spec.admission.workloads)"
    if operation not in ("CREATE", "UPDATE") or subresource:
        return f"{operation} of {subresource or 'a workload'} is not judged"
    if is_being_deleted(workload):
        return "the workload is being deleted"
    if _has_controller(workload):
        return "a controller made it, from an object that was judged"
    return None


def _has_controller(workload: JSONMap) -> bool:
    metadata = workload.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
    return isinstance(owners, list) and any(isinstance(o, Mapping) and o.get("controller") is True for o in owners)


def _by_name(workload: JSONMap, found: Found) -> Iterator[tuple[object, PodTemplate]]:
    return number_equals((name_path(workload, template.path), template) for template in found.templates)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """What judges the pods of one workload."""

    policy: Policy
    around: Surroundings

    def judge(self, template: PodTemplate, before: PodTemplate | None) -> Decision | None:
        """Returns the decision, without what was wrong before where the GPUs are the same; None of a pod as it was."""
        if before is not None and before.pod == template.pod:
            return None
        decision = self._admit(template)
        if before is None:
            return decision
        earlier = self._admit(before)
        if earlier.gpus != decision.gpus:
            return decision
        told = {(f.rule, f.message) for f in (*earlier.violations, *earlier.warnings, *earlier.audited)}
        violations = _without(decision.violations, told)
        is_excused = bool(decision.violations) and not violations
        return replace(
            decision,
            allowed=not violations,
            reason="what is wrong in it was so before" if is_excused else decision.reason,
            violations=violations,
            warnings=_without(decision.warnings, told),
            audited=_without(decision.audited, told),
        )

    def _admit(self, template: PodTemplate) -> Decision:
        return decide(
            self.policy,
            template.pod,
            namespace=self.around.namespace,
            namespace_labels=self.around.namespace_labels,
            now=self.around.now,
            username=self.around.username,
            owner_kind=template.owner_kind,
        )


def _without(findings: tuple[Finding, ...], told: Set[tuple[str, str]]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if (finding.rule, finding.message) not in told)


def _merge(policy: Policy, judged: list[tuple[PodTemplate, Decision]]) -> Decision:
    """Returns one decision for the object; in mode warn what would deny its pods is a warning."""
    violations = tuple(_told_of(template, f) for template, decision in judged for f in decision.violations)
    warnings = tuple(_told_of(template, f) for template, decision in judged for f in decision.warnings)
    if policy.admission.workloads is EarlyAction.WARN:
        warnings = (*(replace(f, severity=Severity.WARNING) for f in violations), *warnings)
        violations = ()
    reasons = [f"{finding.message} [{finding.rule}]" for finding in violations[:MOST_FINDINGS]]
    return Decision(
        allowed=not violations,
        judged=any(decision.judged for _, decision in judged),
        reason="; ".join(dict.fromkeys(reasons or (decision.reason for _, decision in judged))),
        violations=violations[:MOST_FINDINGS],
        warnings=warnings[:MOST_FINDINGS],
        audited=tuple(_told_of(t, f) for t, decision in judged for f in decision.audited)[:MOST_FINDINGS],
        exemption=next((decision.exemption for _, decision in judged if decision.exemption), None),
        causes={rule: cause for _, decision in judged for rule, cause in decision.causes.items()},
    )


def _told_of(template: PodTemplate, finding: Finding) -> Finding:
    """Returns a finding about a pod as one about its workload: the path comes first, because warnings are cut."""
    place = format_field(template.path)
    fate = " will be denied" if finding.severity is Severity.ERROR else ""
    message = f"pods of {place}{fate}: {finding.message}"
    return replace(finding, field=template.field_of(finding.field), message=message)
