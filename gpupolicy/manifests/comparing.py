"""What changed since an earlier state of the manifests: only that is judged where an earlier state is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from gpupolicy.admission.claims import Claims, index_claims
from gpupolicy.errors import FieldPath, LocatedFinding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.loading.rule_ids import READING_RULES
from gpupolicy.manifests.objects import ManifestObject, read_content
from gpupolicy.manifests.report import CheckedObject, Verdict, verdict_from
from gpupolicy.pod import NODE_AFFINITY, REQUIRED, JSONMap
from gpupolicy.workloads.naming import entry_at, name_path, number_equals

Identity = tuple[str, str, str, str]
_DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Objects as they were, by apiVersion, kind, namespace and name. ``namespace`` is that of objects without one.

    ``claims`` are the resource claims and templates among them.
    """

    objects: Mapping[Identity, tuple[ManifestObject, ...]]
    namespace: str = "default"
    claims: Claims = field(default_factory=dict)

    @classmethod
    def from_documents(cls, documents: Iterable[Document], namespace: str = "default") -> Earlier:
        """Collects the objects of documents; what cannot be read, or has no name, is left out."""
        objects: dict[Identity, list[ManifestObject]] = {}
        for document in documents:
            for manifest in read_content(document).objects if document.readable else ():
                if (identity := _identify(manifest, namespace)) is not None:
                    objects.setdefault(identity, []).append(manifest)
        found = {key: tuple(value) for key, value in objects.items()}
        claims = index_claims((each.value for listed in found.values() for each in listed), namespace)
        return cls(objects=found, namespace=namespace, claims=claims)

    def find(self, manifest: ManifestObject) -> ManifestObject | None:
        """Returns what the object was before.

        Of several with its name (one for each overlay) it is the one whose path ends most like its own, the last of
        equals.
        """
        identity = _identify(manifest, self.namespace)
        found = self.objects.get(identity, ()) if identity is not None else ()
        file = manifest.document.file
        return max(reversed(found), key=lambda old: _alike(old.document.file, file), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An object on one side of the comparison: its entries, and the pods that they are about."""

    manifest: ManifestObject
    entries: tuple[CheckedObject, ...]
    pods: Mapping[FieldPath, JSONMap]

    def named_entries(self) -> Iterator[tuple[object, CheckedObject]]:
        """Yields the entries, each with a name of its own: the place of its pod, in lists by the entries' names."""
        value = self.manifest.value
        return number_equals((name_path(value, entry.pod_spec or ()), entry) for entry in self.entries)

    def placement_of(self, entry: CheckedObject) -> tuple[object, ...]:
        """Returns what a pod says about where it wants to run."""
        pod = self.pods.get(entry.pod_spec) if entry.pod_spec is not None else None
        return _placement_fields(pod) if pod is not None else ()


def keep_changes(now: Side, before: Side) -> tuple[CheckedObject, ...]:
    """Leaves of an object's entries what its change made wrong.

    A pod whose GPUs are others is judged in full. Otherwise what was wrong before passes, as it does on an UPDATE in
    the cluster, and a pod that changed in nothing that is judged is skipped.
    """
    earlier = dict(before.named_entries())
    kept = []
    for name, entry in now.named_entries():
        old = earlier.get(name)
        if old is None or old.gpus != entry.gpus:
            kept.append(entry)
            continue
        findings = tuple(_new_findings(now.manifest, entry, before.manifest, old))
        is_unchanged = now.placement_of(entry) == before.placement_of(old)
        kept.append(_reduced(entry, findings, is_unchanged=is_unchanged))
    return tuple(kept)


def _reduced(entry: CheckedObject, findings: tuple[LocatedFinding, ...], *, is_unchanged: bool) -> CheckedObject:
    if entry.pod_spec is not None and is_unchanged and not findings:
        return replace(entry, verdict=Verdict.SKIP, reason="unchanged", findings=())
    verdict = verdict_from(findings, is_judged=entry.verdict is not Verdict.SKIP and entry.pod_spec is not None)
    reason = "; ".join(f"{f.message} [{f.rule}]" for f in findings if f.severity is Severity.ERROR)
    if not reason:
        reason = "what is wrong in it was so before" if entry.verdict is Verdict.DENY else entry.reason
    return replace(entry, verdict=verdict, reason=reason, findings=findings)


def _new_findings(
    now: ManifestObject, entry: CheckedObject, before: ManifestObject, old: CheckedObject
) -> Iterator[LocatedFinding]:
    known = Counter(_key(before, finding) for finding in old.findings)
    for finding in entry.findings:
        key = _key(now, finding)
        if known[key]:
            known[key] -= 1
        else:
            yield finding


def _key(manifest: ManifestObject, finding: LocatedFinding) -> tuple[object, ...]:
    """Returns by what a finding is known again; messages of the reader may name lines, which move."""
    is_about_text = finding.rule in READING_RULES
    return finding.rule, name_path(manifest.value, finding.field) if is_about_text else finding.message


def _identify(manifest: ManifestObject, namespace: str) -> Identity | None:
    if manifest.name is None or manifest.kind is None:
        return None
    return manifest.api_version or "", manifest.kind, manifest.namespace or namespace, manifest.name


def _alike(left: str, right: str) -> int:
    """Returns how many parts two paths have in common, counted from their ends."""
    pairs = zip(reversed(PurePath(left).parts), reversed(PurePath(right).parts), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), 10_000)


def _placement_fields(pod: JSONMap) -> tuple[object, ...]:
    spec = pod.get("spec")
    fields: Sequence[FieldPath] = (("nodeSelector",), ("schedulerName",), ("nodeName",), (*NODE_AFFINITY[1:], REQUIRED))
    values = (_follow(spec, field) for field in fields)
    return tuple(None if value in (None, "", {}, _DEFAULT_SCHEDULER) else value for value in values)


def _follow(value: object, path: FieldPath) -> object:
    for step in path:
        value = entry_at(value, step)
    return value
