"""From documents to Kubernetes objects: lists item by item, each object knowing where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.workloads import group_of

MAX_LIST_DEPTH = 4
_PLAIN_SCALAR = re.compile(r"[A-Za-z0-9~.+-][^\s,{}\[\]#]*")
_KEYS_OF_OBJECTS = frozenset({"apiVersion", "kind", "metadata", "spec"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestObject:
    """An object and its place: ``path`` leads to it from its document's root, so it is not empty inside a list."""

    document: Document
    path: FieldPath
    value: Mapping[str, object]

    @property
    def api_version(self) -> str | None:
        """The apiVersion, None where there is none that is text."""
        return _text(self.value.get("apiVersion"))

    @property
    def kind(self) -> str | None:
        """The kind, None where there is none that is text."""
        return _text(self.value.get("kind"))

    @property
    def group(self) -> str:
        """The API group."""
        return group_of(self.value.get("apiVersion"))

    @property
    def namespace(self) -> str | None:
        """The namespace that the object itself names."""
        return _text(self._metadata.get("namespace")) or None

    @property
    def name(self) -> str | None:
        """The name, or the prefix of a generated one with a star."""
        prefix = _text(self._metadata.get("generateName"))
        return _text(self._metadata.get("name")) or (f"{prefix}*" if prefix else None)

    @property
    def line(self) -> int:
        """The line where the object begins."""
        return self.document.place(self.path)[0] if self.path else self.document.line

    def find_written(self, field: FieldPath) -> str | None:
        """Returns how a scalar is written in the file (``NO`` where the value is false), None where it is not plain."""
        line, column = self.document.place(self.path + field)
        lines = self.document.text.splitlines()
        index = line - self.document.positions.line
        matched = _PLAIN_SCALAR.match(lines[index], column - 1) if index < len(lines) else None
        return matched.group() if matched else None

    @property
    def _metadata(self) -> Mapping[str, object]:
        metadata = self.value.get("metadata")
        return metadata if isinstance(metadata, Mapping) else {}

    def locate(self, finding: Finding) -> LocatedFinding:
        """Returns a finding whose field counts from this object, with its place in the file."""
        located = self.document.locate(replace(finding, field=self.path + finding.field))
        return replace(located, field=finding.field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a document holds: objects, and findings that belong to none of them."""

    objects: tuple[ManifestObject, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()


def read_content(document: Document) -> Content:
    """Splits a document into objects; ``kind: List`` and typed lists (PodList) fall apart into their items."""
    objects: list[ManifestObject] = []
    findings: list[LocatedFinding] = []
    for part in _parts(document, document.value, (), MAX_LIST_DEPTH):
        if isinstance(part, ManifestObject):
            objects.append(part)
        else:
            findings.append(document.locate(part))
    return Content(objects=tuple(objects), findings=tuple(findings))


def _parts(document: Document, value: object, path: FieldPath, depth: int) -> Iterator[ManifestObject | Finding]:
    if not isinstance(value, Mapping):
        yield _not_an_object(path, f"{_article(value)} stands where a Kubernetes object is expected", Severity.ERROR)
    elif not _KEYS_OF_OBJECTS & value.keys():
        yield _not_an_object(path, "this is no Kubernetes object: it has neither apiVersion nor kind", Severity.INFO)
    elif value.get("kind") == "List" and not isinstance(items := value.get("items"), list):
        if items is not None:  # null is how Go writes an empty list
            message = f"{_article(items)} stands where the list's items are expected"
            yield _not_an_object((*path, "items"), message, Severity.ERROR)
    elif not _is_list(value) or depth == 0:
        yield ManifestObject(document=document, path=path, value=value)
    else:
        for index, item in enumerate(_items(value)):
            yield from _parts(document, item, (*path, "items", index), depth - 1)


def _is_list(value: Mapping[str, object]) -> bool:
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)


def _items(value: Mapping[str, object]) -> Iterator[object]:
    """Yields the items; those of a typed list get the kind that the list's own name tells."""
    items = value["items"]
    item_kind = str(value["kind"]).removesuffix("List")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping) and item_kind and "kind" not in item:
            yield {"apiVersion": value.get("apiVersion"), "kind": item_kind, **item}
        else:
            yield item


def _not_an_object(path: FieldPath, message: str, severity: Severity) -> Finding:
    return Finding(rule="not-an-object", severity=severity, field=path, message=message)


def _article(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return "a text" if isinstance(value, str) else "a number or a truth value"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
