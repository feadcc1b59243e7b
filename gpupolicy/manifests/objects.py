"""From documents to Kubernetes objects: lists item by item, each object knowing where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.workloads import group_of

MAX_LIST_DEPTH = 4
_PLAIN_SCALAR = re.compile(r"[A-Za-z0-9~.+-][^\s,{}\[\]#]*")
_KEYS_OF_OBJECTS = frozenset({"apiVersion", "kind", "metadata", "spec"})
_CHART_VERSIONS = ("v1", "v2")
_PATCH_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")


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

    @property
    def is_first(self) -> bool:
        """Whether nothing stands before the object in its document."""
        return all(step in ("items", 0) for step in self.path)

    def find_written(self, field: FieldPath) -> str | None:
        """Returns how a scalar is written in the file (``NO`` where the value is false), None where it is not plain."""
        line, column = self.document.place(self.path + field)
        lines = _lines(self.document.text)
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


@lru_cache(maxsize=1)  # asked for field after field of one document
def _lines(text: str) -> list[str]:
    return text.splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a document holds: objects, and findings that belong to none of them."""

    objects: tuple[ManifestObject, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()

    @property
    def is_for_others(self) -> bool:
        """Whether the document was written for another program than the API server."""
        return bool(self.findings) and not self.objects and all(f.severity is Severity.INFO for f in self.findings)


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
    if other := _find_other(value):
        yield _not_an_object(path, f"this is no Kubernetes object: {other}", Severity.INFO)
    elif not isinstance(value, Mapping):
        yield _not_an_object(path, f"{_article(value)} stands where a Kubernetes object is expected", Severity.ERROR)
    elif value.get("kind") == "List" and not isinstance(items := value.get("items"), list):
        if items is not None:  # null is how Go writes an empty list
            message = f"{_article(items)} stands where the list's items are expected"
            yield _not_an_object((*path, "items"), message, Severity.ERROR)
    elif not _is_list(value) or depth == 0:
        yield ManifestObject(document=document, path=path, value=value)
    else:
        for index, item in enumerate(_items(value)):
            yield from _parts(document, item, (*path, "items", index), depth - 1)


def _find_other(value: object) -> str | None:
    """Returns what a value is that was written for another program; None where it may be an object.

    Source: helm.sh/docs/topics/charts, The Chart.yaml File; RFC 6902.
    """
    if isinstance(value, Mapping):
        if not _KEYS_OF_OBJECTS & value.keys():
            return "it has neither apiVersion nor kind"
        others = value.keys() - {"kind"}
        if others and not (_KEYS_OF_OBJECTS | {"items"}) & others:
            return "it has a kind, but neither apiVersion, metadata nor spec"
        is_chart = value.get("apiVersion") in _CHART_VERSIONS and {"name", "version"} <= value.keys()
        if is_chart and not {"kind", "metadata", "spec"} & value.keys():
            return "it describes a chart of Helm"
    elif isinstance(value, list) and value and all(map(_is_operation, value)):
        return "it is a JSON patch of one, judged where it is applied"
    return None


def _is_operation(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("op") in _PATCH_OPERATIONS and isinstance(value.get("path"), str)


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
