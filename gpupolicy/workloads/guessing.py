"""Kinds that no table has: pods found by their shape, and GPUs that are named outside of any pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gpupolicy.errors import FieldPath, format_field
from gpupolicy.workloads.own_counts import is_own_count
from gpupolicy.workloads.shapes import PodTemplate, Unseen, read_template

MAX_DEPTH = 16
_NOT_SEARCHED = ("metadata", "status")


def find_by_shape(value: object, path: FieldPath, depth: int = MAX_DEPTH) -> Iterator[PodTemplate]:
    """Yields what has the shape of a pod or a pod template, not looking into status and metadata."""
    if depth == 0:
        return
    for key, entry in entries(value):
        if key in _NOT_SEARCHED:
            continue
        if _is_pod_spec(entry):
            around = value if key == "spec" and len(path) > 0 and isinstance(value, Mapping) else None
            if around is not None:
                yield read_template(around, path)
            else:
                yield PodTemplate(pod={"spec": entry}, path=(*path, key), places=((("spec",), (*path, key)),))
        else:
            yield from find_by_shape(entry, (*path, key), depth - 1)


def find_amounts(value: object, path: FieldPath, counted: Collection[str], depth: int = MAX_DEPTH) -> Iterator[Unseen]:
    """Yields what asks for GPUs outside of any pod: resources with a counted name, and numbers that are called GPUs."""
    if depth == 0:
        return
    for key, entry in entries(value):
        if key in _NOT_SEARCHED:
            continue
        here = (*path, key)
        if key == "resources" and (name := _counted_name(entry, counted)):
            yield Unseen(path=here, reason=f"{format_field(here)} asks for {name}, but no pod template was found")
        elif is_own_count(key, entry):
            yield Unseen(path=here, reason=f"it counts GPUs by its own field {format_field(here)}")
        else:
            yield from find_amounts(entry, here, counted, depth - 1)


def entries(value: object) -> Iterator[tuple[str | int, object]]:
    """Yields the entries of a map or list with their keys."""
    if isinstance(value, Mapping):
        yield from ((key, entry) for key, entry in value.items() if isinstance(key, str))
    elif isinstance(value, list):
        yield from enumerate(value)


def _is_pod_spec(value: object) -> bool:
    containers = value.get("containers") if isinstance(value, Mapping) else None
    return isinstance(containers, list) and any(_is_container(container) for container in containers)


def _is_container(value: object) -> bool:
    return isinstance(value, Mapping) and "name" in value and ("image" in value or "resources" in value)


def _counted_name(value: object, counted: Collection[str]) -> str | None:
    if not isinstance(value, Mapping):
        return None
    amounts = [value.get(side) for side in ("limits", "requests")]
    return next((name for amount in amounts if isinstance(amount, Mapping) for name in amount if name in counted), None)
