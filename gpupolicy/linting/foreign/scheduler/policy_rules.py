"""Rules that hold a KubeSchedulerConfiguration against a policy."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import listed, warning
from gpupolicy.linting.foreign.reading import text
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.lease_rules import OWN_LEASE
from gpupolicy.linting.foreign.scheduler.strategies import strategies
from gpupolicy.model import ScoringStrategy
from gpupolicy.suggestions import hint_known


def policy_profile_missing(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile of the policy that the configuration lacks.

    Why: pods are given its name, and a name that no scheduler serves leaves them waiting without an event.
    Bad:  a policy with the profile gpu-binpack, a file with the profile default-scheduler alone
    Good: a policy with the profile gpu-binpack, a file with gpu-binpack beside default-scheduler
    Source: measured on Kubernetes 1.37.2.
    """
    policy = configuration.policy
    names = [profile.name for profile in configuration.profiles]
    for index, name in enumerate(policy.scheduler_names if policy else ()):
        if policy is not None and name not in names:
            cited = policy.cite("spec", "scheduler", "profiles", index)
            message = f"the policy sends pods to {name} ({cited}); the profiles here are {listed(names)}"
            yield warning("policy-profile-missing", ("profiles",), message, hint_known(name, names))


def policy_profile_differs(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile that scores otherwise than the policy says.

    Why: what the policy foresees and proves about packing holds for its own strategy and weights alone.
    Bad:  a policy with nvidia.com/gpu 100, a file with nvidia.com/gpu 5
    Good: the strategy, resources and weights of the policy
    Source: the policy itself; gpupolicy compile writes the profile.
    """
    policy = configuration.policy
    wanted = {profile.scheduler_name: profile for profile in policy.scheduler.profiles} if policy else {}
    for strategy in strategies(configuration):
        profile, effective = wanted.get(strategy.profile.name), strategy.effective()
        if policy is None or profile is None or effective is None:
            continue
        if difference := _difference(effective, profile.scoring_strategy):
            index = policy.scheduler.profiles.index(profile)
            cited = policy.cite("spec", "scheduler", "profiles", index, "scoringStrategy")
            message = f"profile {profile.scheduler_name} {difference} ({cited})"
            yield warning("policy-profile-differs", strategy.path, message)


def _difference(found: ScoringStrategy, wanted: ScoringStrategy) -> str | None:
    if found.type is not wanted.type:
        return f"scores by {found.type}, the policy by {wanted.type}"
    has, needs = _weights(found), _weights(wanted)
    for name in sorted({*has, *needs}):
        if wanted.resources and has.get(name, 0) != needs.get(name, 0):
            return f"gives {name} the weight {has.get(name, 0)}, the policy {needs.get(name, 0)}"
    if wanted.shape and found.shape != wanted.shape:
        return "has another shape than the policy"
    return None


def _weights(strategy: ScoringStrategy) -> dict[str, int]:
    """The weight of each resource; one that stands twice has the sum."""
    found: dict[str, int] = {}
    for resource in strategy.resources:
        found[resource.name] = found.get(resource.name, 0) + resource.weight
    return found


def policy_lease_differs(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A lease other than the one that the policy names.

    Why: the policy compiles the role that lets the scheduler hold its lease, by that name and in that namespace.
    Bad:  a policy with the lease gpu-system/gpu-binpack, a file with gpu-system/binpack
    Good: the lease of the policy
    Source: the policy itself; gpupolicy compile writes the role.
    """
    policy, names = configuration.policy, [profile.name for profile in configuration.profiles]
    election = policy.scheduler.leader_election if policy else None
    if policy is None or election is None or not configuration.leads:
        return
    if not set(names) & set(policy.scheduler_names):
        return
    wanted = {"resourceNamespace": election.resource_namespace, "resourceName": election.resource_name}
    written = {field: text(configuration.at("leaderElection", field)) for field in wanted}
    if not any(written.values()):
        return  # both left out is the cluster's own lease, which has a rule of its own
    for (field, value), default in zip(wanted.items(), OWN_LEASE, strict=True):
        found = written[field] or default
        if found != value:
            cited = policy.cite("spec", "scheduler", "leaderElection", field)
            by_default = "" if written[field] else " by default"
            message = f"{field} is {found}{by_default}; the policy has {value} ({cited})"
            path = ("leaderElection", field) if written[field] else ("leaderElection",)
            yield warning("policy-lease-differs", path, message)
