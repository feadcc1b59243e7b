"""Manifests of the end-to-end tests in one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GPU = "nvidia.com/gpu"

Manifest = dict[str, Any]


def node(
    name: str,
    gpus: int = 8,
    cpu: int | str = 96,
    memory: str = "512Gi",
    labels: Mapping[str, str] | None = None,
    resource: str = GPU,
) -> Manifest:
    """A node with its status; the API server takes the status only through the subresource."""
    amounts = {"cpu": str(cpu), "memory": memory, "pods": "110", resource: str(gpus)}
    condition = {"type": "Ready", "status": "True", "reason": "Test", "message": "has no kubelet"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [condition]},
    }


def pod_spec(
    gpus: int = 1,
    cpu: int | str = 4,
    memory: str = "16Gi",
    resource: str = GPU,
    scheduler: str | None = None,
    **spec: Any,
) -> Manifest:
    """The spec of a pod with one container; further fields of the spec as keywords (nodeSelector=...)."""
    requests = {"cpu": str(cpu), "memory": memory}
    gpu_amount = {resource: str(gpus)} if gpus else {}
    container = {
        "name": "main",
        "image": "example.test/train:1",
        "resources": {"requests": {**requests, **gpu_amount}, "limits": gpu_amount},
    }
    named = {"schedulerName": scheduler} if scheduler else {}
    return {"containers": [container], "terminationGracePeriodSeconds": 0, **named, **spec}


def pod(name: str, gpus: int = 1, *, labels: Mapping[str, str] | None = None, **spec: Any) -> Manifest:
    """A pod; keywords are those of pod_spec."""
    metadata = {"name": name, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(gpus, **spec)}


def workload(kind: str, name: str, replicas: int, gpus: int = 1, **spec: Any) -> Manifest:
    """A ReplicaSet, Deployment, StatefulSet or Job whose pods are labelled ``app: <name>``.

    Args:
        kind: the workload's kind.
        name: its name.
        replicas: pods at once; of a Job, its parallelism and completions.
        gpus: of each pod.
        spec: keywords of pod_spec.
    """
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(gpus, **spec)}
    if kind == "Job":
        template["spec"].setdefault("restartPolicy", "Never")
        body = {"parallelism": replicas, "completions": replicas, "template": template}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": body}
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    if kind == "StatefulSet":
        body["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def scheduler_config(*profiles: Mapping[str, Any], **top: Any) -> Manifest:
    """A kube-scheduler configuration; further top-level fields as keywords."""
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**header, **top, **({"profiles": [dict(profile) for profile in profiles]} if profiles else {})}


def written(folder: Path, manifest: Mapping[str, Any]) -> Path:
    """A manifest as a file for kubectl."""
    file = folder / "manifest.json"
    file.write_text(json.dumps(manifest))
    return file
