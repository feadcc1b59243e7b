"""Rules about pluginConfig: whose arguments are given, and those of plugins other than NodeResourcesFit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpupolicy.errors import Finding
from gpupolicy.labels import find_label_key_problem
from gpupolicy.linting.foreign.durations import parse_duration
from gpupolicy.linting.foreign.findings import did_you_mean, error, listed, show, warning
from gpupolicy.linting.foreign.kinds import SCHEDULER_VERSION
from gpupolicy.linting.foreign.reading import objects, text, whole
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.fields import PLUGINS_WITH_ARGUMENTS
from gpupolicy.linting.foreign.scheduler.plugins import find_plugin
from gpupolicy.linting.foreign.versions import is_at_least


def plugin_config_repeated(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Two pluginConfig entries for one plugin.

    Why: kube-scheduler ends at its start.
    Bad:  pluginConfig: [{name: NodeResourcesFit, args: {...}}, {name: NodeResourcesFit, args: {...}}]
    Good: pluginConfig: [{name: NodeResourcesFit, args: {...}}]
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        seen: set[str] = set()
        for path, name, _ in profile.plugin_configs():
            if name in seen:
                yield error("plugin-config-repeated", path, f"{name} is configured above already")
            seen.add(name)


def plugin_args_of_other_kind(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Arguments whose apiVersion or kind is not that of the plugin.

    Why: kube-scheduler takes the kind of a plugin's arguments by its name, in v1 alone, and ends at its start.
    Bad:  {name: NodeResourcesFit, args: {apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: NodeResourcesFitArgs}}
    Good: {name: NodeResourcesFit, args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs}}
    Source: k8s.io/kube-scheduler config/v1, decodeNestedObjects; measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        for path, name, args in profile.plugin_configs():
            if name not in PLUGINS_WITH_ARGUMENTS or not isinstance(args, dict):
                continue
            for field, wanted in (("apiVersion", SCHEDULER_VERSION), ("kind", f"{name}Args")):
                found = args.get(field)
                if found not in (None, "", wanted):
                    yield error(
                        "plugin-args-of-other-kind",
                        (*path, "args", field),
                        f"{field} is {show(found)}; the arguments of {name} are {wanted}",
                        f"write {wanted}, or leave it out",
                    )


def plugin_args_without_effect(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Arguments for a plugin that takes none, or that is switched off.

    Why: kube-scheduler passes them over in silence.
    Bad:  pluginConfig: [{name: ImageLocality, args: {weight: 5}}]
    Good: score: {enabled: [{name: ImageLocality, weight: 5}]}
    Source: measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        for path, name, args in profile.plugin_configs():
            if not args or find_plugin(name, profile.version) is None:
                continue
            if name not in PLUGINS_WITH_ARGUMENTS:
                message = f"{name} takes no arguments; these are passed over"
                yield warning("plugin-args-without-effect", (*path, "args"), message)
            elif not profile.is_needed(name):
                message = f"{name} is switched off in profile {profile.name}; its arguments have no effect"
                yield warning("plugin-args-without-effect", (*path, "args"), message)


def balanced_allocation_resources(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Resources of NodeResourcesBalancedAllocation with a weight, or named twice.

    Why: the plugin knows no weights but 1 and each resource once; kube-scheduler ends at its start.
    Bad:  resources: [{name: cpu, weight: 2}]
    Good: resources: [{name: cpu, weight: 1}, {name: nvidia.com/gpu, weight: 1}]
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    rule = "balanced-allocation-resources"
    for _, path, arguments in configuration.plugin_arguments("NodeResourcesBalancedAllocation"):
        seen: set[str] = set()
        for index, resource in objects(arguments.get("resources")):
            name, weight = text(resource.get("name")), whole(resource.get("weight"))
            if name in seen:
                yield error(rule, (*path, "resources", index, "name"), f"{name} is listed above already")
            if weight not in (None, 0, 1):
                message = f"the weight of {name} is {weight}; NodeResourcesBalancedAllocation takes 1 alone"
                yield error(rule, (*path, "resources", index, "weight"), message, "leave it out")
            seen.add(name)


_DEFAULTING = ("List", "System")


def spread_defaulting_type(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Default spread constraints that nobody reads, or a defaultingType that is unknown.

    Why: constraints count only with defaultingType List; System is the default. kube-scheduler ends at its start.
    Bad:  {name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, ...}]}}
    Good: {name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, ...}]}}
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    rule = "spread-defaulting-type"
    for _, path, arguments in configuration.plugin_arguments("PodTopologySpread"):
        kind = text(arguments.get("defaultingType")) or "System"
        if kind not in _DEFAULTING:
            message = f"defaultingType is {show(kind)}; kube-scheduler takes {listed(_DEFAULTING)}"
            yield error(rule, (*path, "defaultingType"), message, did_you_mean(kind, _DEFAULTING))
        elif kind == "System" and arguments.get("defaultConstraints"):
            message = "defaultConstraints are given, but defaultingType is System, which has constraints of its own"
            yield error(rule, (*path, "defaultConstraints"), message, "write defaultingType: List")


_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def spread_constraint_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A default spread constraint that kube-scheduler refuses.

    Why: each needs a maxSkew above zero, a topologyKey that is a label key and a whenUnsatisfiable, none may have a
    labelSelector, and no two may share topologyKey and whenUnsatisfiable.
    Bad:  defaultConstraints: [{topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]
    Good: defaultConstraints: [{maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    for _, path, arguments in configuration.plugin_arguments("PodTopologySpread"):
        seen: set[tuple[str, str]] = set()
        for index, constraint in objects(arguments.get("defaultConstraints")):
            here = (*path, "defaultConstraints", index)
            pair = (text(constraint.get("topologyKey")), text(constraint.get("whenUnsatisfiable")))
            for field, message in _constraint_problems(constraint, pair, seen):
                where = (*here, field) if field in constraint else here
                yield error("spread-constraint-refused", where, message)
            seen.add(pair)


def _constraint_problems(
    constraint: Any, pair: tuple[str, str], seen: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    key, action = pair
    if (skew := whole(constraint.get("maxSkew")) or 0) <= 0:
        yield "maxSkew", f"maxSkew is {skew}; it has to be above zero"
    if problem := find_label_key_problem(key):
        yield "topologyKey", f"topologyKey {show(key)} {problem}"
    if action not in _ACTIONS:
        yield "whenUnsatisfiable", f"whenUnsatisfiable is {show(action)}; kube-scheduler takes {listed(_ACTIONS)}"
    if constraint.get("labelSelector") is not None:
        yield "labelSelector", "a default constraint has no labelSelector; kube-scheduler derives it for each pod"
    if pair in seen:
        yield "topologyKey", f"topologyKey {key} with {action} stands above already"


def volume_shape_not_available(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A scoring shape of VolumeBinding before Kubernetes 1.37.

    Why: the gate StorageCapacityScoring is off until 1.37, and kube-scheduler refuses the field without it.
    Bad:  {name: VolumeBinding, args: {shape: [...]}} on Kubernetes 1.36
    Good: {name: VolumeBinding, args: {bindTimeoutSeconds: 600}} on Kubernetes 1.36
    Source: kubernetes pkg/features/kube_features.go, pkg/scheduler/apis/config/validation/validation_pluginargs.go.
    """
    for profile, path, arguments in configuration.plugin_arguments("VolumeBinding"):
        if arguments.get("shape") is not None and not is_at_least(profile.version, "1.37"):
            message = f"kube-scheduler {profile.version} takes no shape for VolumeBinding; 1.37 is the first that does"
            yield error("volume-shape-not-available", (*path, "shape"), message)


def device_timeout_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A timeout of DynamicResources that kube-scheduler refuses.

    Why: filterTimeout may not be negative, bindingTimeout is at least a second and known to default gates since 1.36.
    Bad:  {name: DynamicResources, args: {bindingTimeout: 500ms}}
    Good: {name: DynamicResources, args: {bindingTimeout: 600s}}
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go; measured on 1.37.2.
    """
    rule = "device-timeout-refused"
    for profile, path, arguments in configuration.plugin_arguments("DynamicResources"):
        filtering, binding = text(arguments.get("filterTimeout")), text(arguments.get("bindingTimeout"))
        if filtering and (parse_duration(filtering) or 0) < 0:
            yield error(rule, (*path, "filterTimeout"), f"filterTimeout is {filtering}; it may not be negative")
        if binding and not is_at_least(profile.version, "1.36"):
            message = f"kube-scheduler {profile.version} takes no bindingTimeout; 1.36 is the first that does"
            yield error(rule, (*path, "bindingTimeout"), message)
        elif binding and (parse_duration(binding) or 0) < 1:
            yield error(rule, (*path, "bindingTimeout"), f"bindingTimeout is {binding}; at least 1s is needed")
