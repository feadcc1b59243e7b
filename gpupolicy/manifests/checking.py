"""Judges manifests offline: the same decision that the webhook takes, told by file and line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.manifests.api_rules import FILES_OF_TOOLS, find_object_problems, find_start_problem
from gpupolicy.manifests.field_types import IN_QUOTES
from gpupolicy.manifests.judgement import JudgedPod, Surroundings, judge_pod
from gpupolicy.manifests.objects import Content, ManifestObject, read_content
from gpupolicy.manifests.report import CheckedObject, CheckReport, verdict_from
from gpupolicy.manifests.unrendered import tell_templates
from gpupolicy.model import Policy
from gpupolicy.suggestions import find_slip
from gpupolicy.workloads import Found, find_pods, rows_of
from gpupolicy.workloads.own_counts import asks_for_devices

if TYPE_CHECKING:  # loaded by those who judge changes
    from gpupolicy.manifests.comparing import Earlier

_NOT_TEXT = frozenset({"label-value-not-string", "annotation-value-not-string"})


def check_documents(
    policy: Policy,
    documents: Iterable[Document],
    *,
    files: int,
    surroundings: Surroundings | None = None,
    earlier: Earlier | None = None,
    skip_others: bool = False,
) -> CheckReport:
    """Judges every object of the documents.

    Args:
        policy: the policy.
        documents: what was read, unreadable documents too.
        files: how many files that were, for the summary.
        surroundings: what the manifests do not say.
        earlier: the objects as they were; then only what changed is judged.
        skip_others: documents without any Kubernetes object are left out without a word.

    Returns:
        One entry for each pod, and for each object without one, in the order of the documents.
    """
    surroundings = surroundings or Surroundings()
    objects: list[CheckedObject] = []
    findings: list[LocatedFinding] = []
    unreadable: list[Document] = []
    object_count = 0
    for document in documents:
        if not document.readable:
            unreadable.append(document)
            continue
        content = read_content(document)
        if skip_others and not content.objects:
            continue
        object_count += len(content.objects)
        for manifest in content.objects:
            old = earlier.find(manifest) if earlier else None
            if earlier is None or old is None:
                objects.extend(check_object(policy, manifest, surroundings))
            else:
                before = replace(surroundings, claims={**surroundings.claims, **earlier.claims})
                objects.extend(check_change(policy, manifest, old, surroundings, before=before))
        findings.extend(_outside_of_objects(document, content))
    return CheckReport(
        files=files,
        object_count=object_count,
        objects=tuple(objects),
        findings=(*findings, *tell_templates(unreadable)),
        unreadable=len(unreadable),
    )


def check_change(
    policy: Policy,
    manifest: ManifestObject,
    old: ManifestObject,
    surroundings: Surroundings,
    *,
    before: Surroundings | None = None,
) -> tuple[CheckedObject, ...]:
    """Judges what a change made of an object: an entry as in ``check_object``, without what was wrong before.

    ``before`` is what surrounded the old object, where that has changed as well.
    """
    from gpupolicy.manifests.comparing import Side, keep_changes

    def side_of(state: ManifestObject, around: Surroundings) -> Side:
        templates = find_pods(policy, state.value).templates
        pods = {template.path: template.pod for template in templates}
        return Side(manifest=state, entries=check_object(policy, state, around), pods=pods)

    return keep_changes(side_of(manifest, surroundings), side_of(old, before or surroundings))


def check_object(policy: Policy, manifest: ManifestObject, surroundings: Surroundings) -> tuple[CheckedObject, ...]:
    """Judges one object: an entry for each pod that it makes, else one that says why there is none."""
    found = find_pods(policy, manifest.value)
    about_object = tuple(_about_object(manifest, found))
    if not found.templates:
        return (_entry_without_pod(manifest, found, about_object),)
    shares = _share_out(about_object, [template.path for template in found.templates])
    return tuple(
        _entry(manifest, judge_pod(policy, manifest, template, surroundings), share, surroundings.namespace)
        for template, share in zip(found.templates, shares, strict=True)
    )


def _about_object(manifest: ManifestObject, found: Found) -> Iterator[LocatedFinding]:
    """Yields what the reader found in an object, what the API server refuses, and what could not be seen."""
    if manifest.is_first and (start := find_start_problem(manifest.document)):
        yield start
    depth = len(manifest.path)
    for finding in manifest.document.findings:
        if finding.field[:depth] == manifest.path:
            yield replace(finding, field=finding.field[depth:])
    makes_pods = bool(found.templates) and found.is_known
    for problem in find_object_problems(manifest, makes_pods=makes_pods):
        yield _locate(manifest, problem)
    for unseen in found.unseen:
        message = f"the GPUs of this {manifest.kind} were not evaluated: {unseen.reason}"
        yield manifest.locate(_warning("gpus-not-visible", unseen.path, message))
    if found.templates and not found.is_known:
        name = f"{manifest.api_version} {manifest.kind}"
        message = f"{name} is no kind that is known; what looks like a pod in it was judged by its shape"
        asks = bool(found.unseen) or any(asks_for_devices(template.pod) for template in found.templates)
        severity = Severity.WARNING if asks else Severity.INFO
        told = _warning("kind-not-known", ("kind",), message)
        yield manifest.locate(replace(told, hint=_hint_kind(manifest), severity=severity))


def _hint_kind(manifest: ManifestObject) -> str:
    """Returns the kind or group that was meant by a slip, else how a policy gets to know a kind."""
    kind, rows = manifest.kind or "", rows_of(())
    if near := find_slip(kind, (row.kind for row in rows if row.group == manifest.group)):
        return f"did you mean {near}"
    homes = [row.group for row in rows if row.kind == kind and "." not in row.group]
    if homes and "." not in manifest.group:
        return f"did you mean the group {homes[0]}" if homes[0] else "did you mean apiVersion: v1"
    return "name the kind and its paths in spec.workloads of the policy"


def _warning(rule: str, field: FieldPath, message: str) -> Finding:
    return Finding(rule=rule, severity=Severity.WARNING, field=field, message=message)


def _locate(manifest: ManifestObject, finding: Finding) -> LocatedFinding:
    """Adds the place, and how a text is written when YAML reads it as something else."""
    is_text = finding.rule in _NOT_TEXT and finding.hint is None
    if (is_text or finding.hint == IN_QUOTES) and (written := manifest.find_written(finding.field)):
        finding = replace(finding, hint=f'write "{written}"')
    return manifest.locate(finding)


def _outside_of_objects(document: Document, content: Content) -> Iterator[LocatedFinding]:
    """Yields what belongs to none of a document's objects; about other programs' files nothing but a note."""
    yield from content.findings
    paths = [manifest.path for manifest in content.objects]
    for finding in document.findings:
        if not any(finding.field[: len(path)] == path for path in paths):
            yield replace(finding, severity=Severity.INFO) if content.is_for_others else finding


def _share_out(findings: Iterable[LocatedFinding], paths: list[FieldPath]) -> list[tuple[LocatedFinding, ...]]:
    """Gives each finding about an object to the pod that it lies in, else to the first."""
    shares: list[list[LocatedFinding]] = [[] for _ in paths]
    for finding in findings:
        inside = (index for index, path in enumerate(paths) if finding.field[: len(path)] == path)
        shares[next(inside, 0)].append(finding)
    return [tuple(share) for share in shares]


def _entry(
    manifest: ManifestObject, judged: JudgedPod, about_object: tuple[LocatedFinding, ...], namespace: str
) -> CheckedObject:
    told = {finding.field for finding in (*about_object, *judged.findings) if finding.rule in _NOT_TEXT}
    about_pod = [f for f in judged.findings if not (f.rule == "pod-not-readable" and f.field in told)]
    findings = (*about_object, *(_locate(manifest, finding) for finding in about_pod))
    decision = judged.decision
    return CheckedObject(
        file=manifest.document.file,
        line=manifest.line,
        api_version=manifest.api_version,
        kind=manifest.kind,
        namespace=manifest.namespace or namespace,
        name=manifest.name,
        verdict=verdict_from(findings, is_judged=decision.judged),
        reason=_errors(findings) or decision.reason,
        pod_spec=judged.template.path,
        gpus=decision.gpus,
        findings=findings,
        placement=decision.placement,
    )


def _entry_without_pod(manifest: ManifestObject, found: Found, findings: tuple[LocatedFinding, ...]) -> CheckedObject:
    reason = "no pod in it"
    if found.unseen:
        reason = f"not evaluated: {found.unseen[0].reason}"
    elif manifest.group in FILES_OF_TOOLS:
        reason = f"no pod in it: {FILES_OF_TOOLS[manifest.group]}"
    return CheckedObject(
        file=manifest.document.file,
        line=manifest.line,
        api_version=manifest.api_version,
        kind=manifest.kind,
        namespace=manifest.namespace,
        name=manifest.name,
        verdict=verdict_from(findings, is_judged=False),
        reason=_errors(findings) or reason,
        findings=findings,
    )


def _errors(findings: Iterable[LocatedFinding]) -> str:
    return "; ".join(f"{f.message} [{f.rule}]" for f in findings if f.severity is Severity.ERROR)
