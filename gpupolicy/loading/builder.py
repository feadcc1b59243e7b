"""A document of the right shape to a Policy. Judges nothing; fills in the defaults of the model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, TypeVar

from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.model import (
    POWER_OF_TWO,
    AccessRule,
    Action,
    Admission,
    CertificateMode,
    Certificates,
    EarlyAction,
    Enforcement,
    EnforcementOverride,
    Exemption,
    FailurePolicy,
    GPUType,
    Labels,
    LeaderElection,
    NamespaceMatch,
    NodeClaim,
    Origin,
    Policy,
    Profile,
    ResourceWeight,
    Routing,
    Scheduler,
    SchedulerMode,
    ScoringStrategy,
    ShapePoint,
    SlotGroup,
    StrategyType,
    TaintEffect,
    Topology,
    TopologyPlacement,
    Webhook,
    WorkloadKind,
)

Node = Mapping[str, Any]  # a mapping of the document, its shape already proven
T = TypeVar("T")

_LABELS = {"prefix": "prefix", "guard": "guard"}
_LEADER_ELECTION = {
    "resourceName": "resource_name",
    "resourceNamespace": "resource_namespace",
    "leaseDurationSeconds": "lease_duration_seconds",
    "renewDeadlineSeconds": "renew_deadline_seconds",
    "retryPeriodSeconds": "retry_period_seconds",
}
_WEBHOOK = {
    "namespace": "namespace",
    "name": "name",
    "image": "image",
    "replicas": "replicas",
    "timeoutSeconds": "timeout_seconds",
}


def build_policy(document: Node, origin: Origin) -> Policy:
    """Builds a policy.

    Args:
        document: a value that fits the schema of the policy format.
        origin: where it was read.

    Returns:
        The policy, complete with the defaults of what the document leaves out.
    """
    spec: Node = document["spec"]
    gpu_types = tuple(_gpu_type(node) for node in spec["gpuTypes"])
    return Policy(
        name=document["metadata"]["name"],
        gpu_types=gpu_types,
        slot_groups=tuple(_slot_group(node) for node in spec["slotGroups"]),
        labels=Labels(**_taken(spec.get("labels", {}), _LABELS)),
        scheduler=_scheduler(spec.get("scheduler", {}), gpu_types),
        admission=_admission(spec.get("admission", {})),
        webhook=_webhook(spec.get("webhook", {})),
        workloads=tuple(_workload_kind(node) for node in spec.get("workloads", ())),
        origin=origin,
        **_taken(spec, {"kubernetesVersion": "kubernetes_version"}),
    )


def _taken(node: Node, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns keyword arguments for those keys that a mapping has."""
    return {attribute: node[key] for key, attribute in names.items() if key in node}


def _gpu_type(node: Node) -> GPUType:
    return GPUType(
        name=node["name"],
        gpus_per_node=int(node["gpusPerNode"]),
        aliases=tuple(node.get("aliases", ())),
        node_selector=_selector(node.get("nodeSelector")),
        request_sizes=_sizes(node.get("requestSizes")),
        device_classes=tuple(node.get("deviceClasses", ())),
        **_taken(node, {"resourceName": "resource_name"}),
    )


def _slot_group(node: Node) -> SlotGroup:
    return SlotGroup(
        name=node["name"],
        sizes=tuple(node["sizes"]),
        nodes=tuple(_node_claim(claim) for claim in node.get("nodes", ())),
        overflow=tuple(node.get("overflow", ())),
        scheduler_name=node.get("schedulerName"),
        taint=TaintEffect(node["taint"]) if "taint" in node else None,
    )


def _node_claim(node: Node) -> NodeClaim:
    return NodeClaim(
        gpu_type=node["gpuType"],
        names=tuple(node.get("names", ())),
        node_selector=_selector(node.get("nodeSelector")),
        count=node.get("count"),
        weight=node.get("weight"),
        topology=_topology(node["topology"]) if "topology" in node else None,
    )


def _topology(node: Node) -> Topology:
    return Topology(placement=TopologyPlacement(node["placement"]), **_taken(node, {"key": "key"}))


def _scheduler(node: Node, gpu_types: tuple[GPUType, ...]) -> Scheduler:
    election = node.get("leaderElection")
    return Scheduler(
        mode=SchedulerMode(node.get("mode", SchedulerMode.PROFILES)),
        profiles=tuple(_profile(profile, gpu_types) for profile in node.get("profiles", ())),
        leader_election=LeaderElection(**_taken(election, _LEADER_ELECTION)) if election is not None else None,
        other_schedulers=tuple(node.get("otherSchedulers", ())),
    )


