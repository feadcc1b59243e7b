"""Why a compiled profile packs: the weights of kube-scheduler's plugins, derived from what each of them can say.

The claim: of two nodes of one GPU type, the one with more GPUs in use gets the pod, whatever cpu, memory and the
scorers that stay say. docs/packing.md has the derivation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpupolicy.model import Policy, Profile, Routing, ScoringStrategy, overflow_weights
from gpupolicy.scoring import (
    MAX_NODE_SCORE,
    fit_step,
    gpu_step,
    is_packing,
    resources_of,
    smallest_gpu_weight,
    smallest_unbeaten_gpu_weight,
    weights_for,
)

FIT = "NodeResourcesFit"
AFFINITY = "NodeAffinity"


class Fate(StrEnum):
    """What becomes of a scorer in a profile."""

    STAYS = "stays"
    OFF = "off"
    RAISED = "raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A plugin that scores nodes. ``reach`` is the most that it can set two nodes apart, weight included."""

    name: str
    weight: int
    reach: int
    fate: Fate
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one more GPU in use is worth inside NodeResourcesFit, on the largest nodes that offer a resource.

    ``lead`` is in whole points of 100 after rounding: 0 a tie, less when cpu and memory can win.
    ``smallest_weight`` wins always, ``unbeaten_weight`` may tie; None where no weight up to 100 does.
    """

    resource_name: str
    gpus_per_node: int
    weight: int
    other_weight: int
    gpu_step: int
    lead: int
    smallest_weight: int | None
    unbeaten_weight: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverflowOrder:
    """NodeAffinity's weight that keeps the levels of overflow in order.

    ``gap`` is the least (of 100) by which the best feasible level leads after NodeAffinity's own normalising.
    """

    levels: int
    term_weights: tuple[int, ...]
    gap: int
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The weights of one profile with everything that they follow from.

    ``opposition`` is what the scorers that stay can say together against packing. ``dominant`` is false where cpu and
    memory outweigh a GPU inside NodeResourcesFit, which no plugin weight can mend, and where the strategy spreads.
    """

    scheduler_name: str
    strategy: ScoringStrategy
    packs: bool
    steps: tuple[Step, ...]
    scorers: tuple[Scorer, ...]
    opposition: int
    fit_weight: int
    overflow: OverflowOrder | None

    @property
    def lead(self) -> int:
        """The least lead over all counted resources."""
        return min((step.lead for step in self.steps), default=0)

    @property
    def dominant(self) -> bool:
        """Whether the claim of this module holds."""
        return self.packs and self.lead > 0

    @property
    def disabled(self) -> tuple[str, ...]:
        """Plugins that the profile switches off."""
        return tuple(scorer.name for scorer in self.scorers if scorer.fate is Fate.OFF)


def prove(policy: Policy, profile: Profile) -> Proof:
    """Derives the plugin weights of one profile.

    Args:
        policy: the policy that the profile is of.
        profile: the profile.

    Returns:
        The proof. Its NodeResourcesFit weight is the smallest with which one lead beats the opposition; where there is
        no lead, the smallest with which one point does. A profile that spreads keeps Kubernetes' weight 1.
    """
    strategy = profile.scoring_strategy
    packs = is_packing(strategy)
    levels = _levels(policy, profile)
    steps = tuple(_step(policy, strategy, name) for name in resources_of(policy, profile))
    scorers = _scorers(policy.kubernetes_version, packs, levels > 1)
    opposition = sum(scorer.reach for scorer in scorers if scorer.fate is Fate.STAYS)
    lead = max(1, min((step.lead for step in steps), default=1))
    fit_weight = opposition // lead + 1 if packs else 1
    return Proof(
        scheduler_name=profile.scheduler_name,
        strategy=strategy,
        packs=packs,
        steps=steps,
        scorers=scorers,
        opposition=opposition,
        fit_weight=fit_weight,
        overflow=_overflow_order(levels, fit_weight, opposition) if levels > 1 else None,
    )


