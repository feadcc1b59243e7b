"""What all compiled workloads share: their namespace, and the labels by which they are known."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.compiler.manifest import Manifest
from gpupolicy.compiler.templating import fill
from gpupolicy.model import Policy

NAME_LABEL = "app.kubernetes.io/name"
INSTANCE_LABEL = "app.kubernetes.io/instance"


def compile_namespace(namespace: str) -> Iterator[Manifest]:
    """Yields the namespace and its quota for critical pods; nothing for those that Kubernetes makes itself."""
    if namespace == "default" or namespace.startswith("kube-"):
        return
    for document in fill("namespace", {"namespace": namespace}):
        yield Manifest(document=document, path=f"{str(document['kind']).lower()}.yaml")


def selector_of(policy: Policy, name: str) -> dict[str, str]:
    """Returns the labels by which a Deployment and what belongs to it find their pods."""
    return {NAME_LABEL: name, INSTANCE_LABEL: policy.name}


def labels_of(policy: Policy, name: str) -> dict[str, str]:
    """Returns the labels of everything that belongs to one compiled part."""
    return {
        **selector_of(policy, name),
        "app.kubernetes.io/part-of": "gpupolicy",
        "app.kubernetes.io/managed-by": "gpupolicy",
    }