def _profile(node: Node, gpu_types: tuple[GPUType, ...]) -> Profile:
    strategy: Node = node.get("scoringStrategy", {})
    weights = [ResourceWeight(name=r["name"], weight=r.get("weight", 1)) for r in strategy.get("resources", ())]
    return Profile(
        scheduler_name=node["schedulerName"],
        scoring_strategy=ScoringStrategy(
            type=StrategyType(strategy.get("type", StrategyType.MOST_ALLOCATED)),
            resources=tuple(weights) or default_weights(gpu_types),
            shape=tuple(ShapePoint(utilization=p["utilization"], score=p["score"]) for p in strategy.get("shape", ())),
        ),
    )


def default_weights(gpu_types: tuple[GPUType, ...]) -> tuple[ResourceWeight, ...]:
    """Returns the weights of a profile that names none: 1 for cpu and memory, 100 for every counted resource."""
    counted = dict.fromkeys(gpu_type.resource_name for gpu_type in gpu_types)
    return (
        ResourceWeight(name="cpu", weight=1),
        ResourceWeight(name="memory", weight=1),
        *(ResourceWeight(name=name, weight=100) for name in counted),
    )


def _admission(node: Node) -> Admission:
    sizes = node.get("requestSizes", POWER_OF_TWO)
    return Admission(
        request_sizes=None if sizes == POWER_OF_TWO else _sizes(sizes),
        enforcement=_enforcement(node.get("enforcement", Action.DENY)),
        routing=Routing(node.get("routing", Routing.REQUIRED)),
        exemptions=tuple(_exemption(entry) for entry in node.get("exemptions", ())),
        access=tuple(_access(entry) for entry in node.get("access", ())),
        workloads=EarlyAction(node.get("workloads", EarlyAction.WARN)),
    )


def _workload_kind(node: Node) -> WorkloadKind:
    return WorkloadKind(
        group=node["group"],
        kind=node["kind"],
        templates=tuple(node["templates"]),
        resource=node.get("resource"),
        owner_kind=node.get("ownerKind"),
    )


def _enforcement(node: str | Node) -> Enforcement:
    if isinstance(node, str):
        return Enforcement(default=Action(node))
    overrides = tuple(
        EnforcementOverride(
            action=Action(override["action"]), rules=tuple(override.get("rules", ())), namespaces=_namespaces(override)
        )
        for override in node.get("overrides", ())
    )
    return Enforcement(default=Action(node.get("default", Action.DENY)), overrides=overrides)


def _exemption(node: Node) -> Exemption:
    return Exemption(
        reason=node["reason"],
        namespaces=_namespaces(node),
        owner_kinds=tuple(node.get("ownerKinds", ())),
        service_accounts=tuple(node.get("serviceAccounts", ())),
        pod_selector=_selector(node.get("podSelector")),
        owner=node.get("owner"),
        expires=date.fromisoformat(node["expires"]) if "expires" in node else None,
    )


def _access(node: Node) -> AccessRule:
    return AccessRule(
        namespaces=_namespaces(node),
        gpu_types=_names(node.get("gpuTypes")),
        slot_groups=_names(node.get("slotGroups")),
    )


def _webhook(node: Node) -> Webhook:
    certificates: Node = node.get("certificates", {})
    return Webhook(
        failure_policy=FailurePolicy(node.get("failurePolicy", FailurePolicy.FAIL)),
        certificates=Certificates(
            mode=CertificateMode(certificates.get("mode", CertificateMode.SECRET)),
            **_taken(certificates, {"secretName": "secret_name", "issuer": "issuer"}),
        ),
        **_taken(node, _WEBHOOK),
    )


def _namespaces(node: Node) -> NamespaceMatch:
    return NamespaceMatch(names=tuple(node.get("namespaces", ())), selector=_selector(node.get("namespaceSelector")))


def _selector(node: Node | None) -> LabelSelector | None:
    if node is None:
        return None
    expressions = tuple(
        Requirement(key=e["key"], operator=e["operator"], values=tuple(e.get("values", ())))
        for e in node.get("matchExpressions", ())
    )
    return LabelSelector(match_labels=dict(node.get("matchLabels", {})), match_expressions=expressions)


def _sizes(node: list[int] | None) -> tuple[int, ...] | None:
    return tuple(node) if node is not None else None


def _names(node: list[str] | None) -> tuple[str, ...] | None:
    return tuple(node) if node is not None else None
