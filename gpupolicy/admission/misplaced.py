"""GPU amounts under fields that no pod has: a strict API server refuses them, any other drops them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.admission.remark import Remark
from gpupolicy.errors import FieldPath
from gpupolicy.model import Policy
from gpupolicy.pod import JSONMap, PodView

_READ = frozenset({"claims", "limits", "requests"})
_BESIDE_RESOURCES = frozenset(
    {"limit", "limits", "Limits", "request", "requests", "Requests", "resource", "Resource", "Resources"}
)


def find_misplaced(policy: Policy, view: PodView) -> Iterator[Remark]:
    """Yields counted names in a container or the pod itself, in what is nearly its resources or nearly their limits.

    In an ephemeral container there is no right place for one.
    """
    yield from _find_beside(policy, view.spec, ("spec",))
    for field, container in view.written_containers("initContainers", "containers"):
        yield from _find_beside(policy, container, field)
    for field, container in view.written_containers("ephemeralContainers"):
        yield from _find_within(policy, container, field, depth=2)


def _find_beside(policy: Policy, holder: JSONMap, field: FieldPath) -> Iterator[Remark]:
    if not holder.keys().isdisjoint(policy.types_by_resource):
        yield from (_remark(name, field) for name in policy.types_by_resource if name in holder)
    if not holder.keys().isdisjoint(_BESIDE_RESOURCES):
        beside = {key: value for key, value in holder.items() if key in _BESIDE_RESOURCES}
        yield from _find_within(policy, beside, field, depth=2)
    resources = holder.get("resources")
    if isinstance(resources, Mapping) and not resources.keys() <= _READ:
        unread = {key: value for key, value in resources.items() if key not in _READ}
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
