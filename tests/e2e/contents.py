"""What is in the cluster: nodes, namespaces, pods and events, put there and read by the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from e2e import objects
from e2e.identities import ADMIN
from e2e.processes import wait_for
from e2e.rest import Api, Object

_WORKLOADS = (
    "/apis/apps/v1/namespaces/{}/deployments",
    "/apis/apps/v1/namespaces/{}/statefulsets",
    "/apis/apps/v1/namespaces/{}/daemonsets",
    "/apis/batch/v1/namespaces/{}/cronjobs",
    "/apis/batch/v1/namespaces/{}/jobs",
    "/apis/apps/v1/namespaces/{}/replicasets",
    "/api/v1/namespaces/{}/replicationcontrollers",
)


# What a test may leave outside its namespace. Webhooks and policies come first: they could refuse the rest.
_CLUSTER_WIDE = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/api/v1/nodes",
)


class ClusterContents:
    """The part of ControlPlane that works on objects; all of it is done as the administrator unless told otherwise."""

    def __init__(self, api: Callable[[str], Api]) -> None:
        self._api = api

    def apply(
        self,
        manifests: Object | Iterable[Object],
        dry_run: bool = False,
        field_manager: str = "gpupolicy-e2e",
        strict: bool = True,
        *,
        namespace: str | None = None,
        user: str = ADMIN,
    ) -> list[Object]:
        """Apply objects in their order (server-side apply), as ``kubectl apply --server-side`` does.

        Args:
            manifests: one object or many.
            dry_run: let the API server judge them and keep nothing.
            field_manager: who owns the fields.
            strict: refuse unknown and repeated fields.
            namespace: for objects that name none.
            user: who applies.

        Returns:
            The objects as the API server made them.

        Raises:
            RefusedError: one was refused; those before it are in the cluster.
        """
        several = [manifests] if isinstance(manifests, Mapping) else manifests
        api = self._api(user)
        return [
            api.apply(each, namespace=namespace, dry_run=dry_run, field_manager=field_manager, strict=strict)
            for each in several
        ]

    def create(
        self, manifest: Object, namespace: str | None = None, *, dry_run: bool = False, user: str = ADMIN
    ) -> Object:
        """Create one object that has to be accepted; to see a refusal use ``api(user).post(...)``."""
        return self._api(user).create(manifest, namespace=namespace, dry_run=dry_run)

    def add_node(
        self,
        name: str,
        gpus: int = 8,
        cpu: int | str = 96,
        memory: str = "512Gi",
        labels: Mapping[str, str] | None = None,
        resource: str = objects.GPU,
    ) -> Object:
        """Add a node that is ready; nothing marks it otherwise later, because the node controller is off."""
        manifest = objects.node(name, gpus, cpu, memory, labels, resource)
        self.create({key: value for key, value in manifest.items() if key != "status"})
        answer = self._api(ADMIN).patch(manifest, {"status": manifest["status"]}, subresource="status")
        assert answer.accepted, answer.message
        return answer.body

    def add_nodes(self, count: int, *, prefix: str = "gpu", **spec: object) -> list[str]:
        """Add equal nodes; keywords are those of add_node. Returns their names."""
        names = [f"{prefix}-{number:03}" for number in range(1, count + 1)]
        for name in names:
            self.add_node(name, **spec)  # type: ignore[arg-type]  # keywords are passed on
        return names

    def pods(self, namespace: str, selector: str = "") -> list[Object]:
        """The pods of a namespace."""
        return self._api(ADMIN).list(f"/api/v1/namespaces/{namespace}/pods", selector=selector)

    def pod(self, namespace: str, name: str) -> Object:
        """One pod as it is now."""
        answer = self._api(ADMIN).get(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}, namespace=namespace
        )
        assert answer.accepted, answer.message
        return answer.body

    def bound_nodes(self, namespace: str, selector: str = "") -> dict[str, str]:
        """The node of every pod that has one: pod name -> node name."""
        pods = self.pods(namespace, selector)
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}

    def pods_per_node(self, namespace: str, selector: str = "") -> list[int]:
        """How many pods each used node has, the fullest first: [5] is packed, [1, 1, 1, 1, 1] is spread."""
        return sorted(Counter(self.bound_nodes(namespace, selector).values()).values(), reverse=True)

    def unschedulable_message(self, namespace: str, name: str) -> str:
        """Why the scheduler left a pod pending, in its own words; nothing before it said so."""
        conditions = self.pod(namespace, name)["status"].get("conditions", [])
        told = (each for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False")
        return next((str(each.get("message", "")) for each in told), "")

    def events(self, namespace: str, *, about: str | None = None) -> list[Object]:
        """The events of a namespace, or of the object of this name in it."""
        events = self._api(ADMIN).list(f"/api/v1/namespaces/{namespace}/events")
        return [event for event in events if about in (None, event["involvedObject"].get("name"))]

    def wait_for_events(self, namespace: str, *, about: str) -> list[Object]:
        """The events about an object, once there are any: they are written after the fact."""
        return wait_for(lambda: self.events(namespace, about=about), message=f"an event about {about}")

    def settled(self, namespace: str) -> bool:
        """Whether the scheduler has said something of every pod: bound, or why not."""
        return all(
            pod["spec"].get("nodeName")
            or any(each["type"] == "PodScheduled" for each in pod["status"].get("conditions", []))
            for pod in self.pods(namespace)
        )

    def lease_holder(self, namespace: str, name: str) -> str:
        """Who holds a lease, such as the one that leaders are elected by."""
        manifest = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
        answer = self._api(ADMIN).get(manifest, namespace=namespace)
        assert answer.accepted, answer.message
        return str(answer.body["spec"]["holderIdentity"])

    def webhook_calls(self, *names: str) -> tuple[int, ...]:
        """How often the API server has asked the webhooks of these names (``webhooks[].name``), dry runs included."""
        lines = self._api(ADMIN).request("GET", "/metrics").message.splitlines()
        counts = [line for line in lines if line.startswith("apiserver_admission_webhook_request_total{")]
        return tuple(sum(int(float(line.split()[-1])) for line in counts if f'name="{name}"' in line) for name in names)

    def free_gpus(self, resource: str = objects.GPU) -> dict[str, int]:
        """The GPUs of every node that no pod of any namespace asks for (one container a pod, as objects.pod makes)."""
        api = self._api(ADMIN)
        free = {node["metadata"]["name"]: _amount(node["status"], resource) for node in api.list("/api/v1/nodes")}
        for pod in api.list("/api/v1/pods"):
            if (name := pod["spec"].get("nodeName")) in free:
                for container in pod["spec"]["containers"]:
                    free[name] -= int(container["resources"].get("requests", {}).get(resource, "0"))
        return free

    def act_as_kubelets(self, namespace: str | None = None) -> None:
        """Do once what kubelets would: report bound pods as running and ready, end those that are being deleted.

        A StatefulSet waits for the first before it makes its next pod, ``kubectl delete`` for the second.
        """
        api = self._api(ADMIN)
        for pod in api.list(f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"):
            if not pod["spec"].get("nodeName"):
                continue
            manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"]}
            if pod["metadata"].get("deletionTimestamp"):
                api.delete(manifest, grace_seconds=0)
            elif pod["status"].get("phase") == "Pending":
                status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                api.patch(manifest, {"status": status}, "strategic", subresource="status")

    def add_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> str:
        """Add a namespace; returns its name."""
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}})
        return name

    def delete_all_pods(self, namespace: str) -> None:
        """Remove the workloads and pods of a namespace at once, and wait until they are gone."""
        for path in _WORKLOADS:
            self._delete_collection(path.format(namespace))

        def are_gone() -> bool:
            self._delete_collection(f"/api/v1/namespaces/{namespace}/pods")  # again: a controller may have been quicker
            return not self.pods(namespace)

        wait_for(are_gone, message=lambda: f"no pod left in {namespace}, but {self.bound_nodes(namespace)}")

    def delete_namespace(self, name: str) -> None:
        """Empty a namespace and ask for its end; what is in it is gone on return, the name a little later."""
        self.delete_all_pods(name)
        self._api(ADMIN).delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def wait_until_ended(self, *namespaces: str) -> None:
        """Wait for those of these namespaces that are ending, which takes each some 5 s: before they are made again."""

        def ending() -> list[str]:
            there = self._api(ADMIN).list("/api/v1/namespaces")
            names = [each["metadata"]["name"] for each in there if each["metadata"].get("deletionTimestamp")]
            return [name for name in names if name in namespaces]

        wait_for(lambda: not ending(), timeout=90, message=lambda: f"an end of {ending()}")

    def cluster_wide_objects(self) -> list[str]:
        """The paths of nodes, webhook configurations and admission policies, in the order in which to delete them."""
        api = self._api(ADMIN)
        return [f"{path}/{item['metadata']['name']}" for path in _CLUSTER_WIDE for item in api.list(path)]

    def delete_cluster_wide_objects(self, but: Collection[str] = ()) -> None:
        """Delete those that are not among some paths: what has come since they were listed."""
        for path in self.cluster_wide_objects():
            if path not in but:
                answer = self._api(ADMIN).request("DELETE", path)
                assert answer.accepted or answer.status == 404, answer.message

    def _delete_collection(self, path: str) -> None:
        """Delete every object of a list, without grace: there is no kubelet to end a pod."""
        body = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        answer = self._api(ADMIN).request("DELETE", path, body)
        assert answer.accepted, answer.message


def _amount(status: Object, resource: str) -> int:
    return int(status.get("allocatable", {}).get(resource, "0"))
