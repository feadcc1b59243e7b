"""The arithmetic of NodeResourcesFit: golden values were computed by hand from kube-scheduler's formulas."""

from __future__ import annotations

import pytest
from builders import GPU, group, policy

from gpupolicy.model import (
    GPUType,
    NodeClaim,
    Profile,
    ResourceWeight,
    ScoringStrategy,
    ShapePoint,
    SlotGroup,
    StrategyType,
)
from gpupolicy.scoring import (
    fit_step,
    gpu_step,
    is_packing,
    resources_of,
    score_resource,
    smallest_gpu_weight,
    smallest_unbeaten_gpu_weight,
    weights_for,
)

MOST = ScoringStrategy()
LEAST = ScoringStrategy(type=StrategyType.LEAST_ALLOCATED)


def ratio(*points: tuple[int, int]) -> ScoringStrategy:
    """RequestedToCapacityRatio with (utilization, score) points."""
    shape = tuple(ShapePoint(utilization=x, score=y) for x, y in points)
    return ScoringStrategy(type=StrategyType.REQUESTED_TO_CAPACITY_RATIO, shape=shape)


RISING = ratio((0, 0), (100, 10))


@pytest.mark.parametrize(
    ("strategy", "used", "score"),
    [
        pytest.param(MOST, 3, 37, id="most"),
        pytest.param(MOST, 9, 100, id="most-beyond-the-node"),
        pytest.param(LEAST, 3, 62, id="least"),
        pytest.param(RISING, 3, 37, id="rising-shape"),
        pytest.param(ratio((20, 2), (60, 4)), 1, 20, id="below-the-first-point"),
        pytest.param(ratio((20, 2), (60, 4)), 3, 28, id="between-points"),
        pytest.param(ratio((20, 2), (60, 4)), 8, 40, id="beyond-the-last-point"),
        pytest.param(ratio((0, 10), (100, 0)), 3, 63, id="falling-shape-divides-towards-zero"),
        pytest.param(ratio(), 3, 0, id="no-shape"),
    ],
)
def test_a_resource_scores_as_kube_scheduler_scores_it(strategy: ScoringStrategy, used: int, score: int) -> None:
    assert score_resource(strategy, used, 8) == score


@pytest.mark.parametrize(
    ("strategy", "gpus", "step"),
    [
        pytest.param(MOST, 8, 12, id="most-8"),
        pytest.param(MOST, 16, 6, id="most-16"),
        pytest.param(MOST, 56, 1, id="most-56-slices"),
        pytest.param(MOST, 1, 100, id="one-gpu-leaves-nothing-to-compare"),
        pytest.param(LEAST, 8, -13, id="least"),
        pytest.param(ratio((0, 0), (50, 10), (100, 10)), 8, 0, id="flat-end"),
    ],
)
def test_one_more_gpu_in_use_adds_at_least_so_much(strategy: ScoringStrategy, gpus: int, step: int) -> None:
    assert gpu_step(strategy, gpus) == step


@pytest.mark.parametrize(
    ("strategy", "gpus", "unbeaten", "smallest"),
    [
        pytest.param(MOST, 4, 9, 9, id="4-gpus"),
        pytest.param(MOST, 8, 17, 19, id="8-gpus"),
        pytest.param(MOST, 16, 34, 41, id="16-gpus"),
        pytest.param(MOST, 56, None, None, id="56-slices"),
        pytest.param(RISING, 8, 17, 19, id="rising-shape"),
        pytest.param(LEAST, 8, None, None, id="least"),
    ],
)
def test_the_smallest_gpu_weight_beside_cpu_and_memory_of_one_each(
    strategy: ScoringStrategy, gpus: int, unbeaten: int | None, smallest: int | None
) -> None:
    assert smallest_unbeaten_gpu_weight(strategy, 2, gpus) == unbeaten
    assert smallest_gpu_weight(strategy, 2, gpus) == smallest


@pytest.mark.parametrize(
    ("weight", "lead"),
    [
        pytest.param(100, 10, id="100-leads"),
        pytest.param(19, 1, id="19-just-leads"),
        pytest.param(17, 0, id="17-ties-after-rounding"),
        pytest.param(3, -33, id="3-loses"),
        pytest.param(0, -100, id="not-listed"),
    ],
)
def test_the_lead_of_the_fuller_node_with_everything_else_against_it(weight: int, lead: int) -> None:
    assert fit_step(MOST, weight, 2, 8) == lead


def test_a_shape_that_scores_no_use_with_0_lets_cpu_and_memory_decide_there() -> None:
    """Scores of 0 lose their weight: the emptier node is judged by cpu and memory alone."""
    late = ratio((0, 0), (50, 0), (100, 10))

    assert fit_step(late, 100, 2, 8) == -100


def test_other_gpu_resources_of_the_policy_do_not_count_against_one() -> None:
    amounts = {"cpu": 1, "memory": 2, GPU: 100, "amd.com/gpu": 90}
    strategy = ScoringStrategy(resources=tuple(ResourceWeight(name=n, weight=w) for n, w in amounts.items()))

    assert weights_for(strategy, GPU, (GPU, "amd.com/gpu")) == (100, 3)


@pytest.mark.parametrize(
    ("strategy", "packs"),
    [
        pytest.param(MOST, True, id="most"),
        pytest.param(LEAST, False, id="least"),
        pytest.param(RISING, True, id="rising-shape"),
        pytest.param(ratio((0, 10), (100, 0)), False, id="falling-shape"),
        pytest.param(ratio(), False, id="no-shape"),
    ],
)
def test_a_strategy_packs_if_the_full_node_scores_higher(strategy: ScoringStrategy, packs: bool) -> None:
    assert is_packing(strategy) is packs


TYPES = (
    GPUType(name="A100", gpus_per_node=8),
    GPUType(name="A100-MIG", gpus_per_node=56, resource_name="nvidia.com/mig-1g.5gb"),
    GPUType(name="MI300", gpus_per_node=8, resource_name="amd.com/gpu"),
)


def test_a_profile_answers_for_the_resources_of_the_groups_that_use_it() -> None:
    mig = SlotGroup(name="MIG", sizes=(1,), nodes=(NodeClaim(gpu_type="A100-MIG", weight=1),), scheduler_name="slices")
    whole = group("WHOLE", 1, 2, 4, 8, types=("A100", "MI300"))
    both = policy(whole, mig, types=TYPES)
    slices = Profile(scheduler_name="slices", scoring_strategy=MOST)

    assert resources_of(both, both.scheduler.profiles[0]) == (GPU, "amd.com/gpu")
    assert resources_of(both, slices) == ("nvidia.com/mig-1g.5gb",)


def test_a_profile_that_no_group_uses_answers_for_what_it_lists() -> None:
    listed = ScoringStrategy(
        resources=(ResourceWeight(name="cpu", weight=1), ResourceWeight(name="amd.com/gpu", weight=9))
    )
    some = policy(group("WHOLE", 1, types=("A100",)), types=TYPES)

    assert resources_of(some, Profile(scheduler_name="spare", scoring_strategy=listed)) == ("amd.com/gpu",)
    assert resources_of(some, Profile(scheduler_name="spare", scoring_strategy=MOST)) == some.resource_names
