"""GPU amounts under fields that no pod has: a strict API server refuses them, any other drops them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.admission.remark import Remark
from gpupolicy.errors import FieldPath
from gpupolicy.model import Policy
from gpupolicy.pod import JSONMap, PodView

_POD: FieldPath = ("spec",)
_READ = frozenset({"claims", "limits", "requests"})
_BESIDE_RESOURCES = frozenset(
    {"limit", "limits", "Limits", "request", "requests", "Requests", "resource", "Resource", "Resources"}
)


def find_misplaced(policy: Policy, view: PodView) -> Iterator[Remark]:
    """Yields counted names in a container or the pod itself, in what is nearly its resources or nearly their limits.

    In an ephemeral container there is no right place for one.
    """
    for field, holder in (_POD, view.spec), *view.written_containers("initContainers", "containers"):
        if not _is_ordinary(policy, holder):
            yield from _find_beside(policy, holder, field)
    for field, container in view.written_containers("ephemeralContainers"):
        yield from _find_within(policy, container, field, depth=2)


def _is_ordinary(policy: Policy, holder: JSONMap) -> bool:
    """Returns whether there is nothing to look for, which is asked of every pod."""
    names, resources = holder.keys(), holder.get("resources")
    return (
        names.isdisjoint(_BESIDE_RESOURCES)
        and names.isdisjoint(policy.types_by_resource)
        and (not isinstance(resources, dict) or resources.keys() <= _READ)
    )


def _find_beside(policy: Policy, holder: JSONMap, field: FieldPath) -> Iterator[Remark]:
    resources = holder.get("resources")
    unread = {key: value for key, value in resources.items() if key not in _READ} if isinstance(resources, dict) else {}
    beside = {key: value for key, value in holder.items() if key in _BESIDE_RESOURCES}
    yield from (_remark(name, field) for name in policy.types_by_resource if name in holder)
    yield from _find_within(policy, beside, field, depth=2)
    yield from _find_within(policy, unread, (*field, "resources"), depth=1)


def _find_within(policy: Policy, part: object, field: FieldPath, depth: int) -> Iterator[Remark]:
    for key, value in part.items() if isinstance(part, Mapping) else ():
        if key in policy.types_by_resource:
            yield _remark(key, field)
        elif depth:
            yield from _find_within(policy, value, (*field, key), depth - 1)


def _remark(name: str, field: FieldPath) -> Remark:
    message = f"{name} stands where Kubernetes reads no resource: the pod asks for none by it"
    return Remark("gpu-out-of-place", (*field, name), message, "put it under a container's resources.limits")
