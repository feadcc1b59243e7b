"""Selectors that tell the nodes of one GPU type from all others, by the labels that the nodes have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupolicy.discovery.hardware import Hardware
from gpupolicy.labels import LabelSelector, Requirement, find_label_key_problem, find_label_value_problem

HOSTNAME = "kubernetes.io/hostname"
MOST_VALUES = 12  # of a label that nobody told us about
_MOST_REQUIREMENTS = 5

LabelMap = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """A selector (None: the labels do not tell the nodes apart), and how it came about.

    ``guessed``: keys of labels that are in no table and only happen to tell the nodes apart. ``by_name``: nodes are
    told by their own names.
    """

    selector: LabelSelector | None = None
    guessed: tuple[str, ...] = ()
    by_name: bool = False


def separate(
    members: Sequence[LabelMap], rivals: Sequence[LabelMap], keys: Sequence[str], hardware: Hardware
) -> Separation:
    """Finds the conditions that all members meet and no rival does.

    Args:
        members: labels of the type's nodes.
        rivals: labels of nodes that must not be selected.
        keys: labels that name the product, the best first; the first that all members have starts the selector.
        hardware: the table, for what else tells nodes apart.
    """
    first = next((found for key in keys if (found := _common(members, key))), None)
    chosen = [first] if first else []
    left = _remaining(rivals, chosen)
    if left or not chosen:
        known = (*(key for key in keys if first is None or key != first.key), *hardware.discriminators)
        left = _narrow(chosen, left, list(_known(members, known)))
    before = len(chosen)
    if left or not chosen:
        left = _narrow(chosen, left, _guesses(members, hardware))
    if chosen and not left:
        guessed = tuple(requirement.key for requirement in chosen[before:])
        return Separation(selector=_to_selector(chosen), guessed=guessed)
    name = _common(members, HOSTNAME)
    if name is None or _remaining(rivals, [name]):
        return Separation()
    return Separation(selector=_to_selector([name]), by_name=True)


def _narrow(chosen: list[Requirement], left: list[LabelMap], candidates: list[Requirement]) -> list[LabelMap]:
    """Adds the requirements that keep most rivals out, the earlier of equals, until none is left or none helps.

    The first one asks for a label: that one is missing selects too much.
    """
    while (left or not chosen) and len(chosen) < _MOST_REQUIREMENTS:
        usable = [requirement for requirement in candidates if chosen or requirement.operator == "In"]
        if not usable:
            break
        best = min(usable, key=lambda requirement: len(_remaining(left, [requirement])))
        rest = _remaining(left, [best])
        if chosen and len(rest) == len(left):
            break
        chosen.append(best)
        candidates.remove(best)
        left = rest
    return left


def _known(members: Sequence[LabelMap], keys: Iterable[str]) -> Iterator[Requirement]:
    for key in dict.fromkeys(keys):
        if found := _common(members, key):
            yield found
        elif not any(key in labels for labels in members):
            yield Requirement(key=key, operator="DoesNotExist")


def _guesses(members: Sequence[LabelMap], hardware: Hardware) -> list[Requirement]:
    """Returns requirements on labels that all members have with few values, the fewest first."""
    keys = set(members[0]).intersection(*members[1:])
    found = [_common(members, key) for key in sorted(keys) if not hardware.is_personal(key) and key != HOSTNAME]
    usable = [requirement for requirement in found if requirement and len(requirement.values) <= MOST_VALUES]
    return sorted(usable, key=lambda requirement: (len(requirement.values), requirement.key))


def _common(members: Sequence[LabelMap], key: str) -> Requirement | None:
    """Returns that a label has one of the members' values; None where a member lacks it or no API server takes it."""
    values = {labels.get(key) for labels in members}
    usable = sorted(value for value in values if value and not find_label_value_problem(value))
    if len(usable) != len(values) or find_label_key_problem(key):
        return None
    return Requirement(key=key, operator="In", values=tuple(usable))


def _remaining(rivals: Iterable[LabelMap], requirements: Sequence[Requirement]) -> list[LabelMap]:
    return [labels for labels in rivals if all(requirement.matches(labels) for requirement in requirements)]


def _to_selector(requirements: Iterable[Requirement]) -> LabelSelector:
    equal = {r.key: r.values[0] for r in requirements if r.operator == "In" and len(r.values) == 1}
    others = tuple(r for r in requirements if not (r.operator == "In" and len(r.values) == 1))
    return LabelSelector(match_labels=equal, match_expressions=others)
