"""Keeps of a node what a rollout looks at: fifteen thousand nodes with their image lists fill a machine. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.node import JSONMap
from gpupolicy.rollout.state import CORDONED_BY

_METADATA = ("name", "uid", "resourceVersion", "labels")
_SPEC = ("taints", "unschedulable")
_STATUS = ("allocatable", "capacity", "conditions")
_OWNED = (("f:metadata", "f:labels"), ("f:spec", "f:taints"))


def slim(node: JSONMap) -> JSONMap:
    """Returns a node without what a rollout does not look at."""
    metadata = {**_kept(node.get("metadata"), _METADATA), **_annotations(node), **_managed_fields(node)}
    return {
        "metadata": metadata,
        "spec": _kept(node.get("spec"), _SPEC),
        "status": _kept(node.get("status"), _STATUS),
    }


def _kept(part: object, names: tuple[str, ...]) -> dict[str, object]:
    return {name: part[name] for name in names if name in part} if isinstance(part, Mapping) else {}


def _annotations(node: JSONMap) -> dict[str, object]:
    metadata = node.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    kept = _kept(annotations, (CORDONED_BY,))
    return {"annotations": kept} if kept else {}


def _managed_fields(node: JSONMap) -> dict[str, object]:
    metadata = node.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    if not isinstance(entries, (list, tuple)):
        return {}
    return {"managedFields": [_entry(entry) for entry in entries if isinstance(entry, Mapping)]}


def _entry(entry: JSONMap) -> dict[str, object]:
    fields: dict[str, object] = {}
    for part, name in _owned(entry.get("fieldsV1")):
        fields.setdefault(part, {})[name] = entry["fieldsV1"][part][name]  # type: ignore[index]  # _owned has looked
    return {**{key: value for key, value in entry.items() if key != "fieldsV1"}, "fieldsV1": fields}


def _owned(fields: object) -> Iterator[tuple[str, str]]:
    for part, name in _OWNED:
        found = fields.get(part) if isinstance(fields, Mapping) else None
        if isinstance(found, Mapping) and name in found:
            yield part, name
