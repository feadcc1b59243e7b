"""Manifests as the webhook would leave them: pods get their patch, everything else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpupolicy.errors import FieldPath
from gpupolicy.loading.documents import Document, read_documents
from gpupolicy.manifests.checking import check_documents, check_object
from gpupolicy.manifests.editing import edit_text
from gpupolicy.manifests.judgement import Surroundings, judge_pod
from gpupolicy.manifests.objects import ManifestObject, read_content
from gpupolicy.manifests.report import CheckReport, Verdict
from gpupolicy.model import Policy
from gpupolicy.patch import apply_patch
from gpupolicy.workloads import PodTemplate, find_pods

_BOM = b"\xef\xbb\xbf"
_BUILT_IN_GROUPS = ("", "apps", "batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutated:
    """A manifest afterwards: its bytes (those read where nothing changed), what was found, how many pods changed."""

    data: bytes
    report: CheckReport
    changed_pods: int = 0


def mutate_manifest(
    policy: Policy, data: bytes, file: str, *, surroundings: Surroundings, with_templates: bool = False
) -> Mutated:
    """Gives every pod of a manifest the patch that the webhook would give it.

    Args:
        policy: the policy.
        data: the manifest.
        file: how findings call it.
        surroundings: what the manifest does not say.
        with_templates: also patch the pod templates of built-in workloads, which the webhook leaves alone.

    Returns:
        The manifest; objects that are denied stay as they are.

    Raises:
        InputError: the text cannot be edited in place.
    """
    documents = read_documents(data, file)
    report = check_documents(policy, documents, files=1, surroundings=surroundings)
    changes = find_changes(policy, documents, surroundings, with_templates=with_templates)
    if not changes.values or report.unreadable:
        return Mutated(data=data, report=report)
    bom = _BOM if data.startswith(_BOM) else b""
    text = edit_text(data.removeprefix(_BOM).decode("utf-8"), documents, changes.values)
    return Mutated(data=bom + text.encode("utf-8"), report=report, changed_pods=changes.pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """New values of documents, by their index, and how many pods they route."""

    values: Mapping[int, object]
    pods: int


def find_changes(
    policy: Policy, documents: Iterable[Document], surroundings: Surroundings, *, with_templates: bool
) -> Changes:
    """Finds what ``mutate_manifest`` writes, without writing it."""
    values: dict[int, object] = {}
    pods = 0
    for document in documents:
        patches = list(_patches(policy, document, surroundings, with_templates))
        if patches:
            values[document.index] = _patched(document.value, patches)
            pods += len(patches)
    return Changes(values=values, pods=pods)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PodPatch:
    """Operations on the pod that stands at a path of a document."""

    path: FieldPath
    operations: tuple[Mapping[str, object], ...]


def _patches(
    policy: Policy, document: Document, surroundings: Surroundings, with_templates: bool
) -> Iterator[_PodPatch]:
    for manifest in read_content(document).objects if document.readable else ():
        templates = find_pods(policy, manifest.value).templates
        entries = check_object(policy, manifest, surroundings) if templates else ()
        for template, entry in zip(templates, entries, strict=True):
            if entry.verdict is Verdict.DENY or not _is_changed_by_us(manifest, template, with_templates):
                continue
            if operations := judge_pod(policy, manifest, template, surroundings).decision.patch:
                yield _PodPatch(path=manifest.path + template.path[:-1], operations=operations)


def _is_changed_by_us(manifest: ManifestObject, template: PodTemplate, with_templates: bool) -> bool:
    is_built_in = template.is_known and template.is_verbatim and manifest.group in _BUILT_IN_GROUPS
    return is_built_in and (with_templates or manifest.kind == "Pod")


def _patched(value: object, patches: list[_PodPatch]) -> object:
    """Returns a copy of a document with its pods patched; nothing in it is shared, as aliases would have it."""
    copy = _copy(value)
    for patch in patches:
        pod = copy
        for step in patch.path:
            pod = pod[step]  # type: ignore[index]  # the path was found in this value
        apply_patch(pod, patch.operations)
    return copy


def _copy(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copy(entry) for key, entry in value.items()}
    return [_copy(entry) for entry in value] if isinstance(value, list) else value
