"""Nodes in slot groups and pods that run on them, in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import builders
from builders import GPU, GROUP, TYPE

JSON = dict[str, Any]


def seated(
    name: str, group: str | None, *, gpus: object = 8, gpu_type: str | None = "V100", resource: str = GPU, **parts: Any
) -> JSON:
    """A ready node of a type in a slot group with 96 cores, 512Gi and room for 110 pods.

    Further keywords are ``allocatable`` (amounts that differ) and fields of the node's spec.
    """
    labels = {**({TYPE: gpu_type} if gpu_type else {}), **({GROUP: group} if group else {})}
    made: JSON = builders.node(name, labels=labels, resource=resource)
    made["status"]["allocatable"] |= {"pods": "110", resource: gpus, **parts.pop("allocatable", {})}
    made["status"]["capacity"] = dict(made["status"]["allocatable"])
    return made | {"spec": parts}


def running(
    name: str,
    gpus: object,
    node: str | None,
    *,
    namespace: str = "team-a",
    requests: Mapping[str, str] | None = None,
    started: str = "2026-11-29T12:00:00Z",
    phase: str = "Running",
    metadata: Mapping[str, object] | None = None,
    **spec: object,
) -> JSON:
    """A pod on a node (None: it waits); further keywords go into its spec."""
    made: JSON = builders.pod(gpus, **spec)
    made["metadata"] = {"name": name, "namespace": namespace, **(metadata or {})}
    made["spec"] |= {"nodeName": node} if node else {}
    if requests:
        made["spec"]["containers"][0].setdefault("resources", {})["requests"] = dict(requests)
    made["status"] = {"phase": phase, "startTime": started}
    return made
