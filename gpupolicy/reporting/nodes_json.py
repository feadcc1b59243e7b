"""Plans for nodes, their drift and what an apply did, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpupolicy.reporting.json_format import finding_to_json
from gpupolicy.rollout.costs import group_by_owner
from gpupolicy.rollout.saved import KIND

if TYPE_CHECKING:
    from gpupolicy.cluster.progress import Progress
    from gpupolicy.rollout.drift import NodeFinding
    from gpupolicy.rollout.plan import Conflict, GroupSlots, NodeChange, NodePlan, Resident, Seen

JSONMap = dict[str, object]


def plan_to_json(plan: NodePlan, source: str, drift: Iterable[NodeFinding] = ()) -> JSONMap:
    """Returns a NodePlan: what is to change, what that costs, and what has drifted (of ``nodes status``)."""
    residents = [resident for _, resident in plan.residents]
    listed = tuple(drift)
    return {
        "kind": KIND,
        "plan": {
            "policy": plan.policy,
            "digest": plan.digest,
            "fieldManager": plan.manager,
            "source": source,
            "nodes": plan.nodes,
        },
        "changes": [_change(change) for change in plan.changes],
        "drift": [
            {"node": finding.node, **finding_to_json(finding), "isDrift": finding.is_drift} for finding in listed
        ],
        "skipped": [{"node": skipped.node, "reason": skipped.reason} for skipped in plan.skipped],
        "unfinished": list(plan.unfinished),
        "shortages": [
            {"gpuType": each.gpu_type, "slotGroup": each.slot_group, "message": each.message} for each in plan.shortages
        ],
        "unserved": [{**_resident(each.pod), "problem": each.problem} for each in plan.unserved],
        "slots": [_group(group) for group in plan.slots],
        "cost": {
            "nodes": sum(bool(change.residents) for change in plan.changes),
            "pods": len(residents),
            "gpus": sum(resident.gpus for resident in residents),
            "owners": [
                {"kind": c.kind, "namespace": c.namespace, "name": c.name, "pods": c.pods, "gpus": c.gpus}
                for c in group_by_owner(residents)
            ],
        },
        "summary": {"changes": len(plan.changes), "drift": sum(finding.is_drift for finding in listed)},
    }


def apply_to_json(plan: NodePlan, progress: Progress, *, dry_run: bool) -> JSONMap:
    """Returns a NodeApply: what became of each node, and what stopped it."""
    return {
        "kind": "NodeApply",
        "policy": plan.policy,
        "dryRun": dry_run,
        "results": [{"node": r.node, "outcome": str(r.outcome), "message": r.told} for r in progress.results],
        "notReached": list(progress.not_reached(plan)),
        "evicted": [{"namespace": pod.namespace, "name": pod.name} for pod in progress.evicted],
        "cordoned": list(progress.cordoned),
        "stopped": progress.stopped,
    }


def _change(change: NodeChange) -> JSONMap:
    taints: JSONMap = {}
    if change.set_taints:
        taints["setTaints"] = [taint.to_json() for taint in change.set_taints]
    if change.remove_taints:
        taints["removeTaints"] = [taint.to_json() for taint in change.remove_taints]
    return {
        "node": change.node,
        "gpuType": change.gpu_type,
        "slotGroup": {"from": change.before, "to": change.after},
        "set": dict(sorted(change.set.items())),
        "remove": list(change.remove),
        **taints,
        "reason": change.reason,
        "pods": [_resident(resident) for resident in change.residents],
        "conflicts": [_conflict(conflict) for conflict in change.conflicts],
        "seen": _seen(change.seen),
    }


def _resident(resident: Resident) -> JSONMap:
    owner = None if resident.owner is None else {"kind": resident.owner[0], "name": resident.owner[1]}
    return {"namespace": resident.namespace, "name": resident.name, "gpus": resident.gpus, "owner": owner}


def _conflict(conflict: Conflict) -> JSONMap:
    owner = conflict.owner
    return {
        "field": conflict.what,
        "value": conflict.value or None,
        "manager": owner.manager,
        "operation": owner.operation,
        "subresource": owner.subresource or None,
        "time": owner.time or None,
    }


def _seen(seen: Seen) -> JSONMap:
    return {
        "resourceVersion": seen.resource_version,
        "uid": seen.uid,
        "labels": dict(seen.labels),
        "taints": list(seen.taints),
        "unschedulable": seen.is_unschedulable,
        "allocatable": seen.allocatable,
    }


def _group(group: GroupSlots) -> JSONMap:
    return {
        "gpuType": group.gpu_type,
        "slotGroup": group.slot_group,
        "nodes": {"before": group.nodes_before, "after": group.nodes_after},
        "slots": [{"size": s.size, "before": s.before, "after": s.after} for s in group.slots],
    }
