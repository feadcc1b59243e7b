"""What a pod requires of its nodes by itself, and what that leaves of the GPU types and slot groups on offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gpupolicy.errors import FieldPath, shown
from gpupolicy.labels import Requirement
from gpupolicy.model import Policy
from gpupolicy.pod import NODE_AFFINITY, REQUIRED, PodView, Term

_MOST_VALUES_TOLD = 5
_NO_WISHES: Mapping[str, Wish] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing a pod requires of its nodes, and where it says so."""

    field: FieldPath
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class Way:
    """One way of placing a pod: a required term with the nodeSelector, or the nodeSelector alone.

    ``field`` is the term or the nodeSelector. ``blocker`` is the wish that left no slot group, if one did, and
    ``narrowed_by`` are those that had left fewer before it. ``matches_nothing``: no node can meet it, be it one of the
    policy or another.
    """

    field: FieldPath
    gpu_types: tuple[str, ...]
    slot_groups: tuple[str, ...]
    blocker: Wish | None = None
    narrowed_by: tuple[Wish, ...] = ()
    matches_nothing: bool = False

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
    selector = {wish.requirement.key: wish for wish in _selector_wishes(view)}
    selected = _narrow(policy, offered, selector.values())
    if not selected.is_possible:
        return [selected]
    if view.requires_no_term:
        return [Way((*NODE_AFFINITY, REQUIRED), (), (), matches_nothing=True)]
    if not view.required_terms:
        return [selected]
    return [_weigh(policy, selected, selector, term, ours) for term in view.required_terms]


def find_rivals(policy: Policy, way: Way, gpu_types: tuple[str, ...], slot_groups: tuple[str, ...]) -> tuple[Wish, ...]:
    """Returns the other wishes without which the blocker of a way could be met; none where it cannot be met at all."""
    offered = Way(way.field, gpu_types, slot_groups)
    if way.blocker is None or not _narrow(policy, offered, [way.blocker]).is_possible:
        return ()
    for wish in way.narrowed_by:
        if not _narrow(policy, offered, [wish, way.blocker]).is_possible:
            return (wish,)
    return way.narrowed_by


def _weigh(
    policy: Policy, selected: Way, selector: Mapping[str, Wish], term: Term, ours: tuple[Requirement, ...]
) -> Way:
    if term.is_empty:
        return Way(term.field, (), (), matches_nothing=True)
    way = Way(term.field, selected.gpu_types, selected.slot_groups, narrowed_by=selected.narrowed_by)
    return _narrow(policy, way, _term_wishes(term, ours), selector)


def _selector_wishes(view: PodView) -> Iterator[Wish]:
    for key, value in view.node_selector.items():
        yield Wish(("spec", "nodeSelector", key), Requirement(key=key, operator="In", values=(value,)))


def _term_wishes(term: Term, ours: tuple[Requirement, ...]) -> Iterator[Wish]:
    for position, requirement in enumerate(term.requirements):
        if requirement is not None and requirement not in ours:
            yield Wish(term.place(position), requirement)


def _narrow(policy: Policy, way: Way, wishes: Iterable[Wish], selector: Mapping[str, Wish] = _NO_WISHES) -> Way:
    """Takes off a way what wishes exclude; ``selector`` holds those of the nodeSelector by key, which hold as well."""
    types, groups, narrowed_by = way.gpu_types, way.slot_groups, [*way.narrowed_by]
    for wish in wishes:
        requirement = resolve_aliases(policy, wish.requirement)
        if requirement.lacks_number:
            return Way(way.field, (), (), wish, matches_nothing=True)
        chosen = selector.get(requirement.key)
        if chosen is not None and not requirement.matches(_label_of(policy, chosen)):
            return Way(way.field, (), (), wish, (chosen,), matches_nothing=True)
        if requirement.key not in policy.known_label_keys:
            continue
        if _names_none(policy, requirement, types):
            return Way(way.field, (), (), wish, tuple(narrowed_by), matches_nothing=True)
        before = types, groups
        if requirement.key == policy.labels.node_group:
            groups = tuple(name for name in groups if requirement.matches({requirement.key: name}))
        else:
            types = tuple(name for name in types if _may_meet(policy, name, requirement))
        groups = tuple(name for name in groups if not policy.types_of_group[name].isdisjoint(types))
        if not groups:
            return Way(way.field, types, (), wish, tuple(narrowed_by))
        if (types, groups) != before:
            narrowed_by.append(wish)
    served = tuple(t for t in types if any(t in policy.types_of_group[name] for name in groups))
    return Way(way.field, served, groups, narrowed_by=tuple(narrowed_by))


def _names_none(policy: Policy, requirement: Requirement, gpu_types: tuple[str, ...]) -> bool:
    """Returns whether a requirement lists only values of our own labels that no node has which could take the pod."""
    if requirement.operator != "In":
        return False
    if requirement.key == policy.labels.gpu_type:
        return not any(value in gpu_types for value in requirement.values)
    return requirement.key == policy.labels.node_group and policy.groups_by_name.keys().isdisjoint(requirement.values)


def _label_of(policy: Policy, chosen: Wish) -> dict[str, str]:
    """Returns the label that a wish of the nodeSelector wants on the node."""
    requirement = resolve_aliases(policy, chosen.requirement)
    return {requirement.key: requirement.values[0]}


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
