"""Pods as a cluster has them: defaulted, bound, owned, changed by others."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from builders import GROUP, TYPE, described, node, patched, pod, policy

from gpupolicy.admission import admit
from gpupolicy.auditing import Auditor, Surroundings
from gpupolicy.auditing.report import AuditedOwner, AuditReport
from gpupolicy.inventory.seats import read_seats

POLICY = policy()
DEFAULTED = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
    "serviceAccountName": "default",
    "tolerations": [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
    ],
    "volumes": [{"name": "kube-api-access-x7k2p", "projected": {"sources": []}}],
}


def running(document: Mapping[str, Any], name: str = "a", on: str = "gpu-1", **metadata: Any) -> dict[str, Any]:
    """The pod as it is later: with what the API server and the scheduler add."""
    spec = {"schedulerName": "default-scheduler", **DEFAULTED, **document["spec"]}
    if on:
        spec["nodeName"] = on
    named = described(deepcopy(dict(document)), name=name, uid="u-1", **metadata)
    return {**named, "spec": spec, "status": {"phase": "Running" if on else "Pending"}}


def routed(document: dict[str, Any], by: Any = POLICY) -> dict[str, Any]:
    """The pod as the webhook leaves it."""
    return patched(document, admit(by, document).patch)


def of_deployment(document: dict[str, Any], deployment: str = "serve", template: str = "6d5f") -> dict[str, Any]:
    """The pod of a Deployment."""
    owner = ("apps/v1", "ReplicaSet", f"{deployment}-{template}")
    return owned_by(document, *owner, labels={"app": deployment, "pod-template-hash": template})


def owned_by(document: dict[str, Any], api_version: str, kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    """The pod of a controller."""
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": "u-2", "controller": True}
    return described(document, ownerReferences=[owner], **metadata)


def in_group(name: str, group: str | None, gpu_type: str = "V100") -> dict[str, Any]:
    """A node of a slot group."""
    return node(name, labels={TYPE: gpu_type, **({GROUP: group} if group else {})})


NODES = [in_group("gpu-1", "SLOT-1"), in_group("gpu-2", "SLOT-2"), in_group("gpu-4", "SLOT-4"), in_group("gpu-0", None)]


def audited(*pods: Any, by: Any = POLICY, nodes: Any = NODES, workloads: Any = (), **around: Any) -> AuditReport:
    """What an audit finds."""
    auditor = Auditor(by, Surroundings(seats=read_seats(by, nodes), **around))
    for workload in workloads:
        auditor.add_workload(workload)
    for each in pods:
        auditor.add_pod(each)
    return auditor.finish()


def only(report: AuditReport) -> AuditedOwner:
    """The one owner of a report."""
    (owner,) = report.owners
    return owner


def rules(owner: AuditedOwner) -> list[str]:
    """The rules of what was found."""
    return [finding.rule for finding in owner.findings]


def three(**spec: Any) -> dict[str, Any]:
    """A pod of three GPUs."""
    return pod(3, **spec)
