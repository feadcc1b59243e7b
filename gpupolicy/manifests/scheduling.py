"""What the scheduler will do with a pod, in words: which nodes it looks at, in which order, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.admission import Decision, Placement
from gpupolicy.admission.tolerations import find_untolerated
from gpupolicy.model import Policy, Profile, Routing, SchedulerMode, StrategyType
from gpupolicy.pod import PodView
from gpupolicy.workloads import PodTemplate

_DEFAULT = "default-scheduler"
_CHOICE = {
    StrategyType.MOST_ALLOCATED: "of those it takes the fullest, so that whole nodes stay free",
    StrategyType.LEAST_ALLOCATED: "of those it takes the emptiest, which spreads pods",
}


def tell_scheduling(policy: Policy, template: PodTemplate, decision: Decision) -> tuple[str, ...]:
    """Tells what comes after admission.

    Args:
        policy: the policy.
        template: the pod.
        decision: what was decided on it.

    Returns:
        Short sentences in order; empty for a pod that asks for no GPU.
    """
    if not decision.allowed:
        again = "; what makes it tries again, and only events say why" if template.owner_kind else ""
        return (f"nothing, because no pod is made{again}",)
    if not decision.gpus:
        return ()
    spec = template.pod.get("spec")
    if isinstance(spec, Mapping) and spec.get("nodeName"):
        return (f"nothing: spec.nodeName sends the pod to {spec['nodeName']}, whether it has room or not",)
    if decision.placement is None:
        return ("goes by what the pod itself says; this policy sends it nowhere",)
    return tuple(_tell(policy, decision.placement, decision.gpus, PodView(template.pod)))


def _tell(policy: Policy, placement: Placement, gpus: Mapping[str, int], view: PodView) -> Iterator[str]:
    name = placement.scheduler_name
    profile = next((each for each in policy.scheduler.profiles if each.scheduler_name == name), None)
    yield from _who(policy, name, profile)
    yield from _where(policy, placement, gpus)
    yield from _tolerated(policy, placement, view)
    if profile is not None:
        yield _choice(profile)
    if policy.admission.routing is Routing.REQUIRED and placement.slot_groups:
        yield "where none has room the pod waits, whatever room there is in other groups"
    else:
        yield "where no node has room the pod waits"


def _who(policy: Policy, name: str | None, profile: Profile | None) -> Iterator[str]:
    if name in (None, "", _DEFAULT):
        yield f"{_DEFAULT} places it; without a profile that packs it spreads pods over nodes"
    elif profile is None:
        yield f"{name} places it by rules of its own, which this policy does not know"
    else:
        is_second = policy.scheduler.mode is SchedulerMode.SECOND
        runs = "a second scheduler" if is_second else "the control plane's scheduler"
        yield f"{runs} places it by its profile {name}"


def _where(policy: Policy, placement: Placement, gpus: Mapping[str, int]) -> Iterator[str]:
    """Tells the nodes that come into question, and the order of the groups."""
    room = " and ".join(f"{amount} {name}" for name, amount in sorted(gpus.items()))
    size = sum(gpus.values())
    own = [name for name in placement.slot_groups if size in policy.groups_by_name[name].sizes]
    overflow = [name for name in placement.slot_groups if name not in own]
    first, later = (own, overflow) if own else (overflow[:1], overflow[1:])  # a wish may leave overflow alone
    types = " or ".join(placement.gpu_types)
    if policy.admission.routing is Routing.OFF or not placement.slot_groups:
        yield f"it looks at every node of {types} with {room} free"
        return
    if policy.admission.routing is Routing.PREFERRED:
        yield f"it prefers nodes of {' and '.join(first)} with {room} free, and takes others where these are full"
    else:
        yield f"it looks only at nodes of {' and '.join(placement.slot_groups)} ({types}) with {room} free"
    if later:
        rest = ", then at those of ".join(later)
        yield f"first at those of {' and '.join(first)}; where none has room, at those of {rest}"
    elif len(own) > 1:
        yield f"{' and '.join(own)} are equal to it"


def _tolerated(policy: Policy, placement: Placement, view: PodView) -> Iterator[str]:
    """Tells the taints of the groups, and by whose toleration the pod may go there."""
    if policy.admission.routing is Routing.OFF:
        return
    taints = [taint for name in placement.slot_groups if (taint := policy.taints_by_group.get(name)) is not None]
    added = find_untolerated(view, taints)
    for taint in taints:
        whose = "a toleration that admission adds" if taint in added else "its own toleration"
        yield f"{whose} lets it onto nodes with the taint {taint}"


def _choice(profile: Profile) -> str:
    strategy = profile.scoring_strategy
    weights = ", ".join(f"{resource.name} {resource.weight}" for resource in strategy.resources)
    if strategy.type in _CHOICE:
        return f"{_CHOICE[strategy.type]} (by weight: {weights})"
    points = ", ".join(f"{point.utilization} % scores {point.score}" for point in strategy.shape)
    return f"of those it takes the one whose use scores highest: {points} (by weight: {weights})"
