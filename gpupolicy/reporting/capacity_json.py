"""A CapacityReport as JSON, in the shape that other programs rely on (docs/capacity.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from gpupolicy.errors import locate
from gpupolicy.inventory.figures import Capacity, GPUs, GroupRoom, Outlook, Slots, TypeRoom
from gpupolicy.inventory.misplaced import Misplaced
from gpupolicy.reporting.json_format import JSONValue, finding_to_json, gpus_to_json


def capacity_to_json(capacity: Capacity) -> dict[str, JSONValue]:
    """Returns a CapacityReport."""
    return {
        "kind": "CapacityReport",
        "policy": capacity.policy,
        "readAt": time_to_json(capacity.now),
        "perGPU": {"cpuMilli": capacity.per_gpu.cpu_milli, "memoryBytes": capacity.per_gpu.memory_bytes},
        "groups": [_group(group) for group in capacity.groups],
        "types": [_type(gpu_type) for gpu_type in capacity.types],
        "misplaced": [misplaced_to_json(misplaced) for misplaced in capacity.misplaced],
        "unlabelled": [
            {"node": node.node, "gpuType": node.gpu_type, "gpus": _gpus(node.gpus), "reason": node.reason}
            for node in capacity.unlabelled
        ],
        "uncounted": [
            {
                "node": node.node,
                "gpuType": node.gpu_type,
                "slotGroup": node.slot_group,
                "used": node.used,
                "reason": node.reason,
            }
            for node in capacity.uncounted
        ],
        "pending": [{"size": pending.size, "pods": pending.pods} for pending in capacity.pending],
        "findings": [finding_to_json(locate(finding, None, None, None)) for finding in capacity.findings],
        "whatIf": _outlook(capacity.what_if) if capacity.what_if else None,
        "summary": {"nodes": capacity.nodes, "nodesRead": capacity.nodes_read, "podsRead": capacity.pods_read},
    }


def misplaced_to_json(misplaced: Misplaced) -> dict[str, JSONValue]:
    """Returns a misplaced pod; ``slotGroups`` are those that it belongs to, null: any."""
    pod = misplaced.pod
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "owner": {"kind": pod.owner.kind, "name": pod.owner.name} if pod.owner else None,
        "node": pod.node,
        "gpus": gpus_to_json(pod.gpus),
        "gpuType": misplaced.gpu_type,
        "slotGroup": misplaced.slot_group,
        "slotGroups": None if pod.home.groups is None else list(pod.home.groups),
        "reason": str(misplaced.reason),
        "message": misplaced.message,
    }


def time_to_json(moment: datetime | None) -> str | None:
    """Returns a time as Kubernetes writes it: ``2026-11-29T22:00:00Z``."""
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _group(group: GroupRoom) -> dict[str, JSONValue]:
    return {
        "gpuType": group.gpu_type,
        "slotGroup": group.slot_group,
        "nodes": group.nodes,
        "uncountedNodes": group.uncounted_nodes,
        "gpus": _gpus(group.gpus),
        "slots": _slots(group.slots),
        "overflowSlots": _slots(group.overflow_slots),
        "largestFit": group.largest_fit,
        "stranded": group.stranded,
        "strandedBy": [
            {"reason": str(s.reason), "gpus": s.gpus, "nodeCount": s.node_count, "nodes": list(s.nodes)}
            for s in group.stranded_by
        ],
        "releases": [
            {
                "at": time_to_json(release.at),
                "pods": release.pods,
                "gpus": release.gpus,
                "freeSlots": _free(release.free_slots),
                "overdue": release.overdue,
            }
            for release in group.releases
        ],
        "moreReleases": group.more_releases,
        "gpusWithoutEnd": group.gpus_without_end,
    }


def _type(gpu_type: TypeRoom) -> dict[str, JSONValue]:
    return {
        "gpuType": gpu_type.gpu_type,
        "nodes": gpu_type.nodes,
        "gpus": _gpus(gpu_type.gpus),
        "freeSlots": _free(gpu_type.free_slots),
        "largestFit": gpu_type.largest_fit,
        "stranded": gpu_type.stranded,
    }


def _outlook(outlook: Outlook) -> dict[str, JSONValue]:
    return {
        "changes": list(outlook.changes),
        "nodes": [
            {"node": moved.node, "gpuType": moved.gpu_type, "from": moved.source, "to": moved.target}
            for moved in outlook.nodes
        ],
        "groups": [_group(group) for group in outlook.groups],
        "types": [_type(gpu_type) for gpu_type in outlook.types],
        "misplaced": [misplaced_to_json(misplaced) for misplaced in outlook.misplaced],
        "displaced": list(outlook.displaced),
    }


def _gpus(gpus: GPUs) -> dict[str, JSONValue]:
    return {"total": gpus.total, "used": gpus.used, "free": gpus.free, "overcommitted": gpus.overcommitted}


def _slots(slots: Iterable[Slots]) -> list[dict[str, JSONValue]]:
    return [{"size": s.size, "total": s.total, "used": s.used, "free": s.free, "blocked": s.blocked} for s in slots]


def _free(free: Mapping[int, int]) -> list[dict[str, JSONValue]]:
    return [{"size": size, "free": slots} for size, slots in free.items()]
