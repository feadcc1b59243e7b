"""The decision: whether a pod may be made as it is, and how it is routed. One function, for every surface.

A pod here comes from JSON or YAML; ``admit``, the door for Python, refuses what the Python client makes of pods first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpupolicy.admission.case import Judged, group_cause
from gpupolicy.admission.claims import NO_CLAIMS, NOT_COUNTED, Claims
from gpupolicy.admission.counting import Count, count_gpus
from gpupolicy.admission.enforcement import action_for
from gpupolicy.admission.judging import judge
from gpupolicy.admission.remark import Remark
from gpupolicy.admission.route import Route
from gpupolicy.admission.routing import Operation, Patch, build_patch
from gpupolicy.admission.scope import ExemptionMatch, Request, find_exemption, is_being_deleted, is_mirror
from gpupolicy.admission.wishes import describe
from gpupolicy.errors import FieldPath, Finding, PodShapeError, Severity, shown
from gpupolicy.model import Action, Exemption, Policy
from gpupolicy.pod import JSONMap, PodView

MOST_FINDINGS = 50  # of each kind; a pod can be made to break a rule a hundred thousand times
_MOST_REASONS = 10
_NOT_COUNTED = frozenset({NOT_COUNTED, "device-class-not-known", "gpu-resource-not-counted", "gpu-shares-several"})
_SEVERITIES = {Action.DENY: Severity.ERROR, Action.WARN: Severity.WARNING, Action.AUDIT: Severity.INFO}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where a pod may go: names of GPU types and slot groups (own groups first), and its scheduler."""

    gpu_types: tuple[str, ...]
    slot_groups: tuple[str, ...]
    scheduler_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer for one pod.

    ``judged`` is False where the rules were not asked: no GPU, exempt, or nothing that the operation could change.
    ``gpus`` is the effective request of the pod by resource name. ``patch`` holds RFC 6902 operations on the pod as
    it was passed. ``causes`` names the policy's field behind a rule that fired.
    """

    allowed: bool
    judged: bool
    reason: str
    violations: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    audited: tuple[Finding, ...] = ()
    patch: tuple[Operation, ...] = ()
    placement: Placement | None = None
    gpus: Mapping[str, int] = field(default_factory=dict)
    exemption: Exemption | None = None
    causes: Mapping[str, FieldPath] = field(default_factory=dict)


def decide(
    policy: Policy,
    pod: JSONMap,
    *,
    operation: str = "CREATE",
    old: JSONMap | None = None,
    namespace: str | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    now: datetime | None = None,
    subresource: str = "",
    username: str | None = None,
    owner_kind: str | None = None,
    final: bool = False,
    claims: Claims = NO_CLAIMS,
) -> Decision:
    """Decides on one pod that JSON or YAML gave.

    Args and what it returns are those of ``admit``; nothing is raised, whatever the pod holds.

    Source: docs/admission.md, whose table of operations was shown on Kubernetes 1.37.2.
    """
    if operation not in ("CREATE", "UPDATE") or subresource:
        return _unjudged(f"{operation} of {subresource or 'a pod'} is not judged")
    if operation == "UPDATE" and (reason := _find_reason_to_pass(pod, old)):
        return _unjudged(reason)
    try:
        view = PodView(pod)
        request = Request(
            namespace=namespace or view.namespace or "default",
            namespace_labels={} if namespace_labels is None else namespace_labels,
            username=username,
            owner_kind=owner_kind,
            now=now,
            claims=claims,
        )
        if operation == "UPDATE" and old is not None:
            return _admit_update(policy, view, old, request, final=final)
        return _admit_new(policy, view, request, final=final)
    except PodShapeError as error:
        if operation == "UPDATE" and pod == old:
            return _unjudged("nothing changed")
        finding = Finding(rule="pod-not-readable", severity=Severity.ERROR, field=error.field, message=str(error))
        return Decision(allowed=False, judged=True, reason=f"{error} [pod-not-readable]", violations=(finding,))


def _find_reason_to_pass(pod: object, old: object) -> str | None:
    """Says why an UPDATE passes whatever the pod looks like; asked before anything in it is read."""
    if is_being_deleted(pod):
        return "the pod is being deleted"
    return "there is no old pod to compare with" if old is None else None


def _count(policy: Policy, view: PodView, request: Request) -> Count:
    return count_gpus(policy, view, request.claims, request.namespace)


def _admit_new(policy: Policy, view: PodView, request: Request, *, final: bool) -> Decision:
    count = _count(policy, view, request)
    if passed := _pass_early(view, request, count):
        return passed
    match = find_exemption(policy, view, request)
    if match.exemption is not None:
        return _exempt(policy, match.index, match.exemption, count)
    judged = _judge(policy, view, count, request)
    if count.gpus:
        _judge_expired(policy, match, judged)
    patch = _find_patch(policy, view, judged)
    if final and patch.binding and judged.route:
        _judge_unrouted(policy, judged, judged.route, patch)
    return _conclude(policy, judged, count.gpus, patch, request)


def _pass_early(view: PodView, request: Request, count: Count) -> Decision | None:
    """Returns the decision for a pod that no exemption has to let in: these may look at labels of its namespace."""
    if is_mirror(view, request):
        reason = "a kubelet mirrors a static pod, which runs whatever the API says"
        return Decision(allowed=True, judged=False, reason=reason, gpus=count.gpus)
    return None if count.gpus or count.remarks else _unjudged("the pod asks for no GPU")


def _exempt(policy: Policy, index: int, exemption: Exemption, count: Count) -> Decision:
    reason = f"exempt: {exemption.reason} ({policy.cite('spec', 'admission', 'exemptions', index)})"
    return Decision(allowed=True, judged=False, reason=reason, gpus=count.gpus, exemption=exemption)


def _judge(policy: Policy, view: PodView, count: Count, request: Request) -> Judged:
    return judge(policy, view, count, request) if count.gpus else Judged(list(count.remarks))


def _judge_expired(policy: Policy, match: ExemptionMatch, judged: Judged) -> None:
    for index in match.expired:
        expired = policy.admission.exemptions[index]
        message = f"the exemption ({expired.reason}) ended on {expired.expires}"
        judged.add("exemption-expired", ("metadata",), message, ("spec", "admission", "exemptions", index))


def _find_patch(policy: Policy, view: PodView, judged: Judged) -> Patch:
    """Returns the routing; none for a pod that no scheduler will see."""
    if judged.route is None or view.node_name:
        return Patch()
    return build_patch(policy, view, judged.route, judged.scheduler_name)


def _judge_unrouted(policy: Policy, judged: Judged, route: Route, patch: Patch) -> None:
    """Says what a pod in its final form lacks: it was changed after the routing, or never got it."""
    paths = [str(operation["path"]) for operation in patch.binding]
    lacking = []
    if any(path.startswith("/spec/affinity") and not path.endswith("/values") for path in paths):
        wanted = " and ".join(describe(requirement) for requirement in route.requirements)
        lacking.append(f"not every way of placing it requires {wanted}")
    if any(path.endswith("/values") or path.startswith("/spec/nodeSelector") for path in paths):
        lacking.append("a GPU type is named by an alias")
    if any(path.startswith("/spec/tolerations") for path in paths):
        lacking.append("it does not tolerate the taint of its slot groups")
    if "/spec/schedulerName" in paths:
        lacking.append(f"its schedulerName is not {judged.scheduler_name}")
    message = (
        f"the pod is not routed: {' and '.join(lacking)}; "
        "the mutating webhook did not see it, or another one changed it afterwards"
    )
    judged.add("pod-not-routed", ("spec",), message, group_cause(policy, route.target))


def _admit_update(policy: Policy, view: PodView, old: JSONMap, request: Request, *, final: bool) -> Decision:
    """Judges by what changed: a pod that is as it was always passes, and so does what was wrong before."""
    count = _count(policy, view, request)
    if passed := _pass_early(view, request, count):
        return passed
    before = _read_old(old)
    if before is None:
        return _unjudged("the old pod cannot be read, so nothing can be compared")
    earlier = _count(policy, before, request)
    if _asks(count) == _asks(earlier) and _placement_fields(view) == _placement_fields(before):
        reason = "neither GPUs nor placement changed"
        return Decision(allowed=True, judged=False, reason=reason, gpus=count.gpus)
    match = find_exemption(policy, view, request)
    if match.exemption is not None:
        return _exempt(policy, match.index, match.exemption, count)
    judged = _judge(policy, view, count, request)
    if count.gpus == earlier.gpus:
        _keep_change(policy, view, before, _judge(policy, before, earlier, request), judged, final=final)
    return _conclude(policy, judged, count.gpus, Patch(), request)


def _keep_change(
    policy: Policy, view: PodView, before: PodView, earlier: Judged, judged: Judged, *, final: bool
) -> None:
    """Keeps what the change made wrong; a change may narrow the routing of a pod, never lose it.

    Who narrows a pod to one of its alternatives, as Kueue does, leaves terms behind on purpose.
    """
    known = {"term-never-matches", *(remark.rule for remark in earlier.remarks)}
    judged.remarks = [remark for remark in judged.remarks if remark.rule not in known]
    patch = _find_patch(policy, view, judged)
    if final and patch.binding and judged.route and not _find_patch(policy, before, earlier).binding:
        _judge_unrouted(policy, judged, judged.route, patch)


def _read_old(old: JSONMap) -> PodView | None:
    try:
        return PodView(old)
    except PodShapeError:
        return None


def _asks(count: Count) -> tuple[object, ...]:
    """Returns what a pod asks for, amounts that cannot be counted among it."""
    return (count.gpus, count.remarks)


def _placement_fields(view: PodView) -> tuple[object, ...]:
    return (view.node_selector, view.required_terms, view.scheduler_name, view.node_name)


def _conclude(policy: Policy, judged: Judged, gpus: Mapping[str, int], patch: Patch, request: Request) -> Decision:
    found: dict[Action, list[Finding]] = {Action.DENY: [], Action.WARN: [], Action.AUDIT: []}
    for remark in judged.remarks:
        action = action_for(policy, remark.rule, request)
        if len(found[action]) < MOST_FINDINGS:
            found[action].append(_to_finding(remark, _SEVERITIES[action]))
    denied = tuple(found[Action.DENY])
    placement = _find_placement(judged) if not denied else None
    return Decision(
        allowed=not denied,
        judged=bool(gpus or denied),
        reason=_deny_reason(policy, denied, judged.causes) if denied else _allow_reason(judged, gpus, placement),
        violations=denied,
        warnings=tuple(found[Action.WARN]),
        audited=tuple(found[Action.AUDIT]),
        patch=() if denied else patch.operations,
        placement=placement,
        gpus=gpus,
        causes=judged.causes,
    )


def _to_finding(remark: Remark, severity: Severity) -> Finding:
    return Finding(
        rule=remark.rule,
        severity=severity,
        field=remark.field,
        message=remark.message,
        part=remark.part,
        hint=remark.hint,
    )


def _find_placement(judged: Judged) -> Placement | None:
    if judged.route is None:
        return None
    return Placement(gpu_types=judged.gpu_types, slot_groups=judged.slot_groups, scheduler_name=judged.scheduler_name)


def _deny_reason(policy: Policy, denied: Sequence[Finding], causes: Mapping[str, FieldPath]) -> str:
    told = [f"{f.message}{_cited(policy, causes.get(f.rule))} [{f.rule}]" for f in denied[:_MOST_REASONS]]
    if more := len(denied) - len(told):
        told.append(f"and {more} more")
    return "; ".join(told)


def _cited(policy: Policy, cause: FieldPath | None) -> str:
    return f" ({policy.cite(*cause)})" if cause else ""


def _allow_reason(judged: Judged, gpus: Mapping[str, int], placement: Placement | None) -> str:
    if not gpus:
        others = any(remark.rule in _NOT_COUNTED for remark in judged.remarks)
        return "the pod asks for no GPU that is counted" if others else "the pod asks for no GPU"
    asked = ", ".join(f"{amount} {name}" for name, amount in sorted(gpus.items()))
    groups = ", ".join(placement.slot_groups) if placement else ""
    scheduler = f", scheduled by {shown(placement.scheduler_name)}" if placement and placement.scheduler_name else ""
    return f"{asked}: {f'slot group {groups}' if groups else 'allowed, not routed'}{scheduler}"


def _unjudged(reason: str) -> Decision:
    return Decision(allowed=True, judged=False, reason=reason)
