"""Rules about the arguments of NodeResourcesFit: what kube-scheduler refuses, and what it passes over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_label_key_problem
from gpupolicy.linting.foreign.findings import did_you_mean, error, listed, show, warning
from gpupolicy.linting.foreign.reading import items, text
from gpupolicy.linting.foreign.resource_names import KNOWN_GPUS, NATIVE, QUOTA_PREFIX, find_misspelt
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.strategies import FIT, STRATEGIES, read_shape, strategies
from gpupolicy.linting.foreign.versions import is_at_least
from gpupolicy.model import StrategyType

_RATIO = StrategyType.REQUESTED_TO_CAPACITY_RATIO


def scoring_strategy_unknown(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A scoring strategy without a type, or of a type that NodeResourcesFit does not have.

    Why: there are three, written exactly so; kube-scheduler ends at its start with any other.
    Bad:  scoringStrategy: {type: mostAllocated}
    Good: scoringStrategy: {type: MostAllocated}
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for strategy in strategies(configuration):
        if strategy.value is None or strategy.kind in STRATEGIES:
            continue
        written = "type" in strategy.value
        found = f"type is {show(strategy.kind)}" if written else "scoringStrategy has no type"
        yield error(
            "scoring-strategy-unknown",
            (*strategy.path, "type") if written else strategy.path,
            f"{found}; kube-scheduler takes {listed(STRATEGIES)}",
            did_you_mean(strategy.kind, STRATEGIES) if strategy.kind else None,
        )


def resource_weight_out_of_range(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A resource weight outside 1 to 100.

    Why: kube-scheduler ends at its start. What counts is the ratio: 100 for GPUs and 1 for the rest goes far enough.
    Bad:  resources: [{name: nvidia.com/gpu, weight: 1000}]
    Good: resources: [{name: nvidia.com/gpu, weight: 100}]
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for strategy in strategies(configuration):
        for path, name, weight in strategy.resources():
            if weight is not None and not 0 <= weight <= 100:
                message = f"the weight of {name} is {weight}; kube-scheduler takes 1 to 100"
                yield error("resource-weight-out-of-range", (*path, "weight"), message)


def resource_weight_defaulted(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A resource weight that is 0 or missing.

    Why: kube-scheduler reads it as 1, so a resource that was meant to be left out counts, and one that was meant to
    weigh most weighs as little as cpu.
    Bad:  resources: [{name: cpu, weight: 0}, {name: nvidia.com/gpu}]
    Good: resources: [{name: nvidia.com/gpu, weight: 100}]
    Source: kubernetes pkg/scheduler/apis/config/v1/defaults.go; measured on kube-scheduler 1.37.2.
    """
    for strategy in strategies(configuration):
        for path, name, weight in strategy.resources():
            if weight == 0:
                message = f"the weight of {name} is 0, which kube-scheduler reads as 1"
                yield warning("resource-weight-defaulted", (*path, "weight"), message, "leave the resource out")
            elif weight is None:
                message = f"{name} has no weight, which kube-scheduler reads as 1"
                yield warning("resource-weight-defaulted", path, message, "write the weight")


