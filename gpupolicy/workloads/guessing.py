"""Kinds that no table has: pods found by their shape, and GPUs that are named outside of any pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, format_field
from gpupolicy.workloads.own_counts import find_given, is_own_count
from gpupolicy.workloads.shapes import JSONMap, PodTemplate, Unseen, read_template

MAX_DEPTH = 16
_NOT_SEARCHED = ("metadata", "status")
_PARTS_OF_OBJECTS = ("metadata", "spec", "template", "items")
_MAPS_OF_LABELS = ("annotations", "labels", "matchLabels", "nodeSelector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A whole object that stands inside of another one, as in a manifest of Crossplane or a template of OpenShift."""

    path: FieldPath
    value: JSONMap


def find_by_shape(
    value: object, path: FieldPath, *, objects: bool, depth: int = MAX_DEPTH
) -> Iterator[PodTemplate | Embedded]:
    """Yields what has the shape of a pod or a pod template, not looking into status and metadata.

    ``objects``: a whole object inside is yielded as such instead of being searched.
    """
    if depth == 0:
        return
    for key, entry in entries(value):
        if key in _NOT_SEARCHED:
            continue
        here = (*path, key)
        if objects and isinstance(entry, Mapping) and _is_object(entry):
            yield Embedded(path=here, value=entry)
        elif _is_pod_spec(entry):
            if key == "spec" and len(path) > 0 and isinstance(value, Mapping):
                yield read_template(value, path)
            else:
                yield PodTemplate(pod={"spec": entry}, path=here, places=((("spec",), here),))
        else:
            yield from find_by_shape(entry, here, objects=objects, depth=depth - 1)


def find_amounts(
    value: object,
    path: FieldPath,
    counted: Collection[str],
    *,
    known: Set[FieldPath],
    own: bool,
    depth: int = MAX_DEPTH,
) -> Iterator[Unseen]:
    """Yields what asks for GPUs outside of any pod: resources with a counted name, numbers and texts that give GPUs.

    ``known``: places that were read as pods or objects, and are not searched. ``own``: the kind may count GPUs in
    fields of its own; else only resources are looked for.
    """
    if depth == 0:
        return
    for key, entry in entries(value):
        here = (*path, key)
        if key in _NOT_SEARCHED or key in _MAPS_OF_LABELS or here in known:
            continue
        if key == "resources" and (name := find_counted_name(entry, counted)):
            yield Unseen(path=here, reason=f"{format_field(here)} asks for {name}, but stands in no pod")
        elif own and is_own_count(key, entry):
            yield Unseen(path=here, reason=f"it counts GPUs by its own field {format_field(here)}")
        elif isinstance(entry, str):
            if own and (name := find_given(entry, counted)):
                yield Unseen(path=here, reason=f"{format_field(here)} gives {name} in a text")
        else:
            yield from find_amounts(entry, here, counted, known=known, own=own, depth=depth - 1)


def find_gaps(
    value: object, path: FieldPath, counted: Collection[str], gap: str, depth: int = MAX_DEPTH
) -> Iterator[Unseen]:
    """Yields amounts of counted resources that are filled in later."""
    for key, entry in entries(value) if depth else ():
        here = (*path, key)
        if isinstance(entry, str) and gap in entry and key in counted:
            yield Unseen(path=here, reason=f"{format_field(here)} is filled in later")
        yield from find_gaps(entry, here, counted, gap, depth - 1)


def find_counted_name(value: object, counted: Collection[str]) -> str | None:
    """Returns the counted resource that a name is, or for which resources have a limit or a request."""
    if isinstance(value, str):
        return value if value in counted else None
    if not isinstance(value, Mapping):
        return None
    amounts = [value.get(side) for side in ("limits", "requests")]
    return next((name for amount in amounts if isinstance(amount, Mapping) for name in amount if name in counted), None)


def entries(value: object) -> Iterator[tuple[str | int, object]]:
    """Yields the entries of a map or list with their keys."""
    if isinstance(value, Mapping):
        yield from ((key, entry) for key, entry in value.items() if isinstance(key, str))
    elif isinstance(value, list):
        yield from enumerate(value)


def _is_object(value: JSONMap) -> bool:
    """Returns whether it is a whole object; a reference to one (``involvedObject``) has its kind and name alone."""
    if not isinstance(value.get("apiVersion"), str) or not isinstance(value.get("kind"), str):
        return False
    return any(isinstance(value.get(part), Mapping | list) for part in _PARTS_OF_OBJECTS)


def _is_pod_spec(value: object) -> bool:
    containers = value.get("containers") if isinstance(value, Mapping) else None
    return isinstance(containers, list) and any(_is_container(container) for container in containers)


def _is_container(value: object) -> bool:
    return isinstance(value, Mapping) and "name" in value and ("image" in value or "resources" in value)
