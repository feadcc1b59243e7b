"""Rules about spec.scheduler.profiles: names, and the resources that are scored."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.labels import find_dns_subdomain_problem
from gpupolicy.model import Policy, Profile, SchedulerMode
from gpupolicy.rules.findings import error, info, listed, warning
from gpupolicy.suggestions import find_nearest

DEFAULT_SCHEDULER = "default-scheduler"
NATIVE = ("cpu", "memory", "ephemeral-storage")

_PROFILES = ("spec", "scheduler", "profiles")
_RESOURCES = ("scoringStrategy", "resources")


def scheduler_name_not_dns(policy: Policy) -> Iterator[Finding]:
    """A profile whose name is no DNS subdomain.

    Why: neither the API server nor kube-scheduler looks at it, so a slip such as a blank shows only as pods that stay
        Pending; and compiled objects carry the name.
    Bad:  schedulerName: GPU packing
    Good: schedulerName: gpu-packing
    Source: measured on 1.37.2: "Bad Name!" is accepted everywhere.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        if problem := find_dns_subdomain_problem(profile.scheduler_name):
            field = (*_PROFILES, index, "schedulerName")
            yield error(
                "scheduler-name-not-dns", field, f'"{profile.scheduler_name}" is no scheduler name: it {problem}'
            )


def profile_repeated(policy: Policy) -> Iterator[Finding]:
    """Two profiles of one name.

    Why: kube-scheduler refuses the configuration, without saying which name is meant.
    Bad:  two profiles with schedulerName: gpu-packing
    Good: one profile for each name
    Source: pkg/scheduler/apis/config/validation; measured: `profiles[1].schedulerName: Duplicate value: {}`.
    """
    names = policy.scheduler_names
    for index, name in enumerate(names):
        if name in names[:index]:
            place = policy.find_place((*_PROFILES, names.index(name), "schedulerName"))
            where = f"; first in line {place[0]}" if place else ""
            field = (*_PROFILES, index, "schedulerName")
            yield error("profile-repeated", field, f"profile {name} stands twice{where}")


def default_scheduler_redefined(policy: Policy) -> Iterator[Finding]:
    """A profile that takes the name default-scheduler.

    Why: every pod that names no scheduler would be packed, GPUs or not; and in a second scheduler two programs would
        schedule the same pods.
    Bad:  profiles: [{schedulerName: default-scheduler}]
    Good: profiles: [{schedulerName: gpu-packing}]; routing writes the name into GPU pods
    Source: the API server writes default-scheduler into every pod without a name.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        if profile.scheduler_name == DEFAULT_SCHEDULER:
            message = f"{DEFAULT_SCHEDULER} serves every pod without a scheduler name, not only GPU pods"
            yield error("default-scheduler-redefined", (*_PROFILES, index, "schedulerName"), message)


def second_scheduler_without_profile(policy: Policy) -> Iterator[Finding]:
    """A second scheduler that has nothing to do.

    Why: without profiles there is nothing to compile, and pods keep their scheduler.
    Bad:  scheduler: {mode: second}
    Good: scheduler: {mode: second, profiles: [{schedulerName: gpu-packing}]}
    Source: design: profiles are what the scheduler runs.
    """
    if policy.scheduler.mode is SchedulerMode.SECOND and not policy.scheduler.profiles:
        yield error(
            "second-scheduler-without-profile",
            ("spec", "scheduler", "profiles"),
            "mode is second, but there is no profile",
        )


def gpu_resource_not_weighed(policy: Policy) -> Iterator[Finding]:
    """A profile that leaves out the GPUs that it schedules.

    Why: what is not listed is not scored, so cpu and memory alone decide and GPUs are not packed.
    Bad:  resources: [{name: cpu}, {name: memory}]
    Good: resources: [{name: cpu}, {name: memory}, {name: nvidia.com/gpu, weight: 100}]
    Source: NodeResourcesFit scores the listed resources only; the default list is cpu and memory.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        weighed = {resource.name for resource in profile.scoring_strategy.resources}
        missing = [name for name in resources_of(policy, profile) if name not in weighed]
        if missing:
            message = f"profile {profile.scheduler_name} does not weigh {listed(missing)}, so it does not pack them"
            field = (*_PROFILES, index, *_RESOURCES)
            nothing_packed = len(missing) == len(resources_of(policy, profile))
            make = error if nothing_packed else warning
            yield make("gpu-resource-not-weighed", field, message, f"add {{name: {missing[0]}, weight: 100}}")


def resource_not_counted(policy: Policy) -> Iterator[Finding]:
    """A resource in a profile that no GPU type counts.

    Why: kube-scheduler takes any name without a word, so a slip means that the GPU is not scored.
    Bad:  resources: [{name: nvidia.com/gpus, weight: 100}]
    Good: resources: [{name: nvidia.com/gpu, weight: 100}]
    Source: measured on 1.37.2: unknown and even nonsense names are accepted and ignored.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        for position, resource in enumerate(profile.scoring_strategy.resources):
            if resource.name in (*NATIVE, *policy.types_by_resource):
                continue
            nearest = find_meant(policy, resource.name)
            field = (*_PROFILES, index, *_RESOURCES, position, "name")
            message = f"no GPU type counts {resource.name}"
            make = warning if nearest or "/" not in resource.name else info
            yield make("resource-not-counted", field, message, f"did you mean {nearest}" if nearest else None)


def resource_repeated(policy: Policy) -> Iterator[Finding]:
    """A resource that stands twice in a profile.

    Why: kube-scheduler takes it without a word and counts both weights.
    Bad:  resources: [{name: cpu, weight: 1}, {name: cpu, weight: 5}]
    Good: resources: [{name: cpu, weight: 1}]
    Source: measured on 1.37.2: duplicates are accepted.
    """
    for index, profile in enumerate(policy.scheduler.profiles):
        names = [resource.name for resource in profile.scoring_strategy.resources]
        for position, name in enumerate(names):
            if name in names[:position]:
                field = (*_PROFILES, index, *_RESOURCES, position, "name")
                yield error("resource-repeated", field, f"{name} already stands in this profile")


def find_meant(policy: Policy, name: str) -> str | None:
    """Returns the resource that an unknown name was probably meant to be; None for one that may well exist."""
    known = (*NATIVE, *policy.types_by_resource)
    return None if name in known else find_nearest(name, (*NATIVE, *policy.resource_names))


def resources_of(policy: Policy, profile: Profile) -> tuple[str, ...]:
    """Returns the counted resources that a profile schedules: those of the types that its slot groups claim."""
    names = types_of(policy, profile)
    return tuple(dict.fromkeys(t.resource_name for t in policy.gpu_types if t.name in names))


def types_of(policy: Policy, profile: Profile) -> frozenset[str]:
    """Returns the GPU types of the slot groups that use a profile; all types where no group does."""
    first = policy.scheduler_names[0]
    groups = [g for g in policy.slot_groups if (g.scheduler_name or first) == profile.scheduler_name]
    claimed = {claim.gpu_type for group in groups for claim in group.nodes if claim.gpu_type in policy.types_by_name}
    return frozenset(claimed or policy.types_by_name)
