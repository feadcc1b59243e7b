"""The arithmetic of kube-scheduler's NodeResourcesFit score: what one more GPU in use is worth, and when it wins.

Two nodes of one GPU type are compared after the pod is placed: one has at least one GPU more in use, everything else
(cpu, memory, ...) speaks as loudly as it can for the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from gpupolicy.model import Policy, Profile, ScoringStrategy, StrategyType

MAX_NODE_SCORE = 100
MAX_RESOURCE_WEIGHT = 100


def score_resource(strategy: ScoringStrategy, used: int, allocatable: int) -> int:
    """Returns the score (0..100) of one resource on a node, the pod's own request being part of ``used``.

    Source: kubernetes pkg/scheduler/framework/plugins/noderesources, 1.37.2.
    """
    used = min(used, allocatable)
    if strategy.type is StrategyType.MOST_ALLOCATED:
        return MAX_NODE_SCORE * used // allocatable
    if strategy.type is StrategyType.LEAST_ALLOCATED:
        return MAX_NODE_SCORE * (allocatable - used) // allocatable
    return _score_by_shape(strategy, 100 * used // allocatable)


def gpu_step(strategy: ScoringStrategy, gpus: int) -> int:
    """Returns the least that one more GPU in use adds to the GPU's own score on a node of ``gpus`` GPUs.

    Negative where the strategy prefers free nodes; 100 for a node of one GPU, where there is nothing to compare.
    """
    return min((more - less for less, more in _gpu_scores(strategy, gpus)), default=MAX_NODE_SCORE)


def fit_step(strategy: ScoringStrategy, gpu_weight: int, other_weight: int, gpus: int) -> int:
    """Returns the least by which the node with one more GPU in use leads in NodeResourcesFit's whole points.

    Args:
        strategy: how NodeResourcesFit scores.
        gpu_weight: the weight of the GPU's resource, 0 where it is not listed.
        other_weight: the sum of the weights of all other resources that count for the pod.
        gpus: GPUs of a node.

    Returns:
        Points of 100, rounding included; 0 is a tie, less means that cpu and memory can win.
    """
    leads = (
        _least(strategy, more, gpu_weight, other_weight) - _most(strategy, less, gpu_weight, other_weight)
        for less, more in _gpu_scores(strategy, gpus)
    )
    return min(leads, default=MAX_NODE_SCORE)


def smallest_gpu_weight(strategy: ScoringStrategy, other_weight: int, gpus: int) -> int | None:
    """Returns the smallest weight (1..100) with which one more GPU in use always wins; None where none does."""
    weights = range(1, MAX_RESOURCE_WEIGHT + 1)
    return next((w for w in weights if fit_step(strategy, w, other_weight, gpus) > 0), None)


def smallest_unbeaten_gpu_weight(strategy: ScoringStrategy, other_weight: int, gpus: int) -> int | None:
    """Returns the smallest weight (1..100) with which one more GPU in use never loses; rounding may make it a tie.

    It is the bound that the weighted sums give, before kube-scheduler divides them to whole points.
    """
    step = gpu_step(strategy, gpus)
    if step <= 0:
        return None
    weight = MAX_NODE_SCORE * other_weight // step + 1
    return weight if weight <= MAX_RESOURCE_WEIGHT else None


def weights_for(strategy: ScoringStrategy, resource_name: str, counted: Collection[str]) -> tuple[int, int]:
    """Returns (weight of a GPU resource, sum of the weights beside it) as they count for a pod that asks for it.

    The other GPU resources of the policy are left out, as kube-scheduler leaves out what a pod does not ask for.
    """
    gpu = sum(r.weight for r in strategy.resources if r.name == resource_name)
    others = sum(r.weight for r in strategy.resources if r.name not in counted)
    return gpu, others


def resources_of(policy: Policy, profile: Profile) -> tuple[str, ...]:
    """Returns the counted resources whose pods a profile places: those of the slot groups that use it.

    For a profile that no slot group uses: the counted resources that it lists, or all of them.
    """
    first = policy.scheduler_names[0] if policy.scheduler_names else profile.scheduler_name
    types = {
        claim.gpu_type
        for group in policy.slot_groups
        if (group.scheduler_name or first) == profile.scheduler_name
        for claim in group.nodes
    }
    used = {policy.types_by_name[name].resource_name for name in types if name in policy.types_by_name}
    listed = {resource.name for resource in profile.scoring_strategy.resources}
    return tuple(name for name in policy.resource_names if name in (used or listed)) or policy.resource_names


def is_packing(strategy: ScoringStrategy) -> bool:
    """Returns whether the strategy prefers the fuller of two nodes."""
    if strategy.type is StrategyType.REQUESTED_TO_CAPACITY_RATIO:
        return bool(strategy.shape) and strategy.shape[-1].score > strategy.shape[0].score
    return strategy.type is StrategyType.MOST_ALLOCATED


def _gpu_scores(strategy: ScoringStrategy, gpus: int) -> Iterator[tuple[int, int]]:
    """Yields the GPU's score with k and with k + 1 GPUs in use; the pod itself uses at least one."""
    scores = [score_resource(strategy, used, gpus) for used in range(1, gpus + 1)]
    return pairwise(scores)


def _score_by_shape(strategy: ScoringStrategy, utilization: int) -> int:
    """Returns the broken line through (utilization, 10 * score), divided as Go divides: towards zero."""
    points = [(point.utilization, 10 * point.score) for point in strategy.shape] or [(0, 0)]
    if utilization <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if utilization <= x1:
            rise = abs(y1 - y0) * (utilization - x0) // (x1 - x0)
            return y0 + (rise if y1 >= y0 else -rise)
    return points[-1][1]


def _least(strategy: ScoringStrategy, gpu: int, gpu_weight: int, other_weight: int) -> int:
    """Returns the node's lowest score for a GPU score: all other resources say as little as they can."""
    if strategy.type is not StrategyType.REQUESTED_TO_CAPACITY_RATIO:
        return gpu * gpu_weight // max(1, gpu_weight + other_weight)
    alone = _mean(gpu, gpu_weight, 0, 0)
    return min(alone, _mean(gpu, gpu_weight, 1, other_weight)) if other_weight else alone


def _most(strategy: ScoringStrategy, gpu: int, gpu_weight: int, other_weight: int) -> int:
    """Returns the node's highest score for a GPU score: all other resources say as much as they can."""
    if strategy.type is not StrategyType.REQUESTED_TO_CAPACITY_RATIO:
        return (gpu * gpu_weight + MAX_NODE_SCORE * other_weight) // max(1, gpu_weight + other_weight)
    alone = _mean(gpu, gpu_weight, 0, 0)
    return max(alone, _mean(gpu, gpu_weight, MAX_NODE_SCORE, other_weight)) if other_weight else alone


def _mean(gpu: int, gpu_weight: int, other: int, other_weight: int) -> int:
    """Returns RequestedToCapacityRatio's mean: scores of 0 lose their weight, halves are rounded up."""
    weight = (gpu_weight if gpu > 0 else 0) + (other_weight if other > 0 else 0)
    total = gpu * gpu_weight + other * other_weight
    return (2 * total + weight) // (2 * weight) if weight else 0
