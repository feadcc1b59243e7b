"""An API server in memory that knows nodes, pods, evictions and who owns a label; a fake of ``gpupolicy.cluster.Api``.

What it claims about Kubernetes (conflicts, preconditions, refused evictions) is shown by tests/e2e/test_nodes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from gpupolicy.cluster.api import PatchKind
from gpupolicy.cluster.errors import ConflictError, NotFoundError, TooManyRequestsError

Hook = Callable[[str, str], None]


def live_node(name: str, labels: Mapping[str, str] | None = None, *, gpus: int = 8, ready: bool = True) -> dict:
    """A node as an API server has it; its labels belong to kubectl."""
    amounts = {"cpu": "96", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "Kubelet", "message": "told"}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": dict(labels or {}), "annotations": {}},
        "spec": {},
        "status": {"capacity": dict(amounts), "allocatable": dict(amounts), "conditions": [condition]},
    }


class FakeNodeApi:
    """Nodes and pods that a test changes.

    ``before`` is called ahead of each request with its method and path, and may raise; ``calls`` are those that were
    made; ``refusals`` are what evictions of a pod answer, one after the other, before one is granted; ``stays`` are
    pods that do not end when they are evicted.
    """

    name = "context test"

    def __init__(self, *nodes: dict, pods: tuple[dict, ...] = ()) -> None:
        self.nodes: dict[str, dict] = {}
        self.pods: dict[tuple[str, str], dict] = {}
        self.calls: list[tuple[str, str]] = []
        self.queries: list[Mapping[str, str]] = []
        self.before: Hook = lambda method, path: None
        self.refusals: dict[str, list[TooManyRequestsError]] = {}
        self.stays: set[str] = set()
        self._version = 0
        for node in nodes:
            self.nodes[node["metadata"]["name"]] = deepcopy(node)
            for key in node["metadata"]["labels"]:
                self.own(node["metadata"]["name"], key, "kubectl-label", "Update")
            self.touch(node["metadata"]["name"])
        for pod in pods:
            uid = f"uid-{pod['metadata']['name']}"
            stored = {**deepcopy(pod), "metadata": {**pod["metadata"], "uid": uid}}
            self.pods[pod["metadata"]["namespace"], pod["metadata"]["name"]] = stored

    def touch(self, name: str) -> None:
        """A heartbeat: another resourceVersion, and nothing that matters."""
        self._version += 1
        self.nodes[name]["metadata"]["resourceVersion"] = str(self._version)

    def label(self, name: str, key: str, value: str | None, manager: str = "kubectl-label") -> None:
        """Somebody sets a label by hand, or removes it."""
        self._give_up(name, key)
        if value is None:
            self.nodes[name]["metadata"]["labels"].pop(key, None)
        else:
            self.nodes[name]["metadata"]["labels"][key] = value
            self.own(name, key, manager, "Update")
        self.touch(name)

    def own(self, name: str, key: str, manager: str, operation: str) -> None:
        """Makes a manager an owner of a label."""
        entries = self.nodes[name]["metadata"].setdefault("managedFields", [])
        entry = next((e for e in entries if (e["manager"], e["operation"]) == (manager, operation)), None)
        if entry is None:
            fields = {"f:metadata": {"f:labels": {}}}
            entry = {"manager": manager, "operation": operation, "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}
            entries.append(entry)
        entry["fieldsV1"]["f:metadata"]["f:labels"][f"f:{key}"] = {}

    def labels(self, name: str) -> dict[str, str]:
        """The labels of a node."""
        labels: dict[str, str] = self.nodes[name]["metadata"]["labels"]
        return labels

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, object]:
        """Reads a node or a pod."""
        self._call("GET", path, query)
        return deepcopy(self._find(path))

    def list(
        self, path: str, query: Mapping[str, str] | None = None, *, on_page: object = None
    ) -> Iterator[Mapping[str, object]]:
        """Lists nodes, or pods: all, or those of a node."""
        self._call("LIST", path, query)
        if path == "/api/v1/namespaces":
            return iter(())
        if path == "/api/v1/nodes":
            return iter(deepcopy(list(self.nodes.values())))
        node = (query or {}).get("fieldSelector", "").removeprefix("spec.nodeName=")
        return iter([deepcopy(p) for p in self.pods.values() if node in ("", p["spec"].get("nodeName"))])

    def patch(
        self, path: str, body: object, kind: PatchKind = PatchKind.MERGE, query: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        """Applies or merges a patch to a node."""
        self._call("PATCH", path, query)
        query = query or {}
        node = self._find(path)
        assert isinstance(body, Mapping)
        if body["metadata"].get("resourceVersion") not in (None, node["metadata"]["resourceVersion"]):
            raise ConflictError("the object has been modified", status=409, reason="Conflict")
        name = node["metadata"]["name"]
        kept = deepcopy(node)
        if kind is PatchKind.APPLY:
            self._apply(name, body["metadata"]["labels"], query)
        else:
            _merge(node, {key: value for key, value in body.items() if key != "metadata"})
            _merge(node["metadata"], {k: v for k, v in body["metadata"].items() if k in ("labels", "annotations")})
        changed = deepcopy(self.nodes[name])
        if query.get("dryRun") == "All":
            self.nodes[name] = kept
            return changed
        self.touch(name)
        return deepcopy(self.nodes[name])

    def post(self, path: str, body: object, query: Mapping[str, str] | None = None) -> dict[str, object]:
        """Evicts a pod."""
        self._call("POST", path, query)
        pod = self._find(path.removesuffix("/eviction"))
        name = pod["metadata"]["name"]
        if self.refusals.get(name):
            raise self.refusals[name].pop(0)
        if (query or {}).get("dryRun") != "All" and name not in self.stays:
            del self.pods[pod["metadata"]["namespace"], name]
        return {}

    def _call(self, method: str, path: str, query: Mapping[str, str] | None) -> None:
        self.before(method, path)
        self.calls.append((method, path))
        self.queries.append(query or {})

    def _find(self, path: str) -> dict[str, Any]:
        parts = path.split("/")
        found = (
            self.nodes.get(parts[4])
            if parts[3] == "nodes"
            else self.pods.get((parts[4], parts[6]))  # /api/v1/namespaces/NS/pods/NAME
        )
        if found is None:
            raise NotFoundError(f"{path} not found", status=404, reason="NotFound")
        return found

    def _apply(self, name: str, labels: Mapping[str, str], query: Mapping[str, str]) -> None:
        manager, now = query["fieldManager"], self.labels(name)
        others = {key: [o for o in self._owners(name, key) if o != (manager, "Apply")] for key in labels}
        taken = {key: found for key, found in others.items() if found and now.get(key) != labels[key]}
        if taken and "force" not in query:
            causes = [
                {
                    "reason": "FieldManagerConflict",
                    "message": f'conflict with "{found[0][0]}" using v1',
                    "field": f".metadata.labels.{key}",
                }
                for key, found in taken.items()
            ]
            raise ConflictError("conflicts", status=409, reason="Conflict", answer={"details": {"causes": causes}})
        for key in taken:
            self._give_up(name, key)
        for key in [k for k in now if (manager, "Apply") in self._owners(name, k) and k not in labels]:
            self._give_up(name, key, (manager, "Apply"))
            if not self._owners(name, key):
                del now[key]
        now.update(labels)
        for key in labels:
            self.own(name, key, manager, "Apply")

    def _owners(self, name: str, key: str) -> list[tuple[str, str]]:
        entries = self.nodes[name]["metadata"].get("managedFields", [])
        return [(e["manager"], e["operation"]) for e in entries if f"f:{key}" in _owned(e)]

    def _give_up(self, name: str, key: str, owner: tuple[str, str] | None = None) -> None:
        for entry in self.nodes[name]["metadata"].get("managedFields", []):
            if owner in (None, (entry["manager"], entry["operation"])):
                _owned(entry).pop(f"f:{key}", None)


def budget_refusal(name: str, retry_after: float | None = None) -> TooManyRequestsError:
    """What the API server answers when a PodDisruptionBudget is in the way."""
    message = f"The disruption budget {name} needs 1 healthy pods and has 1 currently"
    answer = {"details": {"causes": [{"reason": "DisruptionBudget", "message": message}]}}
    return TooManyRequestsError(
        "Cannot evict pod", status=429, reason="TooManyRequests", answer=answer, retry_after=retry_after
    )


def _owned(entry: dict) -> dict:
    owned: dict = entry["fieldsV1"]["f:metadata"]["f:labels"]
    return owned


def _merge(target: dict, patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, Mapping):
            _merge(target.setdefault(key, {}), value)
        else:
            target[key] = deepcopy(value)
