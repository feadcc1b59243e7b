"""Does it pack: the numbers behind the warnings."""

from __future__ import annotations

from typing import Any

import pytest
from builders import gpu_type, policy
from foreign_builders import GPU, findings_of, messages_of, packing, points, profile, rules_of, scheduler_configuration

from gpupolicy.model import Profile, ResourceWeight, Scheduler, ScoringStrategy

QUIET = {"PodTopologySpread": {"defaultingType": "List"}}
ALONE = {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}, {"name": "ImageLocality"}]}}


def configuration(args: dict[str, Any], name: str = "gpu-binpack", **fields: Any) -> dict[str, Any]:
    """A profile with arguments of NodeResourcesFit and nothing that competes, unless told otherwise."""
    return scheduler_configuration(profile(name, args={"NodeResourcesFit": args, **QUIET}, plugins=ALONE, **fields))


def test_a_profile_that_packs_is_left_alone() -> None:
    assert rules_of(configuration(packing(cpu=1, memory=1, gpu=100))) == []


@pytest.mark.parametrize("weight", [1, 3, 16])
def test_a_gpu_weight_that_can_lose_is_told(weight: int) -> None:
    assert rules_of(configuration(packing(cpu=1, memory=1, gpu=weight))) == ["warning gpu-weight-too-low"]


@pytest.mark.parametrize("weight", [17, 19, 100])
def test_a_gpu_weight_that_never_loses_is_not_told(weight: int) -> None:
    assert "warning gpu-weight-too-low" not in rules_of(configuration(packing(cpu=1, memory=1, gpu=weight)))


def test_the_smallest_weights_that_are_enough_are_in_the_hint() -> None:
    (finding,) = findings_of(configuration(packing(cpu=1, memory=1, gpu=1)))

    assert finding.hint == "17 never loses, 19 always wins"


def test_where_no_weight_is_enough_the_hint_says_so() -> None:
    (finding,) = findings_of(configuration(packing(cpu=50, memory=50, gpu=100)))

    assert finding.hint == "no weight up to 100 is enough; lower the others, or list the GPU's resource alone"


def test_larger_nodes_of_the_policy_need_a_larger_weight() -> None:
    large = policy(types=(gpu_type("A100", 16),))

    (message,) = messages_of(configuration(packing(cpu=1, memory=1, gpu=33)), "gpu-weight-too-low", large)

    assert message == (
        f"the weight of {GPU} is 33 beside 2 of other resources; on nodes of 16 GPUs a busy cpu outvotes a GPU in use"
    )


def test_the_gpu_alone_needs_no_weight() -> None:
    assert rules_of(configuration(packing(gpu=1))) == []


@pytest.mark.parametrize(
    ("args", "plugins", "rivals"),
    [
        pytest.param({}, ALONE, "PodTopologySpread (200)", id="spread"),
        pytest.param(QUIET, {}, "NodeResourcesBalancedAllocation (50), ImageLocality (100)", id="balance-and-images"),
        pytest.param(
            {"PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]}},
            ALONE,
            "PodTopologySpread (200)",
            id="constraints-of-its-own",
        ),
    ],
)  # fmt: skip
def test_plugins_that_can_outvote_the_packing_are_named(
    args: dict[str, Any], plugins: dict[str, Any], rivals: str
) -> None:
    value = scheduler_configuration(
        profile("gpu-binpack", args={"NodeResourcesFit": packing(cpu=1, memory=1, gpu=100), **args}, plugins=plugins)
    )

    (message,) = messages_of(value, "packing-outweighed")

    assert message.endswith(f"these can give more: {rivals}")


@pytest.mark.parametrize(("weight", "found"), [pytest.param(20, 1, id="too-small"), pytest.param(21, 0, id="enough")])
def test_a_weight_of_the_plugin_itself_can_be_enough(weight: int, found: int) -> None:
    plugins = points(score=("NodeResourcesFit", weight))
    plugins["score"]["disabled"] = ALONE["score"]["disabled"]
    args = {"NodeResourcesFit": packing(cpu=1, memory=1, gpu=100)}

    value = scheduler_configuration(profile("gpu-binpack", args=args, plugins=plugins))

    assert len(messages_of(value, "packing-outweighed")) == found


def test_balance_pulled_twice_as_hard_before_1_36() -> None:
    value = scheduler_configuration(
        profile("gpu-binpack", args={"NodeResourcesFit": packing(cpu=1, memory=1, gpu=100), **QUIET})
    )

    (message,) = messages_of(value, "packing-outweighed", policy(kubernetes_version="1.35"))

    assert "NodeResourcesBalancedAllocation (100)" in message


@pytest.mark.parametrize("name", ["gpu-binpack", "bin-packing-scheduler", "most-allocated", "dense"])
def test_a_name_that_promises_to_pack_is_taken_at_its_word(name: str) -> None:
    assert rules_of(scheduler_configuration(profile(name))) == ["warning packing-profile-spreads"]


@pytest.mark.parametrize("name", ["default-scheduler", "training", "spread"])
def test_another_name_promises_nothing(name: str) -> None:
    assert rules_of(scheduler_configuration(profile(name))) == []


def test_least_allocated_under_a_packing_name_is_told() -> None:
    (message,) = messages_of(configuration(packing("LeastAllocated", gpu=1)), "packing-profile-spreads")

    assert message == "profile gpu-binpack scores by LeastAllocated, which prefers the emptier node"


def test_a_falling_shape_under_a_packing_name_is_told() -> None:
    args = packing("RequestedToCapacityRatio", gpu=1)
    shape = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    args["scoringStrategy"]["requestedToCapacityRatio"] = {"shape": shape}

    (message,) = messages_of(configuration(args), "packing-profile-spreads")

    assert message == "profile gpu-binpack scores by a shape that does not rise from its first point to its last"


def test_a_profile_of_the_policy_needs_every_gpu_resource_that_the_policy_weighs_there() -> None:
    packs = ScoringStrategy(resources=(ResourceWeight(name=GPU, weight=100),))
    profiles = (Profile(scheduler_name="gpu-binpack", scoring_strategy=packs),)
    types = (gpu_type("A100"), gpu_type("MI300", resource_name="amd.com/gpu"))
    two = policy(types=types, scheduler=Scheduler(profiles=profiles))

    assert messages_of(configuration(packing(cpu=1)), "packing-without-gpu", two) == [
        "MostAllocated scores by cpu, but not by nvidia.com/gpu"
    ]
