"""Rules about the profiles of a KubeSchedulerConfiguration: their names, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_subdomain_problem
from gpupolicy.linting.foreign.findings import error, show, warning
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.plugins import MULTI_POINT, find_plugin
from gpupolicy.linting.foreign.scheduler.profiles import Profile


def profile_name_missing(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile without a schedulerName.

    Why: only a single profile that leaves it out becomes default-scheduler; else kube-scheduler ends at its start.
    Bad:  profiles: [{schedulerName: gpu-binpack}, {plugins: {}}]
    Good: profiles: [{schedulerName: gpu-binpack}, {schedulerName: default-scheduler}]
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        if not profile.name:
            message = "a profile has no schedulerName; only a single profile may leave it out"
            yield error("profile-name-missing", _name_path(profile), message)


def profile_name_repeated(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Two profiles of one name.

    Why: a pod names its profile, so names are unique; kube-scheduler ends at its start.
    Bad:  profiles: [{schedulerName: gpu-binpack}, {schedulerName: gpu-binpack}]
    Good: profiles: [{schedulerName: default-scheduler}, {schedulerName: gpu-binpack}]
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    first: dict[str, int] = {}
    for profile in configuration.profiles:
        if profile.name and profile.name in first:
            yield error(
                "profile-name-repeated",
                _name_path(profile),
                f"schedulerName {profile.name} stands at profiles[{first[profile.name]}] already",
            )
        first.setdefault(profile.name, profile.index)


def profile_name_not_dns(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A schedulerName that is no DNS name.

    Why: neither the API server nor kube-scheduler checks it, so a slip shows only in pods that wait without an event.
    Bad:  schedulerName: GPU binpack
    Good: schedulerName: gpu-binpack
    Source: measured on Kubernetes 1.37.2, which takes any text.
    """
    for profile in configuration.profiles:
        if profile.name and (problem := find_dns_subdomain_problem(profile.name)):
            yield warning("profile-name-not-dns", _name_path(profile), f"schedulerName {show(profile.name)} {problem}")


def queue_sort_differs(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Profiles that do not sort the queue alike.

    Why: all profiles of a kube-scheduler share one queue; it ends at its start unless queueSort and the arguments of
    its plugin are the same in each of them.
    Bad:  profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}, {schedulerName: b}]
    Good: profiles: [{schedulerName: a}, {schedulerName: b}]
    Source: kubernetes pkg/scheduler/apis/config/validation, pkg/scheduler/profile; measured on kube-scheduler 1.37.2.
    """
    first, *others = configuration.profiles
    for profile in others:
        if _queue_sort(profile) != _queue_sort(first):
            yield error(
                "queue-sort-differs",
                _nearest_path(profile, "plugins", "queueSort"),
                "plugins.queueSort is not that of profiles[0]; all profiles share one queue",
            )
        elif _sort_arguments(profile) != _sort_arguments(first):
            yield error(
                "queue-sort-differs",
                _nearest_path(profile, "pluginConfig"),
                "the arguments of PrioritySort are not those of profiles[0]; all profiles share one queue",
            )


def _queue_sort(profile: Profile) -> object:
    enabled = tuple((plugin.name, plugin.weight or 0) for plugin in profile.written("queueSort"))
    return enabled, tuple(name for name, _ in profile.disabled("queueSort"))


def _sort_arguments(profile: Profile) -> object:
    return next((value for _, name, value in profile.plugin_configs() if name == "PrioritySort"), None)


def queue_sort_not_single(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile without a plugin that sorts the queue.

    Why: kube-scheduler needs exactly one, and ends at its start.
    Bad:  plugins: {queueSort: {disabled: [{name: "*"}]}}
    Good: plugins: {queueSort: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}]}}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go; measured on kube-scheduler 1.37.2.
    """
    yield from _needs_one("queue-sort-not-single", configuration, "queueSort", "PrioritySort")


def bind_plugin_missing(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile without a plugin that binds pods.

    Why: nothing would ever be placed; kube-scheduler ends at its start.
    Bad:  plugins: {multiPoint: {disabled: [{name: DefaultBinder}]}}
    Good: plugins: {multiPoint: {disabled: [{name: ImageLocality}]}}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go; measured on kube-scheduler 1.37.2.
    """
    yield from _needs_one("bind-plugin-missing", configuration, "bind", "DefaultBinder")


def _needs_one(rule: str, configuration: SchedulerConfiguration, point: str, usual: str) -> Iterator[Finding]:
    for profile in configuration.profiles:
        strange = [p for p in profile.written(point) if find_plugin(p.name, profile.version) is None]
        if not profile.enabled(point) and not strange:
            yield error(
                rule,
                _nearest_path(profile, "plugins", point),
                f"profile {profile.name} has no {point} plugin; kube-scheduler needs one",
                f"keep {usual}",
            )


def node_resources_not_checked(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile that never checks whether a pod's resources fit a node.

    Why: without NodeResourcesFit at filter pods are placed on nodes whose GPUs are taken; the kubelet then refuses
    them. kube-scheduler says nothing.
    Bad:  plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}
    Good: plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
    Source: measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        if profile.find_enabled("filter", "NodeResourcesFit") is None:
            yield warning(
                "node-resources-not-checked",
                _switched_off_at(profile, "NodeResourcesFit", "filter"),
                f"profile {profile.name} places pods without looking at resources: NodeResourcesFit is off at filter",
            )


def _switched_off_at(profile: Profile, plugin: str, point: str) -> FieldPath:
    for where in (point, MULTI_POINT):
        for name, path in profile.disabled(where):
            if name in (plugin, "*"):
                return path
    return profile.path


def _name_path(profile: Profile) -> FieldPath:
    return (*profile.path, "schedulerName") if "schedulerName" in profile.value else profile.path


def _nearest_path(profile: Profile, *path: str) -> FieldPath:
    """The path as far as the file has it."""
    value: object = profile.value
    found: list[str] = []
    for step in path:
        if not isinstance(value, dict) or step not in value:
            break
        value = value[step]
        found.append(step)
    return (*profile.path, *found) if profile.value else ()