def scored_resource_repeated(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A resource listed twice in a scoring strategy.

    Why: kube-scheduler counts both entries, so its weight is their sum.
    Bad:  resources: [{name: nvidia.com/gpu, weight: 50}, {name: nvidia.com/gpu, weight: 50}]
    Good: resources: [{name: nvidia.com/gpu, weight: 100}]
    Source: kubernetes pkg/scheduler/framework/plugins/noderesources; measured on kube-scheduler 1.37.2.
    """
    for strategy in strategies(configuration):
        seen: set[str] = set()
        for path, name, _ in strategy.resources():
            if name in seen:
                message = f"{name} is listed above already; both weights count"
                yield warning("scored-resource-repeated", (*path, "name"), message)
            seen.add(name)


def resource_name_not_known(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A resource in a scoring strategy that no node will ever offer.

    Why: kube-scheduler leaves out what a node does not have, so a slip in the name takes GPUs out of the score.
    Bad:  resources: [{name: nvidia.com/gpus, weight: 100}]
    Good: resources: [{name: nvidia.com/gpu, weight: 100}]
    Source: measured on kube-scheduler 1.37.2, which takes any text.
    """
    counted = configuration.policy.resource_names if configuration.policy else ()
    for strategy in strategies(configuration):
        for path, name, _ in strategy.resources():
            if name not in counted and (problem := _name_problem(name, (*counted, *KNOWN_GPUS))):
                message, hint = problem
                where = (*path, "name") if name else path
                yield warning("resource-name-not-known", where, message, hint)


def _name_problem(name: str, known: Iterable[str]) -> tuple[str, str | None] | None:
    if not name:
        return "a resource without a name is never scored", None
    if name in NATIVE or name.startswith("hugepages-"):
        return None
    if name.startswith(QUOTA_PREFIX):
        return f"{show(name)} is a name of quotas, and no node offers it", f"write {name.removeprefix(QUOTA_PREFIX)}"
    if misspelt := find_misspelt(name, (*known, *NATIVE)):
        return f"{show(name)} is not {misspelt}, and no node offers it", f"did you mean {misspelt}"
    if problem := find_label_key_problem(name):
        return f"{show(name)} is no resource name: {problem}", None
    if "/" not in name:
        return f"{show(name)} is no resource that nodes are scored by", f"known: {listed(NATIVE)}, and domain/name"
    return None


def capacity_shape_missing(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """RequestedToCapacityRatio without a shape.

    Why: the strategy is nothing but its shape; kube-scheduler ends at its start.
    Bad:  scoringStrategy: {type: RequestedToCapacityRatio}
    Good: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, ...]}}
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for strategy in strategies(configuration):
        if strategy.value is not None and strategy.kind == _RATIO and not list(strategy.shape()):
            written = strategy.value.get("requestedToCapacityRatio") is not None
            yield error(
                "capacity-shape-missing",
                (*strategy.path, "requestedToCapacityRatio") if written else strategy.path,
                f"type is {_RATIO}, which needs requestedToCapacityRatio.shape with at least one point",
            )


def capacity_shape_unexpected(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A shape beside another strategy than RequestedToCapacityRatio.

    Why: nobody would read it; kube-scheduler ends at its start (before 1.36 it passed over one with points).
    Bad:  scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {shape: [...]}}
    Good: scoringStrategy: {type: MostAllocated}
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.35.4 and 1.36.3.
    """
    for strategy in strategies(configuration):
        value = strategy.value or {}
        if value.get("requestedToCapacityRatio") is not None and strategy.kind != _RATIO:
            passed_over = bool(list(strategy.shape())) and not is_at_least(strategy.profile.version, "1.36")
            say = warning if passed_over else error
            yield say(
                "capacity-shape-unexpected",
                (*strategy.path, "requestedToCapacityRatio"),
                f"requestedToCapacityRatio belongs to the type {_RATIO}; the type here is {strategy.kind or 'missing'}",
            )


def shape_points_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Points of a shape that are out of range or out of order.

    Why: utilization runs from 0 to 100 and rises from point to point, score from 0 to 10; kube-scheduler ends at its
    start.
    Bad:  shape: [{utilization: 100, score: 100}, {utilization: 0, score: 0}]
    Good: shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for strategy in strategies(configuration):
        if strategy.kind == _RATIO or not is_at_least(strategy.profile.version, "1.36"):
            yield from _check_points(strategy.shape())
    for profile, path, arguments in configuration.plugin_arguments("VolumeBinding"):
        if is_at_least(profile.version, "1.37"):
            yield from _check_points(read_shape(path, arguments))


def _check_points(points: Iterable[tuple[FieldPath, int, int]]) -> Iterator[Finding]:
    last: int | None = None
    for path, utilization, score in points:
        where = (*path, "utilization")
        if not 0 <= utilization <= 100:
            yield error("shape-points-refused", where, f"utilization is {utilization}; 0 to 100 is expected")
        elif last is not None and utilization <= last:
            yield error("shape-points-refused", where, f"utilization is {utilization}, not more than the {last} before")
        if not 0 <= score <= 10:
            yield error("shape-points-refused", (*path, "score"), f"score is {score}; 0 to 10 is expected")
        last = utilization


def ignored_resource_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """An ignored resource, or group of resources, that is no name.

    Why: ignoredResources takes resource names, ignoredResourceGroups the part before the slash; kube-scheduler ends at
    its start.
    Bad:  ignoredResourceGroups: [nvidia.com/gpu]
    Good: ignoredResourceGroups: [example.com]
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for profile, path, arguments in configuration.plugin_arguments(FIT):
        if not profile.is_needed(FIT):
            continue
        for index, name in items(arguments.get("ignoredResources")):
            if problem := find_label_key_problem(text(name)):
                message = f"{show(name)} is no resource name: {problem}"
                yield error("ignored-resource-refused", (*path, "ignoredResources", index), message)
        for index, group in items(arguments.get("ignoredResourceGroups")):
            problem = find_label_key_problem(text(group))
            if "/" in text(group):
                problem = "has a slash, and a group is the part before it"
            if problem:
                message = f"{show(group)} is no group of resources: {problem}"
                yield error("ignored-resource-refused", (*path, "ignoredResourceGroups", index), message)


def gpu_resource_ignored(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A GPU resource that NodeResourcesFit is told not to check.

    Why: pods are then placed on nodes whose GPUs are all taken, unless an extender looks after them.
    Bad:  ignoredResources: [nvidia.com/gpu]
    Good: ignoredResources: [example.com/licence]
    Source: kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go.
    """
    known = {*(configuration.policy.resource_names if configuration.policy else ()), *KNOWN_GPUS}
    groups = {name.partition("/")[0] for name in known}
    for _, path, arguments in configuration.plugin_arguments(FIT):
        for field, meant in (("ignoredResources", known), ("ignoredResourceGroups", groups)):
            for index, name in items(arguments.get(field)):
                if name in meant:
                    message = f"{name} is not checked: pods are placed on nodes without a free one"
                    yield warning("gpu-resource-ignored", (*path, field, index), message)
