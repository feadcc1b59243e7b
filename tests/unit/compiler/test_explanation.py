"""The proof in words, exactly as people read it."""

from __future__ import annotations

from builders import GPU, group, policy

from gpupolicy.compiler.dominance import Proof, prove
from gpupolicy.compiler.explanation import explain, find_weakness, summarize
from gpupolicy.model import GPUType, Policy, Profile, ResourceWeight, ScoringStrategy, ShapePoint, StrategyType


def proof(chosen: Policy | None = None, kind: StrategyType = StrategyType.MOST_ALLOCATED, **weights: int) -> Proof:
    """The proof of a profile; the keyword gpu stands for nvidia.com/gpu."""
    resources = tuple(ResourceWeight(name=GPU if key == "gpu" else key, weight=w) for key, w in weights.items())
    strategy = ScoringStrategy(type=kind, resources=resources)
    return prove(chosen or policy(), Profile(scheduler_name="gpu-binpack", scoring_strategy=strategy))


def test_the_table_shows_claim_steps_scorers_and_sums() -> None:
    text = explain(proof(policy(group("A", 8, overflow=("B",)), group("B", 1)), cpu=1, memory=1, gpu=100))

    assert (
        text
        == """\
profile gpu-binpack: MostAllocated

  claim: of two nodes of one GPU type, the one with more GPUs in use gets the pod, within one level of preference

  resource        GPUs a node  weight  others  smallest weight  lead of one GPU
  nvidia.com/gpu            8     100       2               19               10

  nvidia.com/gpu: weight 100 beside 2 on nodes of 8, 19 suffices; one more GPU in use leads by 10 of 100 or more

  scorer                           weight  reach          why
  NodeResourcesFit                    101  10100  set     GPUs in use
  TaintToleration                       3    300  stays   PreferNoSchedule taints of the nodes
  NodeAffinity                        112  11200  raised  keeps levels in order; preferred terms of the pod count too
  PodTopologySpread                     2    200  stays   soft spread constraints of the pod; the built-in ones are off
  InterPodAffinity                      2    200  stays   preferred pod affinity and anti-affinity
  DynamicResources                      2    200  stays   prioritized alternatives in resource claims
  VolumeBinding                         1    100  stays   free capacity for volumes that are not yet bound
  NodeResourcesBalancedAllocation       1     50  off     prefers nodes where cpu, memory and GPUs are used evenly
  ImageLocality                         1    100  off     prefers nodes that have the image, full or not

  NodeResourcesFit: weight 101: 101 x 10 = 1010 beats 1000, all scorers that stay together; 100 would not
  NodeAffinity: weight 112 keeps 2 levels in order (terms 100): 112 x 100 = 11200 beats 11100, all others together
"""
    )


def test_the_head_of_a_file_has_the_claim_the_sums_and_what_is_off() -> None:
    assert summarize(proof(cpu=1, memory=1, gpu=100)) == (
        "Profile gpu-binpack packs (MostAllocated): "
        "of two nodes of one GPU type, the one with more GPUs in use gets the pod.",
        "  nvidia.com/gpu: weight 100 beside 2 on nodes of 8, 19 suffices; "
        "one more GPU in use leads by 10 of 100 or more",
        "  NodeResourcesFit weight 121: 121 x 10 = 1210 beats 1200, all scorers that stay together; 120 would not",
        "  NodeResourcesBalancedAllocation off: it prefers nodes where cpu, memory and GPUs are used evenly",
        "  ImageLocality off: it prefers nodes that have the image, full or not",
        "  PodTopologySpread's built-in constraints off (defaultingType List): they spread the pods of a workload",
    )


def test_a_profile_that_spreads_claims_nothing() -> None:
    spreading = proof(kind=StrategyType.LEAST_ALLOCATED, gpu=100)

    assert summarize(spreading) == ("Profile gpu-binpack spreads (LeastAllocated), so nothing is proved for it.",)
    assert find_weakness(spreading) is None


def test_a_weight_that_ties_is_told_with_the_one_that_wins() -> None:
    assert find_weakness(proof(cpu=1, memory=1, gpu=17)) == (
        "profile gpu-binpack may not pack: weight 17 beside 2 on nodes of 8, "
        "but 19 is the smallest that always wins (from 17 on it may tie)"
    )


def test_a_node_of_too_many_gpus_is_told_what_to_leave_out() -> None:
    slices = policy(types=(GPUType(name="V100", gpus_per_node=56),))

    assert find_weakness(proof(slices, cpu=1, memory=1, gpu=100)) == (
        "profile gpu-binpack may not pack: weight 100 beside 2 on nodes of 56, "
        "no weight up to 100 suffices: leave the other resources out of the profile"
    )


def test_a_resource_that_the_profile_does_not_list_is_told() -> None:
    assert find_weakness(proof(cpu=1, memory=1)) == (
        "profile gpu-binpack may not pack: not among the profile's resources, beside 2 for others, "
        "but 19 is the smallest that always wins (from 17 on it may tie)"
    )


def test_a_shape_with_a_flat_part_is_told() -> None:
    shape = tuple(ShapePoint(utilization=x, score=y) for x, y in ((0, 0), (50, 10), (100, 10)))
    flat = ScoringStrategy(
        type=StrategyType.REQUESTED_TO_CAPACITY_RATIO, resources=(ResourceWeight(name=GPU, weight=1),), shape=shape
    )

    weakness = find_weakness(prove(policy(), Profile(scheduler_name="gpu-binpack", scoring_strategy=flat)))

    assert weakness == (
        "profile gpu-binpack may not pack: weight 1 beside 0 on nodes of 8, "
        "no weight suffices: the strategy does not score every GPU in use higher than the one before"
    )


def test_what_packs_has_no_weakness_and_what_may_not_says_so_loudly() -> None:
    assert find_weakness(proof(gpu=1)) is None
    assert summarize(proof(cpu=1, gpu=1))[0].startswith("Profile gpu-binpack MAY NOT PACK (MostAllocated): ")
    assert "  claim that does NOT hold: of two nodes" in explain(proof(cpu=1, gpu=1))
