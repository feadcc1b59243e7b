"""Finds the pods that a Kubernetes object makes: by the table of kinds, else by their shape."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gpupolicy.errors import FieldPath, format_field
from gpupolicy.model import Policy, WorkloadKind
from gpupolicy.workloads.guessing import (
    MAX_DEPTH,
    Embedded,
    entries,
    find_amounts,
    find_by_shape,
    find_counted_name,
    find_gaps,
)
from gpupolicy.workloads.kinds import Blind, KindRow, PodPath, Shape, Steps, guess_resource
from gpupolicy.workloads.own_counts import asks_for_devices, find_argument
from gpupolicy.workloads.paths import EVERY, parse_path
from gpupolicy.workloads.shapes import READERS, JSONMap, PodTemplate, Unseen, with_base, without_gaps
from gpupolicy.workloads.table import KINDS, QUOTING_GROUPS, QUOTING_KINDS

__all__ = ["Found", "PodTemplate", "Unseen", "find_pod_templates", "find_pods", "group_of", "rows_of"]

MAX_EMBEDDING = 4
_NOTHING: tuple[object, ...] = (None, 0, "0", "", [], {})

Table = Mapping[tuple[str, str], KindRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found in an object. ``is_known``: the kind stands in the table, or makes no pods by all we see."""

    templates: tuple[PodTemplate, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    is_known: bool = True


def group_of(api_version: object) -> str:
    """Returns the API group of an apiVersion, empty for the core group."""
    return api_version.rpartition("/")[0] if isinstance(api_version, str) else ""


def find_pods(policy: Policy, obj: JSONMap) -> Found:
    """Finds every pod that an object makes, by the kinds and the counted names of a policy."""
    return find_pod_templates(obj, counted=policy.resource_names, kinds=policy.workloads)


def find_pod_templates(obj: JSONMap, *, counted: Collection[str] = (), kinds: tuple[WorkloadKind, ...] = ()) -> Found:
    """Finds every pod that an object makes.

    Args:
        obj: a Kubernetes object.
        counted: resource names that count as GPUs; in an unknown kind without a pod they betray that it runs some.
        kinds: kinds that go before those of the table.

    Returns:
        The pods in the order of the object, each with its path, and what could not be seen.
    """
    return _Finder(_table(kinds), counted).find(obj, (), MAX_EMBEDDING)


def rows_of(kinds: tuple[WorkloadKind, ...]) -> tuple[KindRow, ...]:
    """Returns the rows of the table with those of a policy in it, in a stable order."""
    return tuple(_table(kinds).values())


@lru_cache(maxsize=16)
def _table(kinds: tuple[WorkloadKind, ...]) -> Table:
    table = {(row.group, row.kind): row for row in KINDS}
    for kind in kinds:
        table[kind.group, kind.kind] = _row_of(kind, table.get((kind.group, kind.kind)))
    return table


def _row_of(kind: WorkloadKind, known: KindRow | None) -> KindRow:
    """Returns a policy's kind as a row; what it does not say stays as the table has it."""
    return KindRow(
        group=kind.group,
        kind=kind.kind,
        resource=kind.resource or (known.resource if known else guess_resource(kind.kind)),
        owner=kind.owner_kind or (known.owner if known else kind.kind),
        pods=tuple(PodPath(path=parse_path(path), shape=Shape.EITHER) for path in kind.templates),
        namespaced=known is None or known.namespaced,
    )


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds pods by one table; an object may hold others."""

    table: Table
    counted: Collection[str]

    def find(self, obj: JSONMap, path: FieldPath, embedding: int) -> Found:
        """Finds the pods of an object that stands at a path."""
        group, kind = group_of(obj.get("apiVersion")), obj.get("kind")
        row = self.table.get((group, kind)) if isinstance(kind, str) else None
        if row is not None:
            return self._read(row, obj, path, embedding)
        owner = kind if isinstance(kind, str) else None
        if group in QUOTING_GROUPS or (group, owner) in QUOTING_KINDS:
            return Found()
        return self._guess(obj, path, embedding, owner)

    def _guess(self, obj: JSONMap, path: FieldPath, embedding: int, owner: str | None) -> Found:
        """Finds the pods of a kind that no table has, those of objects inside of it by their own kinds."""
        templates: list[PodTemplate] = []
        unseen: list[Unseen] = []
        known: set[FieldPath] = set()
        for part in find_by_shape(obj, path, objects=embedding > 0):
            known.add(part.path)
            if isinstance(part, Embedded):
                inner = self.find(part.value, part.path, embedding - 1)
                namespace = _namespace_of(part.value)
                templates.extend(replace(t, namespace=t.namespace or namespace) for t in inner.templates)
                unseen.extend(inner.unseen)
            else:
                templates.append(replace(part, owner_kind=owner))
                unseen.extend(_arguments([part]))
        if not _is_built_in(group_of(obj.get("apiVersion"))) and not any(asks_for_devices(t.pod) for t in templates):
            unseen.extend(find_amounts(obj, path, self.counted, known=known, own=True))
        guessed = tuple(replace(template, is_known=False) for template in templates)
        return Found(templates=guessed, unseen=tuple(unseen), is_known=not (guessed or unseen))

    def _read(self, row: KindRow, obj: JSONMap, path: FieldPath, embedding: int) -> Found:
        templates: list[PodTemplate] = []
        unseen: list[Unseen] = []
        for pods in row.pods:
            for place, value in _walk(obj, pods.path, path):
                if value is None:
                    continue
                if pods.gap is not None:
                    unseen.extend(find_gaps(value, place, self.counted, pods.gap))
                    value = without_gaps(value, pods.gap, MAX_DEPTH)
                if pods.shape is Shape.OBJECT:
                    if isinstance(value, Mapping) and embedding > 0:
                        inner = self.find(value, place, embedding - 1)
                        templates.extend(inner.templates)
                        unseen.extend(inner.unseen)
                elif (template := READERS[pods.shape](value, place)) is not None:
                    owned = replace(template, owner_kind=row.owner or None)
                    templates.append(_based(owned, pods.base, obj, path))
        hidden = [found for blind in row.blind for found in self._hidden(blind, obj, path, templates)]
        if not (hidden or unseen or any(asks_for_devices(template.pod) for template in templates)):
            unseen.extend(self._misplaced(row, obj, path, templates))
        return Found(templates=tuple(templates), unseen=(*hidden, *unseen, *_arguments(templates)))

    def _misplaced(self, row: KindRow, obj: JSONMap, path: FieldPath, templates: list[PodTemplate]) -> Iterator[Unseen]:
        """Yields what asks for devices in an object whose own places hold no pod that does."""
        known = {template.path for template in templates}
        for part in find_by_shape(obj, path, objects=False):
            if isinstance(part, PodTemplate) and part.path not in known and asks_for_devices(part.pod):
                place = format_field(part.path)
                reason = f"{place} looks like a pod, but a {row.kind} is not known to keep one there"
                yield Unseen(path=part.path, reason=reason)
            known.add(part.path)
        yield from find_amounts(obj, path, self.counted, known=known, own=not _is_built_in(row.group))

    def _hidden(self, blind: Blind, obj: JSONMap, path: FieldPath, templates: list[PodTemplate]) -> Iterator[Unseen]:
        for place, value in _walk(obj, blind.path, path):
            if value in _NOTHING or (blind.within is not None and _is_seen(blind, place, path, templates)):
                continue
            if not blind.named or find_counted_name(value, self.counted):
                yield Unseen(path=place, reason=blind.reason.replace("{field}", format_field(place)))


def _namespace_of(obj: JSONMap) -> str | None:
    metadata = obj.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    return namespace if isinstance(namespace, str) and namespace else None


def _is_built_in(group: str) -> bool:
    """Returns whether a group is one of Kubernetes' own, none of whose kinds counts GPUs but in resources."""
    return "." not in group or group.endswith(".k8s.io")


def _based(template: PodTemplate, base: Steps | None, obj: JSONMap, path: FieldPath) -> PodTemplate:
    if base is None:
        return template
    place, value = next(_walk(obj, base, path), (path, None))
    return with_base(template, value, place)


def _is_seen(blind: Blind, place: FieldPath, path: FieldPath, templates: list[PodTemplate]) -> bool:
    """Returns whether a pod below ``within`` asks for devices, so that the field says nothing new."""
    within = blind.within or ()
    is_above = blind.path[: len(within)] == within
    scope = place[: len(path) + len(within)] if is_above else (*path, *within)
    return any(t.path[: len(scope)] == scope and asks_for_devices(t.pod) for t in templates)


def _arguments(templates: Sequence[PodTemplate]) -> Iterator[Unseen]:
    """Yields the arguments by which a program is told of GPUs that its pod does not ask for."""
    for template in templates:
        if (found := find_argument(template.pod)) and not asks_for_devices(template.pod):
            place = template.field_of(found[0])
            reason = f"{format_field(place)} counts GPUs by {found[1]}, but the pod asks for none"
            yield Unseen(path=place, reason=reason)


def _walk(value: object, steps: Steps, path: FieldPath) -> Iterator[tuple[FieldPath, object]]:
    """Yields what stands at a path of the table, ``*`` being every entry."""
    if not steps:
        yield path, value
    elif steps[0] == EVERY:
        for key, entry in entries(value):
            yield from _walk(entry, steps[1:], (*path, key))
    elif isinstance(value, Mapping) and steps[0] in value:
        yield from _walk(value[steps[0]], steps[1:], (*path, steps[0]))
