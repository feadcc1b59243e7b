"""Finds the pods that a Kubernetes object makes: by the table of kinds, else by their shape."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from gpupolicy.errors import FieldPath, format_field
from gpupolicy.workloads.kinds import KINDS, QUOTING_GROUPS, Blind, Shape, WorkloadKind
from gpupolicy.workloads.shapes import READERS, JSONMap, PodTemplate, read_template

__all__ = ["Found", "PodTemplate", "Unseen", "find_pod_templates", "group_of"]

MAX_DEPTH = 16
MAX_EMBEDDING = 4

_BY_NAME = {(row.group, row.kind): row for row in KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Pods whose GPUs this object does not tell, and why."""

    path: FieldPath
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found in an object. ``is_known``: the kind stands in the table, or makes no pods by all we see."""

    templates: tuple[PodTemplate, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    is_known: bool = True


def group_of(api_version: object) -> str:
    """Returns the API group of an apiVersion, empty for the core group."""
    return api_version.rpartition("/")[0] if isinstance(api_version, str) else ""


def find_pod_templates(obj: JSONMap, *, counted: Collection[str] = ()) -> Found:
    """Finds every pod that an object makes.

    Args:
        obj: a Kubernetes object.
        counted: resource names that count as GPUs; in an unknown kind without a pod they betray that it runs some.

    Returns:
        The pods in the order of the object, each with its path, and what could not be seen.
    """
    return _find(obj, (), counted, MAX_EMBEDDING)


def _find(obj: JSONMap, path: FieldPath, counted: Collection[str], embedding: int) -> Found:
    group, kind = group_of(obj.get("apiVersion")), obj.get("kind")
    row = _BY_NAME.get((group, kind)) if isinstance(kind, str) else None
    if row is not None:
        return _read_row(row, obj, path, counted, embedding)
    if group in QUOTING_GROUPS:
        return Found()
    owner = kind if isinstance(kind, str) else None
    templates = tuple(replace(t, owner_kind=owner, is_known=False) for t in _search(obj, path, MAX_DEPTH))
    unseen = () if templates else tuple(_search_amounts(obj, path, counted, MAX_DEPTH))
    return Found(templates=templates, unseen=unseen, is_known=not (templates or unseen))


def _read_row(row: WorkloadKind, obj: JSONMap, path: FieldPath, counted: Collection[str], embedding: int) -> Found:
    templates: list[PodTemplate] = []
    unseen = [
        Unseen(path=place, reason=blind.reason) for blind in row.blind for place in _blind_places(blind, obj, path)
    ]
    for pods in row.pods:
        for place, value in _walk(obj, pods.path, path):
            if value is None:
                continue
            if pods.shape is Shape.OBJECT:
                if isinstance(value, Mapping) and embedding > 0:
                    inner = _find(value, place, counted, embedding - 1)
                    templates.extend(inner.templates)
                    unseen.extend(inner.unseen)
            elif (template := READERS[pods.shape](value, place)) is not None:
                templates.append(replace(template, owner_kind=row.owner or None))
    return Found(templates=tuple(templates), unseen=tuple(unseen))


def _blind_places(blind: Blind, obj: JSONMap, path: FieldPath) -> Iterator[FieldPath]:
    return (place for place, value in _walk(obj, blind.path, path) if value is not None)


def _walk(value: object, steps: tuple[str, ...], path: FieldPath) -> Iterator[tuple[FieldPath, object]]:
    """Yields what stands at a path of the table, ``*`` being every entry."""
    if not steps:
        yield path, value
    elif steps[0] == "*":
        for key, entry in _entries(value):
            yield from _walk(entry, steps[1:], (*path, key))
    elif isinstance(value, Mapping) and steps[0] in value:
        yield from _walk(value[steps[0]], steps[1:], (*path, steps[0]))


def _entries(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, Mapping):
        yield from ((key, entry) for key, entry in value.items() if isinstance(key, str))
    elif isinstance(value, list):
        yield from enumerate(value)


def _search(value: object, path: FieldPath, depth: int) -> Iterator[PodTemplate]:
    """Yields what has the shape of a pod template, not looking into status and metadata."""
    if depth == 0:
        return
    for key, entry in _entries(value):
        if key in ("metadata", "status"):
            continue
        if _is_pod_spec(entry):
            around = value if key == "spec" and len(path) > 0 and isinstance(value, Mapping) else None
            if around is not None:
                yield read_template(around, path)
            else:
                yield PodTemplate(pod={"spec": entry}, path=(*path, key), places=((("spec",), (*path, key)),))
        else:
            yield from _search(entry, (*path, key), depth - 1)


def _is_pod_spec(value: object) -> bool:
    containers = value.get("containers") if isinstance(value, Mapping) else None
    return isinstance(containers, list) and any(_is_container(container) for container in containers)


def _is_container(value: object) -> bool:
    return isinstance(value, Mapping) and "name" in value and ("image" in value or "resources" in value)


def _search_amounts(value: object, path: FieldPath, counted: Collection[str], depth: int) -> Iterator[Unseen]:
    """Yields resources stanzas that ask for a counted name outside of any pod."""
    if depth == 0:
        return
    for key, entry in _entries(value):
        if key == "status":
            continue
        if key == "resources" and (name := _counted_name(entry, counted)):
            where = format_field((*path, key))
            yield Unseen(path=(*path, key), reason=f"{where} asks for {name}, but no pod template was found")
        else:
            yield from _search_amounts(entry, (*path, key), counted, depth - 1)


def _counted_name(value: object, counted: Collection[str]) -> str | None:
    if not isinstance(value, Mapping):
        return None
    amounts = [value.get(side) for side in ("limits", "requests")]
    return next((name for amount in amounts if isinstance(amount, Mapping) for name in amount if name in counted), None)
