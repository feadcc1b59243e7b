"""Rules about profiles that are meant to pack: what makes them do something else although kube-scheduler takes them."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.linting.foreign.findings import info, listed, warning
from gpupolicy.linting.foreign.reading import objects, text, whole
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.profiles import Profile
from gpupolicy.linting.foreign.scheduler.strategies import (
    FIT,
    FitStrategy,
    counted_resources,
    gpus_per_node,
    strategies,
)
from gpupolicy.linting.foreign.versions import is_at_least
from gpupolicy.model import Policy, ScoringStrategy, StrategyType
from gpupolicy.scoring import fit_step, gpu_step, smallest_gpu_weight, smallest_unbeaten_gpu_weight, weights_for

_PACKING_TYPES = (StrategyType.MOST_ALLOCATED, StrategyType.REQUESTED_TO_CAPACITY_RATIO)


def packing_profile_spreads(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile whose name promises to pack, and whose strategy spreads.

    Why: LeastAllocated is the default of NodeResourcesFit, and a falling shape does the same: both prefer the emptier
    node.
    Bad:  {schedulerName: gpu-binpack} without a scoringStrategy
    Good: {schedulerName: gpu-binpack, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: ...}}]}
    Source: kubernetes pkg/scheduler/apis/config/v1/defaults.go; measured on kube-scheduler 1.37.2.
    """
    for strategy in strategies(configuration):
        effective = strategy.effective()
        if effective is None or strategy.packs or not strategy.is_named_for_packing:
            continue
        if strategy.value is None:
            reason = "has no scoringStrategy, and the default, LeastAllocated, prefers the emptier node"
        elif not strategy.scores:
            reason = "does not score by NodeResourcesFit, so its scoringStrategy has no effect"
        elif effective.type is StrategyType.LEAST_ALLOCATED:
            reason = "scores by LeastAllocated, which prefers the emptier node"
        else:
            reason = "scores by a shape that does not rise from its first point to its last"
        path: FieldPath = strategy.path if strategy.value is not None else strategy.profile.path
        message = f"profile {strategy.profile.name} {reason}"
        yield warning("packing-profile-spreads", path, message, "write scoringStrategy: {type: MostAllocated, ...}")


def packing_resources_defaulted(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A packing strategy without a list of resources.

    Why: the default list is cpu and memory with weight 1 each, so GPUs play no part in the score.
    Bad:  scoringStrategy: {type: MostAllocated}
    Good: scoringStrategy: {type: MostAllocated, resources: [{name: nvidia.com/gpu, weight: 100}, ...]}
    Source: kubernetes pkg/scheduler/apis/config/v1/defaults.go; measured on kube-scheduler 1.37.2.
    """
    for strategy in _packing(configuration):
        if not list(strategy.resources()):
            yield warning(
                "packing-resources-defaulted",
                strategy.path,
                f"{strategy.kind} has no resources; the default is cpu and memory, GPUs play no part in the score",
                "list the GPU's resource with weight 100 beside cpu and memory with weight 1",
            )


def packing_without_gpu(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A packing strategy whose resources lack the GPU.

    Why: nodes are then packed by what is listed, and GPUs are left over in twos and threes. With a policy a resource
    that it counts has to be there, in a profile of the policy all that it lists; without one any extended resource
    will do.
    Bad:  resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
    Good: resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: nvidia.com/gpu, weight: 100}]
    Source: kubernetes pkg/scheduler/framework/plugins/noderesources.
    """
    policy = configuration.policy
    for strategy in _packing(configuration):
        names = [name for _, name, _ in strategy.resources()]
        effective = strategy.effective()
        if not names or effective is None:
            continue
        counted = counted_resources(policy, effective)
        wanted = _listed_by(policy, strategy.profile.name) & set(counted)
        missing = sorted(wanted - set(names))
        if missing or not set(counted) & set(names):
            lacking = listed(missing or counted) or "any GPU resource"
            message = f"{strategy.kind} scores by {listed(names)}, but not by {lacking}"
            yield warning("packing-without-gpu", (*strategy.path, "resources"), message)


def _listed_by(policy: Policy | None, profile: str) -> set[str]:
    """The resources that the policy's profile of a name lists."""
    profiles = policy.scheduler.profiles if policy else ()
    found = [p.scoring_strategy.resources for p in profiles if p.scheduler_name == profile]
    return {resource.name for resources in found for resource in resources}


def gpu_weight_too_low(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A GPU weight with which cpu and memory can outvote the GPU.

    Why: a node with fewer GPUs in use and busy cpu and memory then wins, and one more node is broken up. How much is
    needed depends on the other weights and on the GPUs of a node: one of 8 more is worth 12 points of 100.
    Bad:  resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: nvidia.com/gpu, weight: 1}]
    Good: resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: nvidia.com/gpu, weight: 100}]
    Source: kubernetes pkg/scheduler/framework/plugins/noderesources/most_allocated.go; kubernetes issue 102154.
    """
    for strategy in _packing(configuration):
        effective = strategy.effective()
        if effective is None:
            continue
        for path, name, gpus in _gpu_entries(configuration, strategy, effective):
            weight, others = weights_for(effective, name, counted_resources(configuration.policy, effective))
            needed = smallest_unbeaten_gpu_weight(effective, others, gpus)
            if gpu_step(effective, gpus) > 0 and (needed is None or weight < needed):
                message = f"the weight of {name} is {weight} beside {others} of other resources;"
                message += f" on nodes of {gpus} GPUs a busy cpu outvotes a GPU in use"
                yield warning("gpu-weight-too-low", (*path, "weight"), message, _enough(effective, others, gpus))


def _gpu_entries(
    configuration: SchedulerConfiguration, strategy: FitStrategy, effective: ScoringStrategy
) -> Iterator[tuple[FieldPath, str, int]]:
    counted = counted_resources(configuration.policy, effective)
    seen: set[str] = set()
    for path, name, _ in strategy.resources():
        if name in counted and name not in seen:
            seen.add(name)
            yield path, name, gpus_per_node(configuration.policy, name)


def _enough(effective: ScoringStrategy, others: int, gpus: int) -> str:
    unbeaten = smallest_unbeaten_gpu_weight(effective, others, gpus)
    always = smallest_gpu_weight(effective, others, gpus)
    if unbeaten is None:
        return "no weight up to 100 is enough; lower the others, or list the GPU's resource alone"
    return f"{unbeaten} never loses" + (f", {always} always wins" if always else "")


def packing_outweighed(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Plugins that are on by default and can outvote the packing.

    Why: one more GPU in use is worth a few points times the weight of NodeResourcesFit; PodTopologySpread's own
    defaults (for pods of a ReplicaSet, StatefulSet or Service), NodeResourcesBalancedAllocation and ImageLocality pull
    elsewhere with up to 100 points times their weight. A Deployment of 1-GPU pods is then spread.
    Bad:  MostAllocated alone, everything else as it is
    Good: MostAllocated, PodTopologySpread with defaultingType List and no constraints, the other two disabled
    Source: measured on kube-scheduler 1.37.2 with pods of a ReplicaSet.
    """
    for strategy in _packing(configuration):
        effective = strategy.effective()
        fit = strategy.profile.find_enabled("score", FIT)
        if effective is None or fit is None or not all(1 <= r.weight <= 100 for r in effective.resources):
            continue
        rivals = list(_rivals(strategy.profile))
        pull = sum(points for _, points in rivals)
        steps = [
            fit_step(effective, *weights_for(effective, name, counted_resources(configuration.policy, effective)), gpus)
            for _, name, gpus in _gpu_entries(configuration, strategy, effective)
        ]
        step = min(steps, default=0)
        if step <= 0 or fit.effective_weight * step > pull:
            continue
        who = listed([f"{name} ({points})" for name, points in rivals])
        yield warning(
            "packing-outweighed",
            strategy.profile.path,
            f"profile {strategy.profile.name} gives one more GPU in use {fit.effective_weight * step} points;"
            f" these can give more: {who}",
            f"switch them off in this profile, or give {FIT} the weight {pull // step + 1} at score",
        )


