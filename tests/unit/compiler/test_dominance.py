"""The weights that a profile gets, and what they follow from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import GPU, group, policy

from gpupolicy.compiler.dominance import AFFINITY, Fate, OverflowOrder, Proof, Step, prove
from gpupolicy.model import (
    Admission,
    GPUType,
    NodeClaim,
    Policy,
    Profile,
    ResourceWeight,
    Routing,
    ScoringStrategy,
    SlotGroup,
    StrategyType,
)


def profile(name: str = "gpu-binpack", kind: StrategyType = StrategyType.MOST_ALLOCATED, **weights: int) -> Profile:
    """A profile; the keyword gpu stands for nvidia.com/gpu."""
    amounts = {GPU if key == "gpu" else key: weight for key, weight in weights.items()}
    resources = tuple(ResourceWeight(name=key, weight=weight) for key, weight in amounts.items())
    return Profile(scheduler_name=name, scoring_strategy=ScoringStrategy(type=kind, resources=resources))


CLASSIC = profile(cpu=1, memory=1, gpu=100)
SLOTS = policy()


def with_version(version: str) -> Policy:
    return replace(SLOTS, kubernetes_version=version)


def test_the_classic_weights_on_nodes_of_eight() -> None:
    proof = prove(SLOTS, CLASSIC)

    assert proof.steps == (
        Step(
            resource_name=GPU,
            gpus_per_node=8,
            weight=100,
            other_weight=2,
            gpu_step=12,
            lead=10,
            smallest_weight=19,
            unbeaten_weight=17,
        ),
    )
    assert (proof.packs, proof.dominant, proof.lead, proof.opposition, proof.fit_weight) == (True, True, 10, 1200, 121)


def test_the_largest_nodes_of_a_resource_decide() -> None:
    types = (GPUType(name="V100", gpus_per_node=4), GPUType(name="A100", gpus_per_node=16))

    (step,) = prove(policy(types=types), CLASSIC).steps

    assert (step.gpus_per_node, step.lead) == (16, 4)


@pytest.mark.parametrize(
    ("version", "opposition", "fit_weight", "balanced"),
    [
        pytest.param("1.34", 1100, 111, 100, id="1.34"),
        pytest.param("1.35", 1100, 111, 100, id="1.35"),
        pytest.param("1.36", 1100, 111, 50, id="1.36-balances-by-half"),
        pytest.param("1.37", 1200, 121, 50, id="1.37-scores-storage"),
    ],
)
def test_each_version_has_its_scorers(version: str, opposition: int, fit_weight: int, balanced: int) -> None:
    proof = prove(with_version(version), CLASSIC)
    reach = {scorer.name: scorer.reach for scorer in proof.scorers}

    assert (proof.opposition, proof.fit_weight) == (opposition, fit_weight)
    assert reach["NodeResourcesBalancedAllocation"] == balanced


def test_what_pulls_pods_apart_by_itself_is_off_and_what_people_ask_for_stays() -> None:
    fates = {scorer.name: scorer.fate for scorer in prove(SLOTS, CLASSIC).scorers}

    assert fates == {
        "TaintToleration": Fate.STAYS,
        "NodeAffinity": Fate.STAYS,
        "PodTopologySpread": Fate.STAYS,
        "InterPodAffinity": Fate.STAYS,
        "DynamicResources": Fate.STAYS,
        "VolumeBinding": Fate.STAYS,
        "NodeResourcesBalancedAllocation": Fate.OFF,
        "ImageLocality": Fate.OFF,
    }


@pytest.mark.parametrize(
    "weak",
    [
        pytest.param(profile(cpu=1, memory=1, gpu=17), id="a-tie"),
        pytest.param(profile(cpu=1, memory=1, gpu=3), id="outvoted"),
        pytest.param(profile(cpu=1, memory=1), id="gpus-not-listed"),
    ],
)
def test_a_weight_that_cannot_dominate_is_told_and_one_point_still_beats_the_rest(weak: Profile) -> None:
    proof = prove(SLOTS, weak)

    assert (proof.dominant, proof.fit_weight) == (False, proof.opposition + 1)


def test_a_profile_that_spreads_keeps_the_weights_of_kubernetes() -> None:
    proof = prove(SLOTS, profile(kind=StrategyType.LEAST_ALLOCATED, gpu=100))

    assert (proof.packs, proof.dominant, proof.fit_weight, proof.disabled) == (False, False, 1, ())


def overflowing(*names: str, routing: Routing = Routing.REQUIRED) -> Policy:
    """A policy whose first group flows over to the named ones."""
    groups = (group("OWN", 1, 2, 4, 8, overflow=names), *(group(name, 1) for name in names))
    return policy(*groups, admission=Admission(routing=routing))


@pytest.mark.parametrize(
    ("names", "order"),
    [
        pytest.param(("A",), OverflowOrder(levels=2, term_weights=(100,), gap=100, weight=112), id="two"),
        pytest.param(("A", "B"), OverflowOrder(levels=3, term_weights=(100, 10), gap=90, weight=124), id="three"),
        pytest.param(
            ("A", "B", "C", "D"),
            OverflowOrder(levels=5, term_weights=(100, 22, 5, 1), gap=78, weight=143),
            id="five",
        ),
    ],
)
def test_overflow_sets_the_weight_of_node_affinity_by_the_narrowest_gap(
    names: tuple[str, ...], order: OverflowOrder
) -> None:
    """NodeAffinity then opposes nobody: 1000 points stay, so NodeResourcesFit needs 101 and its reach is 10100."""
    proof = prove(overflowing(*names), CLASSIC)

    assert (proof.opposition, proof.fit_weight) == (1000, 101)
    assert proof.overflow == order


def overflow_of(policy: Policy, profile: Profile) -> OverflowOrder | None:
    return prove(policy, profile).overflow


def test_preferred_routing_has_one_level_more_because_other_nodes_are_the_last() -> None:
    assert overflow_of(overflowing(routing=Routing.PREFERRED), CLASSIC) == overflow_of(overflowing("A"), CLASSIC)


@pytest.mark.parametrize(
    "without",
    [
        pytest.param(overflowing(), id="no-overflow"),
        pytest.param(overflowing("A", routing=Routing.OFF), id="no-routing"),
    ],
)
def test_without_preferred_terms_node_affinity_keeps_its_weight(without: Policy) -> None:
    proof = prove(without, CLASSIC)

    assert proof.overflow is None
    assert {scorer.name: scorer.weight for scorer in proof.scorers}[AFFINITY] == 2


def test_overflow_counts_only_for_profiles_that_its_pods_may_have() -> None:
    claim = (NodeClaim(gpu_type="V100", weight=1),)
    apart = SlotGroup(name="APART", sizes=(1,), nodes=claim, scheduler_name="apart")
    shared = SlotGroup(name="SHARED", sizes=(4,), nodes=claim, scheduler_name="shared")
    both = policy(group("OWN", 8, overflow=("SHARED",)), shared, apart)

    assert overflow_of(both, CLASSIC) is not None
    assert overflow_of(both, replace(CLASSIC, scheduler_name="shared")) is not None
    assert overflow_of(both, replace(CLASSIC, scheduler_name="apart")) is None


def least_lead(proof: Proof) -> int:
    return min(step.lead for step in proof.steps)


def test_the_resource_with_the_least_lead_sets_the_weight() -> None:
    types = (GPUType(name="V100", gpus_per_node=8), GPUType(name="A100", gpus_per_node=16, resource_name="amd.com/gpu"))
    resources = (ResourceWeight(name=GPU, weight=100), ResourceWeight(name="amd.com/gpu", weight=100))

    proof = prove(
        policy(types=types), Profile(scheduler_name="x", scoring_strategy=ScoringStrategy(resources=resources))
    )

    assert (least_lead(proof), proof.fit_weight) == (6, 201)
