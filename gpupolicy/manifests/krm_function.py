"""A ResourceList of the KRM Functions specification: its items judged or routed, and results written back into it.

Source: kubernetes-sigs/kustomize cmd/config/docs/api-conventions/functions-spec.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpupolicy.errors import Finding, InputError, LocatedFinding
from gpupolicy.loading.documents import Document, read_documents
from gpupolicy.manifests.checking import check_object
from gpupolicy.manifests.editing import edit_text
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.mutation import find_changes
from gpupolicy.manifests.objects import ManifestObject, read_content
from gpupolicy.model import KIND, Policy

Value = Mapping[str, object]

_BOM = b"\xef\xbb\xbf"
GROUP = "config.kubernetes.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")
LIST_KIND = "ResourceList"
_PREFIXES = (f"internal.{GROUP}/", f"{GROUP}/")
_KEPT = ("name", "labels", "annotations")  # of the metadata that orchestrators write to


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionInput:
    """A ResourceList as it came in. ``config`` is its functionConfig, empty where it has none."""

    document: Document
    value: Mapping[str, object]
    config: Mapping[str, object] = field(default_factory=dict)

    @property
    def options(self) -> Mapping[str, object]:
        """The ``data`` of a functionConfig that is no policy itself."""
        data = self.config.get("data")
        return data if isinstance(data, Mapping) else {}

    def find_policy_text(self) -> str | None:
        """Returns the policy that the functionConfig is, as text; None where it only names one."""
        if self.config.get("kind") != KIND:
            return None
        metadata = self.config.get("metadata")
        kept = {key: metadata[key] for key in _KEPT if key in metadata} if isinstance(metadata, Mapping) else metadata
        return json.dumps({**self.config, "metadata": kept}, indent=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFinding:
    """A finding about an item: the object (None: the list itself), and where the orchestrator had it from."""

    finding: Finding
    item: ManifestObject | None = None
    file: str | None = None
    index: int | None = None


def read_resource_list(data: bytes, file: str) -> FunctionInput:
    """Reads the input of a function.

    Args:
        data: the text, YAML or JSON.
        file: how errors call it.

    Raises:
        InputError: it is no ResourceList of a version that is known.
    """
    documents = read_documents(data, file)
    if len(documents) != 1:
        raise InputError(f"{len(documents)} documents are here, one {LIST_KIND} is expected", file=file)
    (document,) = documents
    if not document.readable:
        finding = document.findings[0]
        raise InputError(finding.message, file=file, line=finding.line, column=finding.column)
    value = document.value
    if not isinstance(value, Mapping) or value.get("kind") != LIST_KIND:
        raise InputError(f"a {LIST_KIND} is expected on standard input", file=file)
    if value.get("apiVersion") not in VERSIONS:
        found = value.get("apiVersion")
        raise InputError(f"apiVersion of the {LIST_KIND} is {found}; known are {', '.join(VERSIONS)}", file=file)
    config = value.get("functionConfig") or {}
    if not isinstance(config, Mapping) or not isinstance(value.get("items") or [], list):
        raise InputError("functionConfig has to be a mapping, and items a list", file=file)
    return FunctionInput(document=document, value=value, config=config)


def judge_items(policy: Policy, given: FunctionInput, surroundings: Surroundings) -> tuple[ItemFinding, ...]:
    """Judges every item as ``check`` does."""
    if not given.value.get("items"):
        return ()  # nothing came through the pipeline
    content = read_content(given.document)
    about_items = (
        _about(item, finding)
        for item in content.objects
        for entry in check_object(policy, item, surroundings)
        for finding in entry.findings
    )
    return (*about_items, *(ItemFinding(finding=finding) for finding in content.findings))


def route_items(policy: Policy, given: FunctionInput, surroundings: Surroundings, *, templates: bool) -> Value:
    """Returns the list's value with every pod that is not denied routed, as ``mutate`` leaves it."""
    changes = find_changes(policy, (given.document,), surroundings, with_templates=templates)
    value = changes.values.get(given.document.index, given.value)
    return value if isinstance(value, Mapping) else given.value


def write_list(data: bytes, given: FunctionInput, value: Value, results: Sequence[Value]) -> bytes:
    """Writes the output of the function: the input's text where nothing changed, comments and order kept.

    Args:
        data: the input's text.
        given: the input.
        value: the list afterwards.
        results: they take the place of those that the list had.
    """
    new = {**value, "results": list(results)} if results or "results" in value else value
    if new == given.value:
        return data
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
        return edit_text(text, (given.document,), {given.document.index: new}).encode()
    except InputError:  # written in a way that cannot be changed in place; JSON is YAML as well
        return (json.dumps(new, indent=2) + "\n").encode()


def _about(item: ManifestObject, finding: LocatedFinding) -> ItemFinding:
    metadata = item.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    notes = annotations if isinstance(annotations, Mapping) else {}
    file, index = (next(_notes(notes, name), None) for name in ("path", "index"))
    return ItemFinding(
        finding=finding,
        item=item,
        file=file,
        index=int(index) if index is not None and index.isdecimal() and len(index) < 10 else None,
    )


def _notes(annotations: Mapping[str, object], name: str) -> Iterator[str]:
    """Yields what the orchestrator noted about an item, under the present name and the old one."""
    for prefix in _PREFIXES:
        if isinstance(note := annotations.get(prefix + name), str):
            yield note


def in_file(found: ItemFinding) -> LocatedFinding:
    """Returns a finding with the file of its item in place of the list's text, for people to read."""
    finding = found.finding
    where = found.file or (f"{found.item.kind} {found.item.name}" if found.item else None)
    located = LocatedFinding(
        rule=finding.rule, severity=finding.severity, field=finding.field, message=finding.message, hint=finding.hint
    )
    return replace(located, file=where)
