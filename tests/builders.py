"""One-line builders of the objects that tests talk about."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

from gpupolicy.model import (
    AccessRule,
    Action,
    Admission,
    Enforcement,
    EnforcementOverride,
    Exemption,
    GPUType,
    NamespaceMatch,
    NodeClaim,
    Policy,
    Profile,
    ResourceWeight,
    Scheduler,
    ScoringStrategy,
    SlotGroup,
    TaintEffect,
)
from gpupolicy.patch import apply_patch

GROUP = "my.gpu.cluster/node-group"
TYPE = "my.gpu.cluster/gpu-type"
GPU = "nvidia.com/gpu"


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ROUTED_TO = "gpupolicy.dev/routed-to"


def gpu_type(name: str, gpus: int = 8, **fields: object) -> GPUType:
    """A GPU type whose nodes have 8 GPUs unless said otherwise."""
    return GPUType(name=name, gpus_per_node=gpus, **fields)  # type: ignore[arg-type]


def group(
    name: str,
    *sizes: int,
    types: tuple[str, ...] = ("V100", "A100"),
    overflow: tuple[str, ...] = (),
    scheduler_name: str | None = None,
    taint: str | None = None,
) -> SlotGroup:
    """A slot group with an equal share of each type's nodes."""
    claims = tuple(NodeClaim(gpu_type=name, weight=1) for name in types)
    effect = TaintEffect(taint) if taint else None
    return SlotGroup(
        name=name, sizes=sizes, nodes=claims, overflow=overflow, scheduler_name=scheduler_name, taint=effect
    )


def policy(
    *groups: SlotGroup, types: tuple[GPUType, ...] = (), admission: Admission | None = None, **fields: object
) -> Policy:
    """A policy of two types with 8 GPUs and the groups SLOT-1, -2, -4, -8, unless others are given."""
    gpu_types = types or (
        GPUType(name="V100", gpus_per_node=8, aliases=("v100",)),
        GPUType(name="A100", gpus_per_node=8),
    )
    parts = {
        "scheduler": Scheduler(profiles=(profile("gpu-binpack"),), other_schedulers=("volcano",)),
        "admission": admission or Admission(exemptions=(exemption("kube-system"),)),
        **fields,
    }
    return Policy(
        name="test",
        gpu_types=gpu_types,
        slot_groups=groups or tuple(group(f"SLOT-{size}", size) for size in (1, 2, 4, 8)),
        **parts,  # type: ignore[arg-type]
    )


def profile(scheduler_name: str) -> Profile:
    """A scheduler profile that packs GPUs."""
    strategy = ScoringStrategy(resources=(ResourceWeight(name=GPU, weight=100),))
    return Profile(scheduler_name=scheduler_name, scoring_strategy=strategy)


def exemption(*namespaces: str, **fields: object) -> Exemption:
    """An exemption of namespaces."""
    return Exemption(namespaces=NamespaceMatch(names=namespaces), reason="part of the cluster", **fields)  # type: ignore[arg-type]


def access(*namespaces: str, types: tuple[str, ...] | None = None, groups: tuple[str, ...] | None = None) -> AccessRule:
    """What namespaces may use; all where nothing is named."""
    return AccessRule(namespaces=NamespaceMatch(names=namespaces), gpu_types=types, slot_groups=groups)


def override(action: str, *rules: str, namespaces: tuple[str, ...] = ()) -> EnforcementOverride:
    """Another action for some rules in some namespaces."""
    return EnforcementOverride(action=Action(action), rules=rules, namespaces=NamespaceMatch(names=namespaces))


def enforcing(default: str, *overrides: EnforcementOverride, **fields: object) -> Admission:
    """An admission side with its enforcement."""
    enforcement = Enforcement(default=Action(default), overrides=overrides)
    return Admission(enforcement=enforcement, **fields)  # type: ignore[arg-type]


def container(gpus: object = None, *, name: str = "c", resource: str = GPU, **fields: object) -> dict[str, object]:
    """A container with a GPU limit; none where ``gpus`` is None."""
    resources = {} if gpus is None else {"resources": {"limits": {resource: gpus}}}
    return {"name": name, "image": "example/train:1", **resources, **fields}


def pod(*gpus: object, init: tuple[dict[str, object], ...] = (), **spec: object) -> dict[str, object]:
    """A pod with one container for each amount; further keywords go into its spec."""
    inits = {"initContainers": list(init)} if init else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "job-a", "namespace": "team-a"},
        "spec": {"containers": [container(amount) for amount in gpus], **inits, **spec},
    }


def required(*terms: list[dict[str, object]]) -> dict[str, object]:
    """A required node affinity whose terms hold the given expressions."""
    return {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(expressions)} for expressions in terms]}
        }
    }


def preferred(*terms: dict[str, object]) -> dict[str, object]:
    """A preferred node affinity."""
    return {"nodeAffinity": {PREFERRED: list(terms)}}


def preference(weight: int, *expressions: dict[str, object]) -> dict[str, object]:
    """A preferred node affinity term."""
    return {"weight": weight, "preference": {"matchExpressions": list(expressions)}}


def owned(document: dict[str, object], kind: str, **metadata: object) -> dict[str, object]:
    """The pod with a controller of a kind, and more metadata."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "u-1", "controller": True}
    return described(document, ownerReferences=[owner], **metadata)


def described(document: dict[str, object], **metadata: object) -> dict[str, object]:
    """The object with more metadata."""
    return {**document, "metadata": {**document["metadata"], **metadata}}  # type: ignore[dict-item]


def within(key: str, *values: str, operator: str = "In") -> dict[str, object]:
    """An expression on a label."""
    return {"key": key, "operator": operator, "values": list(values)}


def node(
    name: str, *, gpus: int = 8, labels: Mapping[str, str] | None = None, resource: str = GPU
) -> dict[str, object]:
    """A node that offers GPUs."""
    amounts = {resource: str(gpus), "cpu": "96", "memory": "512Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {"capacity": amounts, "allocatable": dict(amounts)},
    }


def patched(document: dict[str, object], operations: tuple[dict[str, object], ...]) -> dict[str, object]:
    """The document with a patch applied, the original untouched."""
    changed = deepcopy(document)
    apply_patch(changed, deepcopy(operations))
    return changed


def terms_of(document: Mapping[str, object]) -> list[dict[str, object]]:
    """The required node selector terms of a pod."""
    affinity = document["spec"]["affinity"]["nodeAffinity"]  # type: ignore[index]
    return list(affinity[REQUIRED]["nodeSelectorTerms"])
