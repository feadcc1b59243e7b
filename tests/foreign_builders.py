"""One-line builders of the foreign objects that tests talk about, and the rules that they break."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpupolicy.errors import Finding, LocatedFinding, Severity
from gpupolicy.linting.foreign import lint_documents
from gpupolicy.linting.foreign.nodes import lint_node
from gpupolicy.linting.foreign.scheduler import lint_scheduler_configuration
from gpupolicy.linting.foreign.webhooks import lint_webhook_configuration
from gpupolicy.loading.documents import read_documents
from gpupolicy.model import Policy

GPU = "nvidia.com/gpu"
CERTIFICATE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
NOT_SYSTEM = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "gpu-system"]}
ASKS_GPU = "object.spec.containers.exists(c, 'nvidia.com/gpu' in c.?resources.?limits.orValue({}))"


def scheduler_configuration(*profiles: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration without leader election, unless it is given."""
    top = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {
        **top,
        "leaderElection": {"leaderElect": False},
        **({"profiles": list(profiles)} if profiles else {}),
        **fields,
    }


def profile(name: str = "training", *, args: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A profile; ``args`` maps plugin names to their arguments."""
    configs = [{"name": plugin, "args": value} for plugin, value in (args or {}).items()]
    return {"schedulerName": name, **({"pluginConfig": configs} if configs else {}), **fields}


def points(**points: Any) -> dict[str, Any]:
    """The plugins of a profile: ``score=("NodeResourcesFit", 5)`` enables with a weight, ``score="-X"`` disables."""
    return {point: _plugin_set(entry) for point, entry in points.items()}


def _plugin_set(entry: Any) -> dict[str, Any]:
    if isinstance(entry, str) and entry.startswith("-"):
        return {"disabled": [{"name": entry[1:]}]}
    name, weight = entry if isinstance(entry, tuple) else (entry, None)
    return {"enabled": [{"name": name} if weight is None else {"name": name, "weight": weight}]}


def packing(kind: str = "MostAllocated", **weights: int) -> dict[str, Any]:
    """Arguments of NodeResourcesFit with a strategy and the weights of cpu, memory and gpu."""
    names = {"gpu": GPU}
    resources = [{"name": names.get(name, name), "weight": weight} for name, weight in weights.items()]
    return {"scoringStrategy": {"type": kind, "resources": resources}}


def hook(**fields: Any) -> dict[str, Any]:
    """A good mutating hook on new pods; a field that is None is left out."""
    good = {
        "name": "pods.gpu.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 3,
        "reinvocationPolicy": "IfNeeded",
        "namespaceSelector": {"matchExpressions": [NOT_SYSTEM]},
        "matchConditions": [{"name": "asks-for-a-gpu", "expression": ASKS_GPU}],
        "rules": [rule()],
        "clientConfig": {
            "service": {"namespace": "gpu-system", "name": "gpu-webhook", "path": "/mutate"},
            "caBundle": CERTIFICATE,
        },
    }
    return {key: value for key, value in {**good, **fields}.items() if value is not None}


def rule(*resources: str, operations: tuple[str, ...] = ("CREATE",), group: str = "", **fields: Any) -> dict[str, Any]:
    """A rule of a hook, for new pods unless told otherwise."""
    base = {"operations": list(operations), "apiGroups": [group], "apiVersions": ["v1"]}
    return {**base, "resources": list(resources or ("pods",)), **fields}


def registration(*hooks: Mapping[str, Any], kind: str = "Mutating", name: str = "gpu-routing") -> dict[str, Any]:
    """A webhook configuration."""
    top = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration"}
    return {**top, "metadata": {"name": name}, "webhooks": list(hooks)}


def gpu_node(
    name: str = "gpu-01", *, labels: Mapping[str, str] | None = None, capacity: object = "8", usable: object = "8"
) -> dict[str, Any]:
    """A Node that is labelled A100 and SLOT-8, unless labels are given."""
    prefix = "my.gpu.cluster"
    own = {f"{prefix}/gpu-type": "A100", f"{prefix}/node-group": "SLOT-8", f"{prefix}/nvidia-gpu-support": "true"}
    status = {"capacity": {"cpu": "96", GPU: capacity}, "allocatable": {"cpu": "96", GPU: usable}}
    metadata = {"name": name, "labels": dict(own if labels is None else labels)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def rules_of(value: Mapping[str, Any], policy: Policy | None = None) -> list[str]:
    """``severity rule`` of everything that is found in an object, in order."""
    return [f"{finding.severity} {finding.rule}" for finding in findings_of(value, policy)]


def messages_of(value: Mapping[str, Any], rule: str, policy: Policy | None = None) -> list[str]:
    """The messages of one rule about an object."""
    return [finding.message for finding in findings_of(value, policy) if finding.rule == rule]


def findings_of(value: Mapping[str, Any], policy: Policy | None = None) -> list[Finding]:
    """Everything that is found in an object but remarks."""
    linters = {"Node": lint_node, "KubeSchedulerConfiguration": lint_scheduler_configuration}
    found = linters.get(str(value["kind"]), lint_webhook_configuration)(value, policy)
    return [finding for finding in found if finding.severity is not Severity.INFO]


def linted(text: str, policy: Policy | None = None) -> list[LocatedFinding]:
    """Everything that is found in a text."""
    return list(lint_documents(read_documents(text, "file.yaml"), policy))