def _levels(policy: Policy, profile: Profile) -> int:
    """Returns how many levels of preference a pod of this profile may have; 1 means that nothing is preferred.

    A pod's profile is that of any group it may use, so a size counts where one of its groups or their overflow has it.
    """
    if policy.admission.routing is Routing.OFF:
        return 1
    listed = max((_depth(policy, profile, size) for group in policy.slot_groups for size in group.sizes), default=0)
    return 1 + listed + (1 if policy.admission.routing is Routing.PREFERRED else 0)


def _depth(policy: Policy, profile: Profile, size: int) -> int:
    """Returns how deep the overflow of a request size goes, 0 where its pods never have this profile."""
    own = [group for group in policy.slot_groups if size in group.sizes]
    names = {name for group in own for name in (group.name, *group.overflow)}
    used = {policy.groups_by_name[name].scheduler_name for name in names if name in policy.groups_by_name}
    first = policy.scheduler_names[0] if policy.scheduler_names else profile.scheduler_name
    has_profile = profile.scheduler_name in used or (None in used and profile.scheduler_name == first)
    return max(len(group.overflow) for group in own) if has_profile else 0


def _step(policy: Policy, strategy: ScoringStrategy, resource_name: str) -> Step:
    gpus = max(t.gpus_per_node for t in policy.gpu_types if t.resource_name == resource_name)
    weight, others = weights_for(strategy, resource_name, policy.resource_names)
    return Step(
        resource_name=resource_name,
        gpus_per_node=gpus,
        weight=weight,
        other_weight=others,
        gpu_step=gpu_step(strategy, gpus),
        lead=fit_step(strategy, weight, others, gpus),
        smallest_weight=smallest_gpu_weight(strategy, others, gpus),
        unbeaten_weight=smallest_unbeaten_gpu_weight(strategy, others, gpus),
    )


def _overflow_order(levels: int, fit_weight: int, opposition: int) -> OverflowOrder:
    """The best level must win even where all other scorers together speak for a node of a lower one."""
    weights = overflow_weights(levels)
    gap = min(
        MAX_NODE_SCORE - MAX_NODE_SCORE * lower // upper
        for upper, lower in zip(weights, (*weights[1:], 0), strict=True)
    )
    against = MAX_NODE_SCORE * fit_weight + opposition
    return OverflowOrder(levels=levels, term_weights=weights, gap=gap, weight=against // gap + 1)


def _scorers(version: str, packs: bool, has_order: bool) -> tuple[Scorer, ...]:
    """Returns every default scorer but NodeResourcesFit with its default weight.

    Source: kubernetes pkg/scheduler/apis/config/v1/default_plugins.go, 1.34 to 1.37; StorageCapacityScoring is on by
    default since 1.37, NodeResourcesBalancedAllocation scores 50 to 100 since 1.36.
    """
    off = Fate.OFF if packs else Fate.STAYS
    minor = int(version.partition(".")[2])
    affinity = (
        _scorer(AFFINITY, 2, Fate.RAISED, "keeps levels in order; preferred terms of the pod count too")
        if has_order
        else _scorer(AFFINITY, 2, Fate.STAYS, "preferred node affinity of the pod")
    )
    storage = _scorer("VolumeBinding", 1, Fate.STAYS, "free capacity for volumes that are not yet bound")
    built_in = "are off" if packs else "too"
    balanced = "prefers nodes where cpu, memory and GPUs are used evenly"
    return (
        _scorer("TaintToleration", 3, Fate.STAYS, "PreferNoSchedule taints of the nodes"),
        affinity,
        _scorer(
            "PodTopologySpread", 2, Fate.STAYS, f"soft spread constraints of the pod; the built-in ones {built_in}"
        ),
        _scorer("InterPodAffinity", 2, Fate.STAYS, "preferred pod affinity and anti-affinity"),
        _scorer("DynamicResources", 2, Fate.STAYS, "prioritized alternatives in resource claims"),
        *((storage,) if minor >= 37 else ()),
        _scorer("NodeResourcesBalancedAllocation", 1, off, balanced, spread=50 if minor >= 36 else 100),
        _scorer("ImageLocality", 1, off, "prefers nodes that have the image, full or not"),
    )


def _scorer(name: str, weight: int, fate: Fate, why: str, *, spread: int = MAX_NODE_SCORE) -> Scorer:
    return Scorer(name=name, weight=weight, reach=weight * spread, fate=fate, why=why)
