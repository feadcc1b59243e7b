"""A scheduler configuration beside the policy whose pods it shall place."""

from __future__ import annotations

from builders import policy
from foreign_builders import messages_of, packing, profile, rules_of, scheduler_configuration

from gpupolicy.model import LeaderElection, Policy, Profile, ResourceWeight, Scheduler, ScoringStrategy

WEIGHTS = (ResourceWeight(name="cpu", weight=1), ResourceWeight(name="nvidia.com/gpu", weight=100))


def wanted(**fields: object) -> Policy:
    """A policy with the one profile gpu-packing, cpu 1 and GPUs 100."""
    packs = Profile(scheduler_name="gpu-packing", scoring_strategy=ScoringStrategy(resources=WEIGHTS))
    return policy(scheduler=Scheduler(profiles=(packs,), **fields))  # type: ignore[arg-type]


def test_a_profile_that_the_policy_sends_pods_to_has_to_be_there() -> None:
    (message,) = messages_of(scheduler_configuration(profile()), "policy-profile-missing", wanted())

    assert message == "the policy sends pods to gpu-packing (policy); the profiles here are training"


def test_a_weight_that_differs_from_the_policy_is_told() -> None:
    value = scheduler_configuration(profile("gpu-packing", args={"NodeResourcesFit": packing(cpu=1, gpu=50)}))

    (message,) = messages_of(value, "policy-profile-differs", wanted())

    assert message == "profile gpu-packing gives nvidia.com/gpu the weight 50, the policy 100 (policy)"


def test_a_strategy_that_differs_from_the_policy_is_told() -> None:
    args = {"NodeResourcesFit": packing("LeastAllocated", cpu=1, gpu=100)}

    (message,) = messages_of(
        scheduler_configuration(profile("gpu-packing", args=args)), "policy-profile-differs", wanted()
    )

    assert message == "profile gpu-packing scores by LeastAllocated, the policy by MostAllocated (policy)"


def test_a_resource_that_stands_twice_weighs_the_sum() -> None:
    args = packing(cpu=1, gpu=60)
    args["scoringStrategy"]["resources"].append({"name": "nvidia.com/gpu", "weight": 40})

    value = scheduler_configuration(profile("gpu-packing", args={"NodeResourcesFit": args}))

    assert not messages_of(value, "policy-profile-differs", wanted())


def test_a_profile_of_somebody_else_is_not_compared() -> None:
    value = scheduler_configuration(
        profile("gpu-packing", args={"NodeResourcesFit": packing(cpu=1, gpu=100)}), profile("batch")
    )

    assert not messages_of(value, "policy-profile-differs", wanted())


def test_another_lease_than_the_policys_is_told() -> None:
    value = scheduler_configuration(
        profile("gpu-packing"), leaderElection={"resourceName": "binpack", "resourceNamespace": "gpu-system"}
    )
    election = LeaderElection(resource_name="gpu-packing", resource_namespace="gpu-system")

    (message,) = messages_of(value, "policy-lease-differs", wanted(leader_election=election))

    assert message == "resourceName is binpack; the policy has gpu-packing (policy)"


def test_half_a_lease_is_the_default_for_the_other_half() -> None:
    value = scheduler_configuration(profile("gpu-packing"), leaderElection={"resourceName": "gpu-packing"})
    election = LeaderElection(resource_name="gpu-packing", resource_namespace="gpu-system")

    (message,) = messages_of(value, "policy-lease-differs", wanted(leader_election=election))

    assert message == "resourceNamespace is kube-system by default; the policy has gpu-system (policy)"


def test_the_profile_of_the_policy_as_it_is_has_nothing_against_the_policy() -> None:
    value = scheduler_configuration(profile("gpu-packing", args={"NodeResourcesFit": packing(cpu=1, gpu=100)}))

    assert [rule for rule in rules_of(value, wanted()) if "policy" in rule] == []
