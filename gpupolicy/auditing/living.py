"""A running pod as it was when it was made: what the cluster has added since is no fault of its author."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any, cast

from gpupolicy.admission.route import ROUTED_TO
from gpupolicy.admission.scope import is_being_deleted
from gpupolicy.inventory.objects import has_ended, metadata_of
from gpupolicy.pod import MIRROR_ANNOTATION, JSONMap

_JUDGED = (
    "serviceAccountName",
    "schedulerName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "overhead",
    "resources",
    "resourceClaims",
)


def is_over(pod: JSONMap) -> bool:
    """Returns whether a pod holds nothing any more, or is about to go."""
    return has_ended(pod) or is_being_deleted(pod)


def as_created(pod: JSONMap) -> JSONMap:
    """Returns the pod without the node that a scheduler bound it to.

    A node that the author named stays: it is known by managedFields, where a binding leaves no trace. In a dump without
    them nobody can tell, and the scheduler is believed.
    """
    spec = pod.get("spec")
    if not isinstance(spec, (dict, Mapping)) or not spec.get("nodeName") or names_node_itself(pod):
        return pod
    return {**pod, "spec": {key: value for key, value in spec.items() if key != "nodeName"}}


def find_node(pod: JSONMap) -> str:
    """Returns the node that the pod is on, empty while it waits."""
    spec = pod.get("spec")
    node = spec.get("nodeName") if isinstance(spec, (dict, Mapping)) else None
    return node if isinstance(node, str) else ""


def names_node_itself(pod: JSONMap) -> bool:
    """Returns whether managedFields tell that somebody wrote the node into the pod."""
    entries = metadata_of(pod).get("managedFields")
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        if not isinstance(entry, Mapping) or entry.get("subresource"):
            continue
        fields = entry.get("fieldsV1")
        spec = fields.get("f:spec") if isinstance(fields, Mapping) else None
        if isinstance(spec, Mapping) and "f:nodeName" in spec:
            return True
    return False


def find_likeness(pod: JSONMap, namespace: str, controller: str, *, with_labels: bool) -> bytes | None:
    """Returns what all pods have in common that are decided alike: every part that admission looks at, in bytes.

    Args:
        pod: a pod that runs; the node that it was bound to is left out.
        namespace: where it is.
        controller: the kind of its controller, empty where nobody controls it.
        with_labels: the policy looks at labels of pods.

    Returns:
        None for a pod whose parts are not of the shape that the API has: it is looked at by itself.
    """
    try:
        return marshal.dumps(
            (namespace, controller, _judged_parts(pod, with_labels)), 2
        )  # 2: no references, whatever is shared
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _judged_parts(pod: JSONMap, with_labels: bool) -> tuple[Any, ...]:
    spec, metadata = cast(JSONMap, pod["spec"]), metadata_of(pod)
    annotations = cast(JSONMap, metadata.get("annotations") or {})
    return (
        annotations.get(ROUTED_TO),
        MIRROR_ANNOTATION in annotations,
        metadata.get("labels") if with_labels else None,
        spec.get("nodeName") if names_node_itself(pod) else None,
        [spec.get(part) for part in _JUDGED],
        _amounts_of(spec["containers"]),
        _amounts_of(spec.get("initContainers") or ()),
    )


def _amounts_of(containers: object) -> list[tuple[object, object]]:
    return [(each.get("resources"), each.get("restartPolicy")) for each in cast(list[JSONMap], containers)]
