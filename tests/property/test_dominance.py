"""The claim of the dominance proof, tried on random nodes with kube-scheduler's sums written down a second time."""

from __future__ import annotations

from dataclasses import replace

from builders import GPU, group, policy
from hypothesis import assume, given
from hypothesis import strategies as st

from gpupolicy.compiler.dominance import Fate, Proof, prove
from gpupolicy.model import GPUType, Profile, ResourceWeight, ScoringStrategy, overflow_weights

PERCENT = st.integers(min_value=0, max_value=100)
Resources = dict[str, int]


def proof_of(gpus: int, weights: Resources, **chosen: object) -> Proof:
    """The proof of a MostAllocated profile with these resource weights, for nodes of so many GPUs."""
    resources = tuple(ResourceWeight(name=name, weight=weight) for name, weight in weights.items())
    profile = Profile(scheduler_name="gpu-binpack", scoring_strategy=ScoringStrategy(resources=resources))
    types = (GPUType(name="V100", gpus_per_node=gpus), GPUType(name="A100", gpus_per_node=gpus))
    groups = chosen.pop("groups", ())
    made = policy(*groups, types=types)  # type: ignore[misc]
    return prove(replace(made, **chosen), profile)  # type: ignore[arg-type]


def fit_score(weights: Resources, gpus: int, used: int, cpu: int, memory: int) -> int:
    """MostAllocated: whole percents of each resource, their weighted mean, the fraction dropped."""
    shares = {"cpu": cpu, "memory": memory, GPU: 100 * used // gpus}
    return sum(weights[name] * shares[name] for name in weights) // sum(weights.values())


def opposing(proof: Proof, share: int) -> int:
    """What the scorers that stay say, at some percent of their reach."""
    return sum(scorer.reach for scorer in proof.scorers if scorer.fate is Fate.STAYS) * share // 100


SMALL, LARGE = st.integers(min_value=1, max_value=2), st.integers(min_value=60, max_value=100)
GPU_HEAVY = st.fixed_dictionaries({"cpu": SMALL, "memory": SMALL, GPU: LARGE})
ANY = st.fixed_dictionaries({name: st.integers(min_value=1, max_value=100) for name in ("cpu", "memory", GPU)})


@given(st.integers(min_value=2, max_value=10), GPU_HEAVY, st.data())
def test_the_node_with_more_gpus_in_use_wins_whatever_else_is_said(
    gpus: int, weights: Resources, data: st.DataObject
) -> None:
    proof = proof_of(gpus, weights)
    assume(proof.dominant)
    less = data.draw(st.integers(min_value=1, max_value=gpus - 1))
    more = data.draw(st.integers(min_value=less + 1, max_value=gpus))
    fuller = fit_score(weights, gpus, more, data.draw(PERCENT), data.draw(PERCENT))
    emptier = fit_score(weights, gpus, less, data.draw(PERCENT), data.draw(PERCENT))

    assert proof.fit_weight * fuller > proof.fit_weight * emptier + opposing(proof, data.draw(PERCENT))


@given(st.integers(min_value=2, max_value=10), GPU_HEAVY)
def test_a_smaller_weight_of_the_plugin_would_not_do(gpus: int, weights: Resources) -> None:
    proof = proof_of(gpus, weights)
    assume(proof.dominant)

    assert (proof.fit_weight - 1) * proof.lead <= proof.opposition


@given(st.integers(min_value=2, max_value=16), ANY)
def test_without_dominance_there_are_nodes_where_packing_loses_or_ties(gpus: int, weights: Resources) -> None:
    proof = proof_of(gpus, weights)
    assume(not proof.dominant)

    assert any(
        fit_score(weights, gpus, used + 1, 0, 0) <= fit_score(weights, gpus, used, 100, 100) for used in range(1, gpus)
    )


@given(st.integers(min_value=1, max_value=8), st.integers(min_value=2, max_value=16), st.data())
def test_the_best_level_of_overflow_wins_over_every_lower_one(depth: int, gpus: int, data: st.DataObject) -> None:
    """NodeAffinity's own normalising: percent of the best feasible node's sum, the fraction dropped."""
    names = tuple(f"G{number}" for number in range(depth + 1))
    groups = (group("G0", 1, 2, 4, 8, overflow=names[1:]), *(group(name, 1) for name in names[1:]))
    proof = proof_of(gpus, {"cpu": 1, "memory": 1, GPU: 100}, groups=groups)
    assert proof.overflow is not None
    terms = (*overflow_weights(depth + 1), 0)
    best = data.draw(st.integers(min_value=0, max_value=depth - 1))
    lower = data.draw(st.integers(min_value=best + 1, max_value=depth))
    reached = proof.overflow.weight * (100 * terms[lower] // terms[best])

    assert proof.overflow.weight * 100 > reached + proof.fit_weight * 100 + opposing(proof, 100)
