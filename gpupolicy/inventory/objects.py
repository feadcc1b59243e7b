"""What any object of a cluster says of itself, read without trust: whatever is absent or of another type is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpupolicy.pod import JSONMap

_ENDED = frozenset({"Succeeded", "Failed"})
_NOTHING: JSONMap = {}


class Controller(NamedTuple):
    """The owner reference of a controller."""

    api_version: str
    kind: str
    name: str


def find_controller(metadata: JSONMap) -> Controller | None:
    """Returns the owner reference of the controller; None where nobody controls the object."""
    references = metadata.get("ownerReferences")
    for reference in references if isinstance(references, (list, tuple)) else ():
        if isinstance(reference, (dict, Mapping)) and reference.get("controller") is True:
            version, kind, name = reference.get("apiVersion", ""), reference.get("kind", ""), reference.get("name", "")
            return Controller(str(version), str(kind), str(name))
    return None


def metadata_of(obj: JSONMap) -> JSONMap:
    """Returns the metadata of an object; empty where it is none."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, (dict, Mapping)) else _NOTHING  # dict first: the abstract test is slow


def namespace_of(metadata: JSONMap) -> str:
    """Returns the namespace of an object, ``default`` where it names none."""
    namespace = metadata.get("namespace")
    return namespace if isinstance(namespace, str) and namespace else "default"


def has_ended(pod: JSONMap) -> bool:
    """Returns whether a pod has succeeded or failed, so that it holds nothing any more."""
    status = pod.get("status")
    phase = status.get("phase") if isinstance(status, (dict, Mapping)) else None
    return isinstance(phase, str) and phase in _ENDED
