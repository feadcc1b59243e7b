"""Profiles of a configuration that is in use are taken, with weights that hold; else the classic one is proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fleets import mig, two_types

from gpupolicy import load_text
from gpupolicy.discovery import Discovery, discover
from gpupolicy.discovery.profiles import read_configuration
from gpupolicy.errors import InputError
from gpupolicy.linting import lint_text
from gpupolicy.loading.documents import read_documents
from gpupolicy.model import LeaderElection, Scheduler, StrategyType

GPU = "nvidia.com/gpu"


def profile(name: str, strategy: dict[str, Any] | None) -> dict[str, Any]:
    args = {} if strategy is None else {"scoringStrategy": strategy}
    return {"schedulerName": name, "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}


def packing(**weights: int) -> dict[str, Any]:
    resources = [{"name": name.replace("__", ".com/"), "weight": weight} for name, weight in weights.items()]
    return {"type": "MostAllocated", "resources": resources}


def found(*profiles: dict[str, Any], nodes: list[dict[str, Any]] | None = None, **fields: Any) -> Discovery:
    configuration = {"kind": "KubeSchedulerConfiguration", "profiles": [*profiles], **fields}
    return discover(nodes or two_types(), configuration=configuration, configuration_name="scheduler.yaml")


def scheduler(result: Discovery) -> Scheduler:
    assert lint_text(result.text) == ()
    return load_text(result.text).scheduler


def weights(result: Discovery) -> dict[str, int]:
    (only,) = scheduler(result).profiles
    return {resource.name: resource.weight for resource in only.scoring_strategy.resources}


def test_the_classic_profile_is_proposed() -> None:
    assert weights(discover(two_types())) == {GPU: 100, "cpu": 1, "memory": 1}


def test_names_and_weights_are_taken() -> None:
    result = found(profile("bin-packing-scheduler", packing(cpu=2, memory=1, nvidia__gpu=90)))

    assert (scheduler(result).profiles[0].scheduler_name, weights(result), result.notes) == (
        "bin-packing-scheduler",
        {GPU: 90, "cpu": 2, "memory": 1},
        (),
    )


def test_a_weight_that_cpu_and_memory_outvote_is_raised_and_it_is_said() -> None:
    result = found(profile("packing", packing(cpu=1, memory=1, nvidia__gpu=3)))

    assert (weights(result)[GPU], "# 3 in scheduler.yaml, where cpu and memory can outvote it" in result.text) == (
        17,
        True,
    )


def test_resources_that_no_weight_outvotes_are_left_out() -> None:
    assert weights(found(profile("packing", packing(cpu=50, memory=50, nvidia__gpu=3)))) == {GPU: 3}


def test_a_resource_that_nobody_weighed_is_weighed() -> None:
    assert weights(found(profile("packing", packing(cpu=1)))) == {GPU: 100, "cpu": 1}


def test_a_resource_that_no_type_counts_is_left_out() -> None:
    result = found(profile("packing", packing(nvidia__gpu=100, nvidia__gpus=100)))

    assert (weights(result), result.notes) == (
        {GPU: 100},
        ("profile packing of scheduler.yaml weighs nvidia.com/gpus, which no GPU type counts",),
    )


def test_the_default_scheduler_gets_a_name_of_its_own() -> None:
    assert scheduler(found(profile("default-scheduler", packing(nvidia__gpu=100)))).profiles[0].scheduler_name == (
        "gpu-packing"
    )


def test_profiles_that_spread_are_left_out() -> None:
    result = found(profile("packing", packing(nvidia__gpu=100)), profile("spreading", {"type": "LeastAllocated"}))

    assert (len(scheduler(result).profiles), result.notes) == (
        1,
        ("profile spreading of scheduler.yaml does not pack, so it is left out",),
    )


def test_without_a_profile_that_packs_the_classic_one_is_proposed() -> None:
    result = found(profile("spreading", {"type": "LeastAllocated"}))

    assert (weights(result), result.notes[-1]) == (
        {GPU: 100, "cpu": 1, "memory": 1},
        "scheduler.yaml has no profile that packs GPUs; the classic profile is proposed",
    )


def test_several_profiles_that_pack_are_kept() -> None:
    result = found(profile("one", packing(nvidia__gpu=100)), profile("two", packing(cpu=1, nvidia__gpu=100)))

    assert [each.scheduler_name for each in scheduler(result).profiles] == ["one", "two"]


def test_a_shape_is_taken() -> None:
    points = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": points}}
    (only,) = scheduler(found(profile("packing", {**strategy, "resources": [{"name": GPU, "weight": 5}]}))).profiles

    assert (only.scoring_strategy.type, len(only.scoring_strategy.shape)) == (
        StrategyType.REQUESTED_TO_CAPACITY_RATIO,
        2,
    )


def test_slices_get_a_profile_without_cpu_and_memory() -> None:
    profiles = scheduler(discover(mig())).profiles

    assert [(p.scheduler_name, len(p.scoring_strategy.resources)) for p in profiles] == [
        ("gpu-packing", 3),
        ("gpu-packing-slices", 2),
    ]


def test_the_lease_is_taken() -> None:
    election = {"resourceName": "packing", "resourceNamespace": "gpu-system", "leaseDuration": "30s"}
    result = found(profile("packing", packing(nvidia__gpu=100)), leaderElection=election)

    assert scheduler(result).leader_election == LeaderElection(
        resource_name="packing", resource_namespace="gpu-system", lease_duration_seconds=30
    )


@pytest.mark.parametrize(
    "election",
    [
        pytest.param({"leaderElect": False, "resourceName": "packing"}, id="off"),
        pytest.param({"resourceName": "Bad Name", "leaseDuration": "soon"}, id="unreadable"),
        pytest.param({"leaseDuration": "5s", "renewDeadline": "10s"}, id="contradiction"),
    ],
)
def test_a_lease_that_no_policy_can_hold_is_left_out(election: dict[str, Any]) -> None:
    result = found(profile("packing", packing(nvidia__gpu=100)), leaderElection=election)

    assert scheduler(result).leader_election is None


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param({"profiles": 3}, id="profiles-is-a-number"),
        pytest.param({"profiles": [None, {"schedulerName": 7}]}, id="odd-profiles"),
        pytest.param({"profiles": [profile("a", {"type": "Whatever"})]}, id="unknown-strategy"),
        pytest.param({"profiles": [profile("a", packing(nvidia__gpu=-4))]}, id="weight-below-one"),
        pytest.param({"profiles": [profile("a", packing(nvidia__gpu=10**9))]}, id="weight-above-hundred"),
        pytest.param({"profiles": [profile("Bad Name", packing(nvidia__gpu=9))]}, id="bad-name"),
        pytest.param({"profiles": [profile("a", packing(nvidia__gpu=99))] * 2}, id="twice"),
        pytest.param({"leaderElection": "yes"}, id="election-is-text"),
    ],
)
def test_an_odd_configuration_does_no_harm(configuration: dict[str, Any]) -> None:
    assert lint_text(discover(two_types(), configuration=configuration, configuration_name="odd.yaml").text) == ()


def test_a_file_without_a_configuration_is_refused() -> None:
    with pytest.raises(InputError, match="there is no KubeSchedulerConfiguration in it"):
        read_configuration(read_documents("kind: Pod", "pod.yaml"), "pod.yaml")


def test_a_file_that_is_no_yaml_is_refused_with_its_line() -> None:
    with pytest.raises(InputError) as caught:
        read_configuration(read_documents("kind: [", str(Path("scheduler.yaml"))), "scheduler.yaml")

    assert (caught.value.file, caught.value.line is not None) == ("scheduler.yaml", True)
