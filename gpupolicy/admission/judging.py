"""The rules that judge one pod against a policy: each adds remarks, and together they find where the pod goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpupolicy.admission.case import Case, Judged, group_cause, listed, requests_for
from gpupolicy.admission.counting import Count
from gpupolicy.admission.dead_ends import NUMBERS_COMPARED, WHOLE_NUMBER, find_reach, tell_dead_ends
from gpupolicy.admission.label_keys import find_misspelt_keys
from gpupolicy.admission.placement import EVERYTHING, Access, Target, access_field, find_access, find_target
from gpupolicy.admission.route import Route, find_previous, find_route
from gpupolicy.admission.routing import has_foreign_preferences
from gpupolicy.admission.scope import Request, find_owner_kind
from gpupolicy.admission.wishes import Way, describe, find_ways
from gpupolicy.errors import FieldPath, counted, shown
from gpupolicy.labels import Requirement
from gpupolicy.model import GPUType, Policy, Routing
from gpupolicy.pod import NODE_AFFINITY, PodView
from gpupolicy.suggestions import hint_known

DEFAULT_SCHEDULER = "default-scheduler"
_ADMISSION: FieldPath = ("spec", "admission")


def judge(policy: Policy, view: PodView, count: Count, request: Request) -> Judged:
    """Judges a pod that asks for GPUs: its number, its access, its place and its scheduler."""
    judged = Judged(list(count.remarks))
    case = Case(policy, view, count, request, sum(count.gpus.values()), _find_offering(policy, count))
    if case.offering:
        _judge_init_containers(case, judged)
        _judge_size(case, judged)
    else:
        message = f"the pod asks for {' and '.join(sorted(count.gpus))}, which no GPU type has together"
        judged.add("gpu-resources-several", count.first, message, ("spec", "gpuTypes"))
    _judge_node_name(case, judged)
    _judge_scheduler(case, judged)
    _judge_label_keys(case, judged)
    _judge_preferences(case, judged)
    _judge_tolerations(case, judged)
    return judged


def _find_offering(policy: Policy, count: Count) -> tuple[GPUType, ...]:
    """Returns the types that have every counted name the pod asks for."""
    first, *others = count.gpus
    types = policy.types_by_resource[first]
    for name in others:
        types = tuple(t for t in types if t in policy.types_by_resource[name])
    return types


def _judge_init_containers(case: Case, judged: Judged) -> None:
    running = sum(case.count.running.values())
    if case.size > running:
        message = (
            f"with its init containers the pod needs {counted(case.size, 'GPU')}, without them {running}: "
            f"the scheduler holds {case.size} for the pod's whole life"
        )
        judged.add("init-container-dominates", ("spec", "initContainers"), message, _ADMISSION)


def _judge_size(case: Case, judged: Judged) -> None:
    fitting = tuple(t for t in case.offering if case.size in case.policy.sizes_of(t))
    if fitting:
        _judge_access(case, fitting, judged)
        return
    admitted = sorted({size for t in case.offering for size in case.policy.sizes_of(t)})
    message = f"the pod asks for {counted(case.size, 'GPU')}; admitted are {listed(map(str, admitted), 'none')}"
    below = max((size for size in admitted if size < case.size), default=None)
    above = min((size for size in admitted if size > case.size), default=None)
    nearest = " or ".join(str(size) for size in (below, above) if size is not None)
    own = next((i for i, t in enumerate(case.policy.gpu_types) if t in case.offering and t.request_sizes), None)
    cause: FieldPath = (*_ADMISSION, "requestSizes") if own is None else ("spec", "gpuTypes", own, "requestSizes")
    hint = f"ask for {nearest}" if nearest else None
    judged.add("request-size-not-admitted", case.count.first, message, cause, hint)


def _judge_access(case: Case, fitting: tuple[GPUType, ...], judged: Judged) -> None:
    access = find_access(case.policy, case.request.namespace, case.request.namespace_labels)
    if access is None or not any(access.allows_type(t.name) for t in fitting):
        needed = listed((t.name for t in fitting), "no type")
        _deny_access(case, judged, f"may use {_allowed_types(access)}; the pod needs {needed}")
    elif find_owner_kind(case.view, case.request) == "DaemonSet":
        _judge_daemon(case, access, judged)
    else:
        _judge_groups(case, access, judged)


def _allowed_types(access: Access | None) -> str:
    return listed(sorted(access.gpu_types or ()) if access else (), "no GPU type")


def _deny_access(case: Case, judged: Judged, message: str, hint: str | None = None) -> None:
    request = case.request
    cause = access_field(case.policy, request.namespace, request.namespace_labels)
    judged.add("access-denied", case.count.first, f"namespace {shown(request.namespace)} {message}", cause, hint)


def _judge_daemon(case: Case, access: Access, judged: Judged) -> None:
    """A DaemonSet's pod is bound to one node by its controller: a group would strand it on every other node."""
    if case.policy.admission.routing is not Routing.OFF:
        message = f"a DaemonSet's pod takes {counted(case.size, 'GPU')} on its node, whatever slot group the node is in"
        judged.add("daemon-pod-not-routed", case.count.first, message, _ADMISSION)
    plain = replace(case, policy=case.policy.without_aliases)  # its controller looks for the words of the template
    target = Target((tuple(plain.policy.groups_by_name),), tuple(t.name for t in case.offering))
    ways = find_ways(plain.policy, plain.view, target.gpu_types, target.groups)
    if not any(term.has_fields for term in case.view.required_terms):  # else the controller has found a node already
        tell_dead_ends(plain, target, ways, [way for way in ways if way.matches_nothing], judged)
    types = sorted({name for way in ways for name in way.gpu_types if not access.allows_type(name)})
    groups = sorted({name for way in ways for name in way.slot_groups if not access.allows_group(name)})
    if types or groups:
        hint = "exclude them by the nodeSelector or affinity of the DaemonSet"
        reached = listed((*types, *groups), "")
        _deny_access(case, judged, f"may not use {reached}, where the DaemonSet's pods run as well", hint)


