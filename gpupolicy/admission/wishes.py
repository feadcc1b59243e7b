"""What a pod requires of its nodes by itself, and what that leaves of the GPU types and slot groups on offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, shown
from gpupolicy.labels import Requirement
from gpupolicy.model import Policy
from gpupolicy.pod import NODE_AFFINITY, REQUIRED, PodView, Term

_MOST_VALUES_TOLD = 5


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing a pod requires of its nodes, and where it says so."""

    field: FieldPath
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class Way:
    """One way of placing a pod: a required term with the nodeSelector, or the nodeSelector alone.

    ``field`` is the term or the nodeSelector. ``blocker`` is the wish that left no slot group, if one did. An empty one
    is a term, or a list of terms, that holds nothing.
    """

    field: FieldPath
    gpu_types: tuple[str, ...]
    slot_groups: tuple[str, ...]
    blocker: Wish | None = None
    is_empty: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether some node of the policy could meet it."""
        return bool(self.slot_groups)


def find_ways(
    policy: Policy,
    view: PodView,
    gpu_types: tuple[str, ...],
    slot_groups: tuple[str, ...],
    ours: tuple[Requirement, ...] = (),
) -> list[Way]:
    """Weighs each required term of a pod, with its nodeSelector, against what is on offer.

    Args:
        policy: the policy.
        view: the pod.
        gpu_types: names of the types on offer.
        slot_groups: names of the groups on offer.
        ours: requirements that an earlier run of ours added, which are no wishes of the user.

    Returns:
        One way a term, in order; one for the nodeSelector where no terms are required, or where it leaves nothing.
    """
    offered = Way(("spec", "nodeSelector"), gpu_types, slot_groups)
    selected = _narrow(policy, offered, _selector_wishes(view)) if view.node_selector else offered
    if not selected.is_possible:
        return [selected]
    if view.requires_no_term:
        return [Way((*NODE_AFFINITY, REQUIRED), (), (), None, is_empty=True)]
    if not view.required_terms:
        return [selected]
    return [_weigh(policy, selected, term, ours) for term in view.required_terms]


def _weigh(policy: Policy, selected: Way, term: Term, ours: tuple[Requirement, ...]) -> Way:
    if term.is_empty:
        return Way(term.field, (), (), None, is_empty=True)
    way = Way(term.field, selected.gpu_types, selected.slot_groups)
    return _narrow(policy, way, _term_wishes(term, ours))


def _selector_wishes(view: PodView) -> Iterator[Wish]:
    for key, value in view.node_selector.items():
        yield Wish(("spec", "nodeSelector", key), Requirement(key=key, operator="In", values=(value,)))


def _term_wishes(term: Term, ours: tuple[Requirement, ...]) -> Iterator[Wish]:
    for position, requirement in enumerate(term.requirements):
        if requirement is not None and requirement not in ours:
            yield Wish(term.place(position), requirement)


def _narrow(policy: Policy, way: Way, wishes: Iterable[Wish]) -> Way:
    types, groups = way.gpu_types, way.slot_groups
    for wish in wishes:
        if wish.requirement.key not in policy.known_label_keys:
            continue
        requirement = resolve_aliases(policy, wish.requirement)
        if requirement.key == policy.labels.node_group:
            groups = tuple(name for name in groups if requirement.matches({requirement.key: name}))
        else:
            types = tuple(name for name in types if _may_meet(policy, name, requirement))
        groups = tuple(name for name in groups if not policy.types_of_group[name].isdisjoint(types))
        if not groups:
            return Way(way.field, types, (), wish)
    served = tuple(t for t in types if any(t in policy.types_of_group[name] for name in groups))
    return Way(way.field, served, groups)


def _may_meet(policy: Policy, gpu_type: str, requirement: Requirement) -> bool:
    """Returns whether a node of a type, with labels that we do not know beside those that we do, can meet it."""
    labels, selector = policy.node_labels_of_type[gpu_type], policy.types_by_name[gpu_type].node_selector
    if requirement.key in labels:
        return requirement.matches(labels)
    return selector is None or selector.can_meet(requirement)


def resolve_aliases(policy: Policy, requirement: Requirement) -> Requirement:
    """Returns a requirement on the GPU type label with the types' names for their aliases, each once."""
    if requirement.key != policy.labels.gpu_type or not any(value in policy.aliases for value in requirement.values):
        return requirement
    values = dict.fromkeys(policy.aliases.get(value, value) for value in requirement.values)
    return Requirement(key=requirement.key, operator=requirement.operator, values=tuple(values))


def describe(requirement: Requirement) -> str:
    """Returns a requirement for a message, a long list of values cut: ``zone In [a, b]``."""
    values = [shown(value, 63) for value in requirement.values[:_MOST_VALUES_TOLD]]
    if more := len(requirement.values) - len(values):
        values.append(f"and {more} more")
    listed = f" [{', '.join(values)}]" if values else ""
    return f"{shown(requirement.key)} {requirement.operator}{listed}"
