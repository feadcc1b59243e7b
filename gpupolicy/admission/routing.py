"""The patch that sends a pod to its slot groups: merged into what the user wrote, never beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpupolicy.admission.route import ROUTED_TO, Preference, Route, find_previous
from gpupolicy.admission.tolerations import add_tolerations, find_untolerated, remove_tolerations
from gpupolicy.admission.wishes import resolve_aliases
from gpupolicy.errors import FieldPath
from gpupolicy.labels import Requirement
from gpupolicy.model import Policy
from gpupolicy.pod import NODE_AFFINITY, PREFERRED, REQUIRED, PodView, PreferredTerm, Term

Operation = dict[str, object]


@dataclass(frozen=True, slots=True)
class Patch:
    """RFC 6902 operations: ``binding`` ones make the pod obey, ``notes`` are preferences and the record of both."""

    binding: tuple[Operation, ...] = ()
    notes: tuple[Operation, ...] = ()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations, in the order in which they apply."""
        return self.binding + self.notes


def build_patch(policy: Policy, view: PodView, route: Route, scheduler_name: str | None) -> Patch:
    """Builds the operations that route a pod; empty where it is routed already.

    Every required term gets the requirements (an expression that is as narrow counts as one); empty terms are left
    alone, because they match no node and must not begin to. Taints of the groups' nodes are tolerated.

    Source: terms are ORed, expressions ANDed (kubernetes/component-helpers scheduling/corev1/nodeaffinity).
    """
    previous = find_previous(policy, view)
    terms, preferred = view.required_terms, view.preferred_terms
    adds_affinity = bool(route.requirements) and not terms
    binding = [*_resolve_selector(policy, view), *_resolve_terms(policy, terms)]
    if adds_affinity:
        binding.append(_add_required(view, route))
    else:
        binding += _complete_terms(policy, terms, route.requirements, previous.requirements)
    binding += _set_scheduler(view, scheduler_name)
    tolerations = _tolerate(view, route, previous)
    binding += tolerations.binding
    notes = [*tolerations.notes]
    if route.preferences or preferred:
        notes += _resolve_terms(policy, (term.term for term in preferred))
        notes += _update_preferences(view, preferred, route.preferences, previous, is_added=adds_affinity)
    notes += _set_note(view, route.note)
    return Patch(tuple(binding), tuple(notes))


def has_foreign_preferences(policy: Policy, view: PodView, route: Route) -> bool:
    """Returns whether the pod prefers nodes by terms that are not ours."""
    ours = {*route.preferences, *find_previous(policy, view).preferences}
    return any(_read_preference(term) not in ours for term in view.preferred_terms)


def _tolerate(view: PodView, route: Route, previous: Route) -> Patch:
    """Brings the tolerations of the groups' taints up to date."""
    if not route.taints and not previous.taints:
        return Patch()
    untolerated = find_untolerated(view, route.taints)
    needed = tuple(taint for taint in untolerated if taint in route.binding)
    helpful = tuple(taint for taint in untolerated if taint not in route.binding)
    outdated = tuple(taint for taint in previous.taints if taint not in route.taints)
    notes = (*remove_tolerations(view, outdated), *add_tolerations(view, helpful, has_list=bool(needed)))
    return Patch(tuple(add_tolerations(view, needed)), notes)


def _set_scheduler(view: PodView, scheduler_name: str | None) -> Iterator[Operation]:
    if scheduler_name is not None and scheduler_name != view.scheduler_name:
        op = "replace" if "schedulerName" in view.spec else "add"
        yield {"op": op, "path": "/spec/schedulerName", "value": scheduler_name}


def _add_required(view: PodView, route: Route) -> Operation:
    """Adds the required node affinity with whichever of its parents are missing; new parents bring the preferences."""
    required: Operation = {"nodeSelectorTerms": [{"matchExpressions": [_to_json(r) for r in route.requirements]}]}
    if view.node_affinity is not None:
        return _add((*NODE_AFFINITY, REQUIRED), required)
    if not route.preferences:
        return _add_node_affinity(view, {REQUIRED: required})
    preferred = [_preference_to_json(preference) for preference in route.preferences]
    return _add_node_affinity(view, {REQUIRED: required, PREFERRED: preferred})


def _add_node_affinity(view: PodView, node_affinity: Operation) -> Operation:
    if view.affinity is None:
        return _add(NODE_AFFINITY[:-1], {"nodeAffinity": node_affinity})
    return _add(NODE_AFFINITY, node_affinity)


def _complete_terms(
    policy: Policy, terms: Iterable[Term], wanted: tuple[Requirement, ...], ours: tuple[Requirement, ...]
) -> Iterator[Operation]:
    for term in terms:
        if wanted and not term.is_empty:
            yield from _complete_term(policy, term, wanted, ours)