def _judge_groups(case: Case, access: Access, judged: Judged) -> None:
    target = find_target(case.policy, case.offering, case.size, access)
    if target is not None:
        _send(case, target, judged)
        return
    closed = find_target(case.policy, case.offering, case.size, EVERYTHING)
    if closed is not None:
        _deny_groups(case, access, closed, judged)
        return
    types = listed((t.name for t in case.offering if case.size in case.policy.sizes_of(t)), "no type")
    message = f"no slot group serves {requests_for(case.size)} on {types}"
    judged.add("size-without-group", case.count.first, message, ("spec", "slotGroups"))


def _deny_groups(case: Case, access: Access, closed: Target, judged: Judged) -> None:
    """Tells the groups, or the types of their nodes, that would serve the pod and that its namespace may not use."""
    served = closed.levels[0] if closed.levels else ()
    groups = listed(served, "any slot group")
    if any(access.allows_group(name) for name in served):  # then it is the types of these groups that it may not use
        reached = frozenset().union(*(case.policy.types_of_group[name] for name in served))
        types = listed((name for name in closed.gpu_types if name in reached), "no type")
        served_by = f"{requests_for(case.size)} are served by {groups} of {types}"
        _deny_access(case, judged, f"may use {_allowed_types(access)}; {served_by}")
    else:
        _deny_access(case, judged, f"may not use {groups}, which serve {requests_for(case.size)}")


def _send(case: Case, target: Target, judged: Judged) -> None:
    """Sends the pod where the policy wants it, as far as its own wishes allow."""
    view = case.view
    previous = find_previous(case.policy, view)
    if _still_requires_type(view, previous):
        target = replace(target, requires_type=True)  # what an earlier run added is replaced, never left behind
    judged.route = find_route(case.policy, target)
    judged.gpu_types, judged.slot_groups = target.gpu_types, target.groups
    if view.node_selector or view.required_terms or view.requires_no_term:
        _judge_wishes(case, judged.route, previous, judged)
    if judged.route and len(target.levels) > 1 and has_foreign_preferences(case.policy, view, judged.route):
        message = "the pod's own preferred node affinity competes with the order of its slot groups"
        judged.add("overflow-order-diluted", NODE_AFFINITY, message, group_cause(case.policy, target))


