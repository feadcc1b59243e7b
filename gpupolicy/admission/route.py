"""What a target means for a pod: the requirements and preferred terms that send it there, and the note of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from gpupolicy.admission.placement import Target
from gpupolicy.labels import Requirement
from gpupolicy.model import Policy, Routing, Taint, TaintEffect, overflow_weights
from gpupolicy.pod import PodView

ROUTED_TO = "gpupolicy.dev/routed-to"
_LONGEST_NOTE = 16_384  # an author may write anything there


@dataclass(frozen=True, slots=True)
class Preference:
    """A preferred term with one expression; ``weight`` is the term's, 1..100."""

    weight: int
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class Route:
    """How a pod is sent to a target.

    Every way of placing the pod has to meet the ``requirements``; the ``preferences`` keep the order of overflow;
    the ``note`` goes into an annotation, so that a later run knows which of them are ours. ``taints`` are those of its
    groups' nodes, which the pod has to tolerate; without the ``binding`` ones among them it cannot go where it must.
    """

    target: Target
    requirements: tuple[Requirement, ...] = ()
    preferences: tuple[Preference, ...] = ()
    note: str = ""
    taints: tuple[Taint, ...] = ()
    binding: frozenset[Taint] = frozenset()


NOWHERE = Route(Target((), ()))


def find_route(policy: Policy, target: Target) -> Route:
    """Returns the route to a target that the policy itself has named."""
    key = ("route", target)
    if key not in policy.memo:
        policy.memo[key] = _make_route(policy, target)
    return cast(Route, policy.memo[key])


def find_previous(policy: Policy, view: PodView) -> Route:
    """Returns the route that an earlier run of ours noted on the pod; NOWHERE where there is none.

    Anybody can write the note, so it may only say which requirements to replace, never what is allowed.
    """
    note = view.annotations.get(ROUTED_TO)
    if not isinstance(note, str) or not note or len(note) > _LONGEST_NOTE:
        return NOWHERE
    groups, _, types = note.partition("|")
    levels = tuple(tuple(level.split(",")) for level in groups.split(">")) if groups else ()
    return _make_route(policy, Target(levels, tuple(types.split(",")), requires_type=bool(types)))


def _make_route(policy: Policy, target: Target) -> Route:
    taints = tuple(taint for name in target.groups if (taint := policy.taints_by_group.get(name)))
    return Route(
        target,
        _requirements(policy, target),
        _preferences(policy, target),
        _note(target),
        taints,
        _binding(policy, taints),
    )


def _binding(policy: Policy, taints: tuple[Taint, ...]) -> frozenset[Taint]:
    """A taint of effect PreferNoSchedule keeps nobody off, and a preferred routing binds to no node."""
    if policy.admission.routing is not Routing.REQUIRED:
        return frozenset()
    return frozenset(taint for taint in taints if taint.effect != TaintEffect.PREFER_NO_SCHEDULE)


def _requirements(policy: Policy, target: Target) -> tuple[Requirement, ...]:
    groups = target.groups if policy.admission.routing is Routing.REQUIRED else target.fence
    wanted = [Requirement(key=policy.labels.node_group, operator="In", values=groups)] if groups else []
    if target.requires_type:
        wanted.append(Requirement(key=policy.labels.gpu_type, operator="In", values=target.gpu_types))
    return tuple(wanted)


def _preferences(policy: Policy, target: Target) -> tuple[Preference, ...]:
    """Returns one preference a level; the last level of a required routing needs none."""
    has_last = policy.admission.routing is not Routing.REQUIRED
    weights = overflow_weights(len(target.levels) + has_last)
    key = policy.labels.node_group
    return tuple(
        Preference(weight, Requirement(key=key, operator="In", values=level))
        for weight, level in zip(weights, target.levels, strict=False)
    )


def _note(target: Target) -> str:
    groups = ">".join(",".join(level) for level in target.levels)
    return f"{groups}|{','.join(target.gpu_types)}" if target.requires_type else groups
