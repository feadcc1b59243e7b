"""Who owns a pod: up from its controller to the object that people wrote, as far as it can be known."""

from __future__ import annotations

from collections.abc import Mapping

from gpupolicy.auditing.report import Owner
from gpupolicy.inventory.objects import Controller, find_controller, metadata_of, namespace_of
from gpupolicy.pod import JSONMap
from gpupolicy.workloads import group_of

TEMPLATE_HASH = "pod-template-hash"  # the Deployment controller's label, and the end of its ReplicaSets' names
_HIGHEST = 5  # a JobSet's Job is two floors up; more than that is a circle


class Owners:
    """Finds the owners of pods, by what is known of the objects between."""

    def __init__(self) -> None:
        self._controllers: dict[tuple[str, str, str, str], Controller | None] = {}
        self._found: dict[tuple[str, Controller, str], Owner] = {}

    def add(self, obj: JSONMap) -> None:
        """Learns who controls an object."""
        metadata = metadata_of(obj)
        group, kind = group_of(obj.get("apiVersion")), str(obj.get("kind", ""))
        key = (namespace_of(metadata), group, kind, str(metadata.get("name", "")))
        self._controllers[key] = find_controller(metadata)

    def find(self, metadata: JSONMap, namespace: str, controller: Controller | None) -> Owner:
        """Returns the owner of a pod with a controller: the pod itself where nobody controls it.

        A ReplicaSet that is not known belongs to the Deployment that its name, without the pods' pod-template-hash,
        tells; that is how the Deployment controller names it. A Job that is not known stays a Job.
        """
        if controller is None:
            return Owner(namespace=namespace, api_version="v1", kind="Pod", name=str(metadata.get("name", "")))
        labels = metadata.get("labels")
        template = str(labels.get(TEMPLATE_HASH, "")) if isinstance(labels, (dict, Mapping)) else ""
        key = (namespace, controller, template)
        if key not in self._found:
            top = self._climb(controller, template, namespace)
            self._found[key] = Owner(namespace=namespace, api_version=top.api_version, kind=top.kind, name=top.name)
        return self._found[key]

    def _climb(self, controller: Controller, template: str, namespace: str) -> Controller:
        for _ in range(_HIGHEST):
            above = self._above(controller, template, namespace)
            if above is None:
                return controller
            controller = above
        return controller

    def _above(self, controller: Controller, template: str, namespace: str) -> Controller | None:
        key = (namespace, group_of(controller.api_version), controller.kind, controller.name)
        if key in self._controllers:
            return self._controllers[key]
        is_replica_set = controller.kind == "ReplicaSet" and group_of(controller.api_version) == "apps"
        if is_replica_set and template and controller.name.endswith(f"-{template}"):
            return Controller(controller.api_version, "Deployment", controller.name[: -len(template) - 1])
        return None
