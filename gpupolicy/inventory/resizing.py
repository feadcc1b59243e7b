"""What the containers of a pod hold while it is resized in place: its status says it, beside what its spec wishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpupolicy.errors import FieldPath
from gpupolicy.pod import JSONMap

_PENDING, _IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
_STATUSES = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Amounts that containers hold, by the field of the container; none unless the pod is being resized.

    ``is_infeasible``: the kubelet will never give what the spec wishes, so that does not count.
    """

    parts: Mapping[FieldPath, tuple[JSONMap, ...]] = field(default_factory=dict)
    is_infeasible: bool = False


NOTHING_HELD = Held()


def find_held(pod: JSONMap) -> Held:
    """Returns what the status of a pod says that its containers hold.

    A pod whose conditions tell of no resize is not looked at any further: its status repeats its spec.

    Source: kubernetes/component-helpers resource/helpers.go, determineContainerReqs and IsPodResizeInfeasible.
    """
    status = pod.get("status")
    if not isinstance(status, Mapping):
        return NOTHING_HELD
    resizes = {each.get("type"): each.get("reason") for each in _mappings(status.get("conditions"))}
    if _PENDING not in resizes and _IN_PROGRESS not in resizes:
        return NOTHING_HELD
    parts = {path: held for kind, name in _STATUSES.items() for path, held in _parts(pod, status, kind, name)}
    return Held(parts=parts, is_infeasible=resizes.get(_PENDING) == "Infeasible")


def _parts(pod: JSONMap, status: JSONMap, kind: str, name: str) -> Iterator[tuple[FieldPath, tuple[JSONMap, ...]]]:
    by_name = {each.get("name"): each for each in _mappings(status.get(name))}
    spec = pod.get("spec")
    for index, container in enumerate(_mappings(spec.get(kind) if isinstance(spec, Mapping) else None)):
        told = by_name.get(container.get("name"), {})
        resources = told.get("resources")
        if isinstance(resources, Mapping):
            held = (resources.get("requests"), told.get("allocatedResources"))
            yield ("spec", kind, index), tuple(part for part in held if isinstance(part, Mapping))


def _mappings(items: object) -> Iterator[JSONMap]:
    return (item for item in (items if isinstance(items, (list, tuple)) else ()) if isinstance(item, Mapping))