def _rivals(profile: Profile) -> Iterator[tuple[str, int]]:
    """Yields the plugins that pull elsewhere without being asked, with the most points that each can give."""
    ranges = {
        "PodTopologySpread": 100 if _spreads_by_default(profile) else 0,
        "NodeResourcesBalancedAllocation": 50 if is_at_least(profile.version, "1.36") else 100,
        "ImageLocality": 100,
    }
    for name, points in ranges.items():
        plugin = profile.find_enabled("score", name)
        if plugin is not None and points and plugin.effective_weight > 0:
            yield name, points * plugin.effective_weight


def _spreads_by_default(profile: Profile) -> bool:
    _, arguments = profile.arguments("PodTopologySpread") or ((), {})
    if text(arguments.get("defaultingType")) != "List":
        return True
    constraints = [constraint for _, constraint in objects(arguments.get("defaultConstraints"))]
    return any(constraint.get("whenUnsatisfiable") == "ScheduleAnyway" for constraint in constraints)


def packing_samples_nodes(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A packing profile that looks at a sample of the nodes only.

    Why: above 100 nodes kube-scheduler scores a part of them, half to a twentieth by default, so the fullest node is
    often not among them.
    Bad:  MostAllocated without percentageOfNodesToScore
    Good: MostAllocated with percentageOfNodesToScore: 100 in the profile
    Source: kubernetes pkg/scheduler/schedule_one.go, numFeasibleNodesToFind.
    """
    overall = whole(configuration.at("percentageOfNodesToScore"))
    for strategy in _packing(configuration):
        own = whole(strategy.profile.value.get("percentageOfNodesToScore"))
        share = overall if own is None else own
        if strategy.packs and share != 100:
            found = f"{share}%" if share else "50%, falling to 5%,"
            message = f"where there are more than 100 nodes, profile {strategy.profile.name} scores {found} of them"
            yield info("packing-samples-nodes", strategy.profile.path, message, "write percentageOfNodesToScore: 100")


def _packing(configuration: SchedulerConfiguration) -> Iterator[FitStrategy]:
    """The strategies that are written to pack, in profiles where they score."""
    for strategy in strategies(configuration):
        if strategy.kind in _PACKING_TYPES and strategy.scores:
            yield strategy