def _complete_term(
    policy: Policy, term: Term, wanted: tuple[Requirement, ...], ours: tuple[Requirement, ...]
) -> Iterator[Operation]:
    """Adds what a term lacks, in the place of what an earlier run of ours added for the same label."""
    expressions = (*term.field, "matchExpressions")
    if not term.requirements:
        yield _add(expressions, [_to_json(requirement) for requirement in wanted])
        return
    for requirement in wanted:
        outdated = _find_outdated(term, requirement, ours)
        if outdated is not None:
            yield {"op": "replace", "path": _pointer(term.place(outdated)), "value": _to_json(requirement)}
        elif not any(_is_as_narrow(policy, present, requirement) for present in term.requirements):
            yield _add((*expressions, "-"), _to_json(requirement))


def _find_outdated(term: Term, wanted: Requirement, ours: tuple[Requirement, ...]) -> int | None:
    for position, present in enumerate(term.requirements):
        if present in ours and present is not None and present.key == wanted.key and present != wanted:
            return position
    return None


def _is_as_narrow(policy: Policy, present: Requirement | None, wanted: Requirement) -> bool:
    if present is None or present.key != wanted.key or present.operator != "In" or not present.values:
        return False
    return set(resolve_aliases(policy, present).values) <= set(wanted.values)


def _resolve_selector(policy: Policy, view: PodView) -> Iterator[Operation]:
    """Replaces the alias of a GPU type in the nodeSelector by the name that stands on nodes."""
    key = policy.labels.gpu_type
    if name := policy.aliases.get(view.node_selector.get(key, "")):
        yield {"op": "replace", "path": _pointer(("spec", "nodeSelector", key)), "value": name}


def _resolve_terms(policy: Policy, terms: Iterable[Term]) -> Iterator[Operation]:
    """Replaces the aliases of GPU types in terms by the names that stand on nodes."""
    for term in terms:
        for position, requirement in enumerate(term.requirements):
            if requirement is not None and (resolved := resolve_aliases(policy, requirement)) is not requirement:
                path = _pointer((*term.place(position), "values"))
                yield {"op": "replace", "path": path, "value": list(resolved.values)}


def _read_preference(preferred: PreferredTerm) -> Preference | None:
    """Returns a preferred term that has the form of ours; None for another."""
    term, weight = preferred.term, preferred.weight
    if weight is None or term.has_fields or len(term.requirements) != 1 or term.requirements[0] is None:
        return None
    return Preference(weight, term.requirements[0])


def _update_preferences(
    view: PodView,
    preferred: tuple[PreferredTerm, ...],
    wanted: tuple[Preference, ...],
    previous: Route,
    *,
    is_added: bool,
) -> Iterator[Operation]:
    """Brings our preferred terms up to date: outdated ones out, last first, then missing ones in.

    ``is_added``: the required node affinity is added in the same patch, with the preferences where its parents are new.
    """
    field: FieldPath = (*NODE_AFFINITY, PREFERRED)
    outdated = frozenset(previous.preferences).difference(wanted)
    present = [_read_preference(term) for term in preferred]
    for index in reversed(range(len(present))):
        if present[index] in outdated:
            yield {"op": "remove", "path": _pointer((*field, index))}
    missing = [_preference_to_json(preference) for preference in wanted if preference not in present]
    if view.node_affinity is None:
        if missing and not is_added:
            yield _add_node_affinity(view, {PREFERRED: missing})
    elif view.node_affinity.get(PREFERRED) is not None:
        yield from (_add((*field, "-"), term) for term in missing)
    elif missing:
        yield _add(field, missing)


def _set_note(view: PodView, note: str) -> Iterator[Operation]:
    """Notes the route on the pod."""
    if not note or view.annotations.get(ROUTED_TO) == note:
        return
    if view.pod.get("metadata") is None:
        yield _add(("metadata",), {"annotations": {ROUTED_TO: note}})
    elif view.metadata.get("annotations") is None:
        yield _add(("metadata", "annotations"), {ROUTED_TO: note})
    else:
        yield _add(("metadata", "annotations", ROUTED_TO), note)


def _to_json(requirement: Requirement) -> Operation:
    return {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}


def _preference_to_json(preference: Preference) -> Operation:
    return {"weight": preference.weight, "preference": {"matchExpressions": [_to_json(preference.requirement)]}}


def _add(field: FieldPath, value: object) -> Operation:
    return {"op": "add", "path": _pointer(field), "value": value}


@lru_cache(maxsize=1024)
def _pointer(field: FieldPath) -> str:
    """Returns a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in field)
