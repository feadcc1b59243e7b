"""Rules about spec.scheduler.profiles[].scoringStrategy: does it really pack?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gpupolicy import scoring
from gpupolicy.errors import Finding
from gpupolicy.model import GPUType, Policy, ScoringStrategy, StrategyType
from gpupolicy.rules.findings import error, warning
from gpupolicy.rules.profiles import find_meant, types_of

_PROFILES = ("spec", "scheduler", "profiles")


def weights_cannot_dominate(policy: Policy) -> Iterator[Finding]:
    """A GPU weight that cpu and memory can outvote.

    Why: one more GPU in use is worth 100/n points on a node of n GPUs; a node with idle GPUs, but full cpu and memory,
        wins if their weights give more than that, and the pod opens a new node.
    Bad:  cpu 1, memory 1, nvidia.com/gpu 3 on nodes of 8 GPUs: 37 points for the fuller node, 65 for the other
    Good: cpu 1, memory 1, nvidia.com/gpu 100
    Source: pkg/scheduler/framework/plugins/noderesources; the formula stands in gpupolicy.scoring.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        strategy = profile.scoring_strategy
        if not scoring.is_packing(strategy):
            continue
        for gpu_type in policy.gpu_types:
            if gpu_type.name in types_of(policy, profile):
                yield from _find_weak_weight(policy, index, strategy, gpu_type)


def strategy_spreads(policy: Policy) -> Iterator[Finding]:
    """A profile that spreads pods instead of packing them.

    Why: five 1-GPU pods on five nodes of 8 GPUs leave 35 GPUs free and no room for one 8-GPU pod.
    Bad:  type: LeastAllocated
    Good: type: MostAllocated
    Source: https://kubernetes.io/docs/concepts/scheduling-eviction/resource-bin-packing/
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        strategy = profile.scoring_strategy
        if strategy.type is StrategyType.LEAST_ALLOCATED:
            message = f"LeastAllocated spreads: profile {profile.scheduler_name} sends pods to the emptiest nodes"
            field = (*_PROFILES, index, "scoringStrategy", "type")
            yield warning("strategy-spreads", field, message, "use MostAllocated to pack")
        elif strategy.shape and not scoring.is_packing(strategy):
            message = f"the shape does not rise, so profile {profile.scheduler_name} does not prefer fuller nodes"
            yield warning("strategy-spreads", (*_PROFILES, index, "scoringStrategy", "shape"), message)


def shape_missing(policy: Policy) -> Iterator[Finding]:
    """RequestedToCapacityRatio without a shape.

    Why: kube-scheduler refuses the configuration.
    Bad:  {type: RequestedToCapacityRatio}
    Good: {type: RequestedToCapacityRatio, shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
    Source: pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        strategy = profile.scoring_strategy
        if strategy.type is StrategyType.REQUESTED_TO_CAPACITY_RATIO and not strategy.shape:
            message = "RequestedToCapacityRatio needs a shape"
            hint = "[{utilization: 0, score: 0}, {utilization: 100, score: 10}] packs"
            yield error("shape-missing", (*_PROFILES, index, "scoringStrategy", "shape"), message, hint)


def shape_without_use(policy: Policy) -> Iterator[Finding]:
    """A shape beside a strategy that takes none.

    Why: kube-scheduler refuses the configuration.
    Bad:  {type: MostAllocated, shape: [...]}
    Good: {type: RequestedToCapacityRatio, shape: [...]}
    Source: pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        strategy = profile.scoring_strategy
        if strategy.shape and strategy.type is not StrategyType.REQUESTED_TO_CAPACITY_RATIO:
            message = f"{strategy.type} takes no shape; only RequestedToCapacityRatio does"
            yield error("shape-without-use", (*_PROFILES, index, "scoringStrategy", "shape"), message)


def shape_not_rising(policy: Policy) -> Iterator[Finding]:
    """A shape whose utilization does not rise from point to point.

    Why: kube-scheduler refuses the configuration.
    Bad:  shape: [{utilization: 100, score: 10}, {utilization: 0, score: 0}]
    Good: shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
    Source: pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        for position, (before, point) in enumerate(pairwise(profile.scoring_strategy.shape), 1):
            if point.utilization <= before.utilization:
                field = (*_PROFILES, index, "scoringStrategy", "shape", position, "utilization")
                message = f"utilization {point.utilization} follows {before.utilization}; it has to rise"
                yield error("shape-not-rising", field, message)


def _find_weak_weight(policy: Policy, index: int, strategy: ScoringStrategy, gpu_type: GPUType) -> Iterator[Finding]:
    misspelt = (r.name for r in strategy.resources if find_meant(policy, r.name))  # no pod asks for those
    counted = (*policy.resource_names, *misspelt)
    weight, others = scoring.weights_for(strategy, gpu_type.resource_name, counted)
    smallest = scoring.smallest_unbeaten_gpu_weight(strategy, others, gpu_type.gpus_per_node)
    if weight == 0 or not others or (smallest is not None and weight >= smallest):
        return
    step = scoring.gpu_step(strategy, gpu_type.gpus_per_node)
    names = [resource.name for resource in strategy.resources]
    field = (*_PROFILES, index, "scoringStrategy", "resources", names.index(gpu_type.resource_name), "weight")
    message = (
        f"weight {weight} of {gpu_type.resource_name} can be outvoted on {gpu_type.name} nodes: one GPU of "
        f"{gpu_type.gpus_per_node} is worth {step} x {weight} = {step * weight} there, the other resources up to "
        f"100 x {others} = {100 * others}"
    )
    yield warning("weights-cannot-dominate", field, message, _hint(strategy, others, gpu_type, smallest))


def _hint(strategy: ScoringStrategy, others: int, gpu_type: GPUType, smallest: int | None) -> str:
    if smallest is None:
        return "no weight up to 100 is enough; leave the other resources out of a profile for this type"
    sure = scoring.smallest_gpu_weight(strategy, others, gpu_type.gpus_per_node)
    rounding = f" ({sure} wins after rounding to whole points, too)" if sure not in (None, smallest) else ""
    return f"the smallest weight that dominates is {smallest}{rounding}"
