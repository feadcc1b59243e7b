from __future__ import annotations

from datetime import date
from pathlib import Path

from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.loading import read_file
from gpupolicy.loading.builder import build_policy
from gpupolicy.model import (
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

POLICIES = Path(__file__).parents[2] / "data" / "policies"


def built(name: str) -> Policy:
    """The policy of a file of the test data, unjudged."""
    (document,) = read_file(POLICIES / name)
    assert isinstance(document.value, dict)
    return build_policy(document.value, Origin())


def having(**labels: str) -> LabelSelector:
    """A selector by labels."""
    return LabelSelector(match_labels=labels)


def test_every_field_finds_its_place_in_the_model() -> None:
    selector = LabelSelector(
        match_labels={"example.com/gpu": "volta"},
        match_expressions=(
            Requirement(key="example.com/mem", operator="Gt", values=("16",)),
            Requirement(key="example.com/bad", operator="DoesNotExist"),
        ),
    )
    claim = NodeClaim(
        gpu_type="V100",
        names=("gpu-0*",),
        node_selector=having(a="b"),
        count=2,
        weight=3,
        topology=Topology(placement=TopologyPlacement.SPREAD, key="example.com/rack"),
    )
    strategy = ScoringStrategy(
        type=StrategyType.REQUESTED_TO_CAPACITY_RATIO,
        resources=(ResourceWeight(name="example.com/gpu", weight=50), ResourceWeight(name="cpu", weight=1)),
        shape=(ShapePoint(utilization=0, score=0), ShapePoint(utilization=100, score=10)),
    )
    override = EnforcementOverride(
        action=Action.AUDIT,
        rules=("node-name-set",),
        namespaces=NamespaceMatch(names=("lab",), selector=having(c="d")),
    )
    exemption = Exemption(
        namespaces=NamespaceMatch(names=("kube-system",), selector=having(e="f")),
        owner_kinds=("DaemonSet",),
        service_accounts=("ci/robot",),
        pod_selector=having(g="h"),
        reason="tests",
        owner="us",
        expires=date(2027, 1, 31),
    )

    assert built("whole.yaml") == Policy(
        name="whole",
        kubernetes_version="1.36",
        labels=Labels(prefix="gpu.example.com", guard=False),
        gpu_types=(
            GPUType(
                name="V100",
                aliases=("volta",),
                resource_name="example.com/gpu",
                gpus_per_node=8,
                node_selector=selector,
                request_sizes=(8, 1),
                device_classes=("gpu.example.com",),
            ),
        ),
        slot_groups=(
            SlotGroup(
                name="SMALL",
                sizes=(1,),
                nodes=(claim,),
                overflow=("LARGE",),
                scheduler_name="gpu-packing",
                taint=TaintEffect.NO_EXECUTE,
            ),
            SlotGroup(name="LARGE", sizes=(8,)),
        ),
        scheduler=Scheduler(
            mode=SchedulerMode.SECOND,
            profiles=(Profile(scheduler_name="gpu-packing", scoring_strategy=strategy),),
            leader_election=LeaderElection(
                resource_name="lease",
                resource_namespace="leases",
                lease_duration_seconds=30,
                renew_deadline_seconds=20,
                retry_period_seconds=4,
            ),
            other_schedulers=("volcano",),
        ),
        admission=Admission(
            request_sizes=(1, 8),
            enforcement=Enforcement(default=Action.WARN, overrides=(override,)),
            routing=Routing.PREFERRED,
            exemptions=(exemption,),
            access=(
                AccessRule(
                    namespaces=NamespaceMatch(names=("a-*",), selector=having(i="j")),
                    gpu_types=("V100",),
                    slot_groups=(),
                ),
            ),
            workloads=EarlyAction.DENY,
        ),
        webhook=Webhook(
            namespace="hooks",
            name="hook",
            image="example/hook:1",
            replicas=3,
            failure_policy=FailurePolicy.IGNORE,
            timeout_seconds=5,
            certificates=Certificates(
                mode=CertificateMode.CERT_MANAGER, secret_name="tls", issuer="ClusterIssuer/internal"
            ),
        ),
        workloads=(
            WorkloadKind(
                group="ml.example.org",
                kind="Sweep",
                templates=("spec.trials[*].pod",),
                resource="sweeps",
                owner_kind="Job",
            ),
        ),
    )


def test_what_is_left_out_has_the_defaults_of_the_model() -> None:
    assert built("least.yaml") == Policy(
        name="least",
        gpu_types=(GPUType(name="V100", gpus_per_node=8),),
        slot_groups=(SlotGroup(name="ALL", sizes=(1, 2, 4, 8)),),
    )


def test_a_profile_without_weights_packs_every_counted_resource() -> None:
    document = {
        "metadata": {"name": "p"},
        "spec": {
            "gpuTypes": [
                {"name": "A", "gpusPerNode": 8},
                {"name": "B", "gpusPerNode": 8, "resourceName": "amd.com/gpu"},
                {"name": "C", "gpusPerNode": 4},
            ],
            "slotGroups": [{"name": "S", "sizes": [1]}],
            "scheduler": {"profiles": [{"schedulerName": "x"}]},
        },
    }

    (profile,) = build_policy(document, Origin()).scheduler.profiles

    assert profile.scoring_strategy == ScoringStrategy(
        type=StrategyType.MOST_ALLOCATED,
        resources=(
            ResourceWeight(name="cpu", weight=1),
            ResourceWeight(name="memory", weight=1),
            ResourceWeight(name="nvidia.com/gpu", weight=100),
            ResourceWeight(name="amd.com/gpu", weight=100),
        ),
    )