def _judge_wishes(case: Case, route: Route, previous: Route, judged: Judged) -> None:
    """Takes the pod's own wishes off what is on offer; where they leave nothing, it goes nowhere."""
    target, bounds = route.target, route.requirements
    ways = find_ways(case.policy, case.view, *find_reach(case.policy, target), previous.requirements)
    dead = [way for way in ways if _leads_nowhere(way, bounds)]
    possible = [way for way in ways if not _leads_nowhere(way, bounds)]
    tell_dead_ends(case, target, ways, dead, judged)
    judged.route = route if possible else None
    judged.gpu_types = _left(target.gpu_types, (way.gpu_types for way in possible))
    judged.slot_groups = _left(target.groups, (way.slot_groups for way in possible))


def _leads_nowhere(way: Way, bounds: tuple[Requirement, ...]) -> bool:
    """Returns whether no node can meet a way; without bounds of ours nodes that the policy does not know may."""
    return way.matches_nothing or (bool(bounds) and not way.is_possible)


def _still_requires_type(view: PodView, previous: Route) -> bool:
    if not previous.target.requires_type:
        return False
    return any(previous.requirements[-1] in term.requirements for term in view.required_terms)


def _left(names: tuple[str, ...], kept: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the names that some way keeps, in their order; all where the ways lead elsewhere."""
    union = {name for way in kept for name in way}
    return tuple(name for name in names if name in union) or names


def _judge_node_name(case: Case, judged: Judged) -> None:
    if name := case.view.node_name:
        message = (
            f"spec.nodeName {shown(name)} goes round the scheduler, which alone looks at slot groups and free GPUs"
        )
        judged.add("node-name-set", ("spec", "nodeName"), message, _ADMISSION, "name the node in a nodeSelector")


def _judge_scheduler(case: Case, judged: Judged) -> None:
    name, policy = case.view.scheduler_name, case.policy
    if name in ("", DEFAULT_SCHEDULER):
        judged.scheduler_name = _find_profile(policy, judged.slot_groups)
        return
    judged.scheduler_name = name
    known = (*policy.scheduler_names, *policy.scheduler.other_schedulers)
    if policy.scheduler_names and name not in known:
        message = (
            f"schedulerName {shown(name)} is none of the policy's; if nobody serves it, the pod waits without an event"
        )
        hint = f"{hint_known(shown(name, 63), known)}; name others in otherSchedulers"
        judged.add("scheduler-not-known", ("spec", "schedulerName"), message, ("spec", "scheduler"), hint)


def _find_profile(policy: Policy, slot_groups: tuple[str, ...]) -> str | None:
    """Returns the profile of the pod's first slot group, which is the policy's first unless the group names one."""
    own = policy.groups_by_name[slot_groups[0]].scheduler_name if slot_groups else None
    return own or next(iter(policy.scheduler_names), None)


def _judge_label_keys(case: Case, judged: Judged) -> None:
    if case.view.node_selector or case.view.affinity is not None:
        for remark in find_misspelt_keys(case.policy, case.view):
            judged.take(remark, ("spec", "labels"))


def _judge_preferences(case: Case, judged: Judged) -> None:
    """A preference without a number is worse than none: kube-scheduler cannot score nodes (measured on 1.37.2)."""
    for preferred in case.view.preferred_terms:
        for position, requirement in enumerate(preferred.term.requirements):
            if requirement is not None and requirement.lacks_number:
                message = (
                    f"the pod prefers {describe(requirement)}, but {NUMBERS_COMPARED}: "
                    "kube-scheduler fails wherever it has to choose among nodes, and the pod waits"
                )
                judged.add("term-never-matches", preferred.term.place(position), message, _ADMISSION, WHOLE_NUMBER)
                return


def _judge_tolerations(case: Case, judged: Judged) -> None:
    for index, toleration in enumerate(case.view.tolerations):
        if toleration.get("operator") == "Exists" and not toleration.get("key") and not toleration.get("effect"):
            message = "the toleration covers every taint, also those that keep pods off broken nodes"
            judged.add("tolerates-everything", ("spec", "tolerations", index), message, _ADMISSION)
            return
