"""Resource claims (DRA) and pods that name them, in one line each."""

from __future__ import annotations

from typing import Any

from builders import gpu_type, group, policy
from fleet_builders import running

from gpupolicy.model import Policy

JSON = dict[str, Any]

CLASS = "gpu.example.com"
CLASS_NAME = f"deviceclass.resource.kubernetes.io/{CLASS}"


def claimable(*groups: Any) -> Policy:
    """A policy of one type whose GPUs are had through the class, too; groups SLOT-1, -2, -4, -8 unless given."""
    own = groups or tuple(group(f"SLOT-{size}", size, types=("V100",)) for size in (1, 2, 4, 8))
    return policy(*own, types=(gpu_type("V100", device_classes=(CLASS,)),))


def claim(count: int, name: str = "gpus", *, kind: str = "ResourceClaim", namespace: str = "team-a") -> JSON:
    """A claim, or a template of claims, of so many devices of the class."""
    request = {"name": "r", "exactly": {"deviceClassName": CLASS, "count": count}}
    spec: JSON = {"devices": {"requests": [request]}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def template(count: int, name: str = "gpus") -> JSON:
    """A template of claims."""
    return claim(count, name, kind="ResourceClaimTemplate")


def claiming(name: str, node: str | None, claims: str = "gpus", *, by: str = "resourceClaimName", **parts: Any) -> JSON:
    """A pod whose GPUs are those of a claim; ``by`` may be resourceClaimTemplateName."""
    return running(name, None, node, resourceClaims=[{"name": "gpus", by: claims}], **parts)
