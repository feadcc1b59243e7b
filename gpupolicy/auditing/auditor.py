"""Takes what runs, pod by pod, and tells what was found: keeps owners and counts, never pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from gpupolicy.admission import Decision
from gpupolicy.admission.claims import NO_CLAIMS, Claims
from gpupolicy.admission.scope import is_being_deleted
from gpupolicy.auditing.exemption_uses import ExemptionUses
from gpupolicy.auditing.judging import Judge, Surroundings
from gpupolicy.auditing.living import as_created, find_node, is_over
from gpupolicy.auditing.owners import Owners
from gpupolicy.auditing.remedies import SIZE
from gpupolicy.auditing.repeated import Pods
from gpupolicy.auditing.report import NOT_ROUTED, AuditReport, Owner
from gpupolicy.auditing.resizing import find_resize
from gpupolicy.auditing.tally import Tally
from gpupolicy.errors import Finding
from gpupolicy.inventory.objects import find_controller, metadata_of, namespace_of
from gpupolicy.inventory.seats import read_seats
from gpupolicy.model import Policy
from gpupolicy.node import each_object
from gpupolicy.pod import JSONMap
from gpupolicy.workloads import PodTemplate, find_pods

_OVER = frozenset({"Complete", "Failed"})


class Auditor:
    """Takes workloads, then pods, then tells what was found."""

    def __init__(self, policy: Policy, surroundings: Surroundings) -> None:
        self._policy = policy
        self._around = surroundings
        self._judge = Judge(policy, surroundings)
        self._owners = Owners()
        self._uses = ExemptionUses(policy)
        self._tallies: dict[Owner, Tally] = {}
        self._seen = Pods()
        self._pods = self._gpu_pods = self._ended = self._workloads = 0

    def add_workload(self, workload: JSONMap) -> None:
        """Judges the templates of an object that makes pods, unless another object controls it or it is over."""
        self._owners.add(workload)
        metadata = metadata_of(workload)
        if find_controller(metadata) is not None or is_being_deleted(workload) or _is_over(workload):
            return
        found = find_pods(self._policy, workload)
        if not found.is_known or not found.templates or workload.get("kind") == "Pod":
            return
        self._workloads += 1
        owner = _owner_of(workload, metadata)
        decided = [
            (template, self._judge.admit(template.pod, owner.namespace, owner_kind=template.owner_kind))
            for template in found.templates
        ]
        if any(decision.gpus or _findings(decision) for _, decision in decided):
            self._keep_templates(self._tally(owner), decided)

    def _keep_templates(self, tally: Tally, decided: list[tuple[PodTemplate, Decision]]) -> None:
        tally.template = frozenset(finding.rule for _, decision in decided for finding in _findings(decision))
        for template, decision in decided:
            tally.note(decision)
            for finding in _findings(decision):
                self._keep(tally, replace(finding, field=template.field_of(finding.field)), decision)
            if template.is_verbatim:
                self._find_resize(tally, decision, template.pod, template.owner_kind)

    def add_pod(self, pod: JSONMap) -> None:
        """Judges one pod; what has ended, or is being deleted, is only counted."""
        self._pods += 1
        if is_over(pod):
            self._ended += 1
            return
        metadata = metadata_of(pod)
        namespace, controller = namespace_of(metadata), find_controller(metadata)
        if self._seen.is_repeated(namespace, metadata.get("name")):
            return
        judged = self._judge.judge(pod, namespace, controller.kind if controller else "")
        decision = judged.decision
        findings = self._findings_of_pod(decision)
        if not decision.gpus and not findings:
            return
        self._gpu_pods += bool(decision.gpus)
        tally = self._tally(self._owners.find(metadata, namespace, controller))
        tally.pods += 1
        tally.note(decision)
        name, node = str(metadata.get("name", "")), find_node(pod)
        for finding in findings:
            self._keep(tally, finding, decision, name, node)
        self._find_resize(tally, decision, pod, None)
        if (misplaced := self._judge.find_misplaced(judged, namespace, name, node)) is not None:
            tally.add(misplaced, None, pod=name, node=node)
        if decision.exemption is not None and decision.gpus:
            self._uses.add(decision.exemption, tally.owner)

    def _findings_of_pod(self, decision: Decision) -> tuple[Finding, ...]:
        passed_over = {NOT_ROUTED} if self._around.as_planned else set()
        return tuple(finding for finding in _findings(decision) if finding.rule not in passed_over)

    def _tally(self, owner: Owner) -> Tally:
        tally = self._tallies.get(owner)
        if tally is None:
            tally = self._tallies[owner] = Tally(owner)
        return tally

    def _keep(self, tally: Tally, finding: Finding, decision: Decision, pod: str = "", node: str = "") -> None:
        """Keeps a finding with the line of the policy behind it."""
        cause = decision.causes.get(finding.rule)
        told = replace(finding, message=f"{finding.message} ({self._policy.cite(*cause)})") if cause else finding
        tally.add(told, cause, pod=pod, node=node)

    def _find_resize(self, tally: Tally, decision: Decision, pod: JSONMap, owner_kind: str | None) -> None:
        """Finds another amount, once for each owner."""
        if not tally.is_resize_sought and any(finding.rule == SIZE for finding in _findings(decision)):
            tally.is_resize_sought = True
            ask = partial(self._judge.admit, namespace=tally.owner.namespace, owner_kind=owner_kind)
            tally.resize = find_resize(self._policy, as_created(pod), decision.gpus, ask)

    def finish(self) -> AuditReport:
        """Returns all that was found."""
        tallies = sorted(self._tallies.values(), key=lambda each: _order(each.owner))
        now = self._around.now
        return AuditReport(
            policy=self._policy.name,
            owners=tuple(tally.finish(self._around.kubectl) for tally in tallies),
            exemptions=self._uses.finish(now),
            findings=(*self._uses.find_ends(now, self._around.expiring_days), *self._seen.findings()),
            pods=self._pods,
            gpu_pods=self._gpu_pods,
            ended=self._ended,
            workloads=self._workloads,
            moment=now,
        )


def audit(
    policy: Policy,
    pods: Iterable[JSONMap],
    nodes: Iterable[JSONMap] = (),
    *,
    workloads: Iterable[JSONMap] = (),
    namespace_labels: Mapping[str, Mapping[str, str]] | None = None,
    claims: Claims = NO_CLAIMS,
    now: datetime | None = None,
    expiring_days: int = 30,
) -> AuditReport:
    """Judges what runs as if it were made today.

    Args:
        policy: the policy.
        pods: Pods as the Kubernetes API prints them; read once, none is kept.
        nodes: Nodes; without them no pod is misplaced.
        workloads: objects that make pods (Deployments, Jobs, ...) and the ReplicaSets between; they tell who owns a
            pod, and are judged themselves.
        namespace_labels: labels of namespaces by name, for policies that select by them.
        claims: the resource claims and claim templates that are known, by kind, namespace and name.
        now: the moment by which exemptions expire; None: none expires.
        expiring_days: exemptions in use that end within so many days are warnings.

    Returns:
        What was found, by owner, with the commands that mend it. A pod that is listed twice counts once.
    """
    surroundings = Surroundings(
        seats=read_seats(policy, nodes),
        namespace_labels=namespace_labels or {},
        claims=claims,
        now=now,
        expiring_days=expiring_days,
    )
    auditor = Auditor(policy, surroundings)
    for workload in each_object(workloads, "workload"):
        auditor.add_workload(workload)
    for pod in each_object(pods, "Pod"):
        auditor.add_pod(pod)
    return auditor.finish()


def _findings(decision: Decision) -> tuple[Finding, ...]:
    return (*decision.violations, *decision.warnings, *decision.audited)


def _is_over(workload: JSONMap) -> bool:
    """Returns whether a Job has ended."""
    status = workload.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    return workload.get("kind") == "Job" and any(
        isinstance(each, Mapping) and each.get("type") in _OVER and each.get("status") == "True"
        for each in (conditions if isinstance(conditions, list) else ())
    )


def _owner_of(workload: JSONMap, metadata: JSONMap) -> Owner:
    return Owner(
        namespace=namespace_of(metadata),
        api_version=str(workload.get("apiVersion", "")),
        kind=str(workload.get("kind", "")),
        name=str(metadata.get("name", "")),
    )


def _order(owner: Owner) -> tuple[str, str, str, str]:
    return owner.namespace, owner.kind, owner.name, owner.api_version
