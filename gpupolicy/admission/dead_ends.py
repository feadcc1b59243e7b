"""What is told of ways that lead nowhere: wishes of a pod that no node on offer meets, alone or beside each other."""

from __future__ import annotations

from gpupolicy.admission.case import Case, Judged, group_cause, listed, requests_for
from gpupolicy.admission.placement import Target
from gpupolicy.admission.scope import find_owner_kind
from gpupolicy.admission.wishes import Way, Wish, describe, find_rivals
from gpupolicy.errors import FieldPath, format_field, shown
from gpupolicy.model import Policy, Routing
from gpupolicy.suggestions import hint_known

NUMBERS_COMPARED = "Gt and Lt compare with one whole number"
WHOLE_NUMBER = "write one whole number"
_MOST_WAYS_TOLD = 10


def tell_dead_ends(case: Case, target: Target, ways: list[Way], dead: list[Way], judged: Judged) -> None:
    """Tells the ways that lead nowhere; where all do, the pod can never run."""
    rule = "placement-contradiction" if len(dead) == len(ways) else "term-never-matches"
    for way in dead[:_MOST_WAYS_TOLD]:
        place, message, hint = _explain_dead(case, way, target)
        judged.add(rule, place, message, group_cause(case.policy, target), hint)


def find_reach(policy: Policy, target: Target) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the types and groups that the routing leaves to the pod's own wishes."""
    if policy.admission.routing is Routing.REQUIRED:
        return target.gpu_types, target.groups
    return target.gpu_types, target.fence or tuple(policy.groups_by_name)


def _explain_dead(case: Case, way: Way, target: Target) -> tuple[FieldPath, str, str | None]:
    if way.blocker is None:
        if case.view.requires_no_term:
            return way.field, "a required node affinity without a term matches no node", "name a term, or remove it"
        return way.field, "an empty node selector term matches no node", "remove the term"
    if way.blocker.requirement.lacks_number:
        message = f"the pod wants {describe(way.blocker.requirement)}, but {NUMBERS_COMPARED}, so no node meets it"
        return way.blocker.field, message, WHOLE_NUMBER
    if rivals := find_rivals(case.policy, way, *find_reach(case.policy, target)):
        wanted = " and ".join(describe(wish.requirement) for wish in (*rivals, way.blocker))
        nodes = "no node" if way.matches_nothing else f"no node that serves {requests_for(case.size)}"
        return way.blocker.field, f"the pod wants {wanted}, which {nodes} has together", None
    message = f"the pod wants {describe(way.blocker.requirement)}, but {_offered(case, way.blocker, target)}"
    return way.blocker.field, message, _hint_wish(case.policy, way.blocker, target)


def _offered(case: Case, blocker: Wish, target: Target) -> str:
    types = listed(target.gpu_types, "no type")
    if find_owner_kind(case.view, case.request) == "DaemonSet":
        return f"a DaemonSet finds GPUs on nodes of {types}, in {listed(target.groups, 'no group')}"
    if case.policy.admission.routing is Routing.REQUIRED:
        whose = f" of namespace {shown(case.request.namespace)}" if case.policy.admission.access else ""
        return f"{requests_for(case.size)}{whose} are served by {listed(target.groups, 'no group')} of {types}"
    if case.policy.admission.access:
        return f"namespace {shown(case.request.namespace)} may use {listed(target.fence, 'any slot group')} of {types}"
    if blocker.requirement.key == case.policy.labels.node_group:
        return f"the slot groups are {listed(case.policy.groups_by_name, 'none')}"
    return f"{requests_for(case.size)} are admitted on {types}"


def _hint_wish(policy: Policy, blocker: Wish, target: Target) -> str | None:
    wanted = blocker.requirement
    if wanted.key == policy.labels.gpu_type:
        unknown = next((value for value in wanted.values if value not in policy.type_names), None)
        return hint_known(shown(unknown, 63), policy.type_names) if unknown is not None else None
    if wanted.key == policy.labels.node_group:
        groups = target.groups or target.fence or policy.groups_by_name
        return f"leave {format_field(blocker.field)} out, or name {listed(groups, 'another')}"
    return None
