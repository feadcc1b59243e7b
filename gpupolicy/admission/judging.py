"""The rules that judge one pod against a policy: each adds remarks, and together they find where the pod goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gpupolicy.admission.counting import Count
from gpupolicy.admission.placement import EVERYTHING, Access, Target, access_field, find_access, find_target
from gpupolicy.admission.remark import Remark
from gpupolicy.admission.route import Route, find_previous, find_route
from gpupolicy.admission.routing import has_foreign_preferences
from gpupolicy.admission.scope import Request, find_owner_kind
from gpupolicy.admission.wishes import Way, Wish, describe, find_rivals, find_ways
from gpupolicy.errors import FieldPath, counted, format_field, shown
from gpupolicy.model import GPUType, Policy, Routing
from gpupolicy.pod import NODE_AFFINITY, PodView
from gpupolicy.suggestions import hint_known

DEFAULT_SCHEDULER = "default-scheduler"
_ADMISSION: FieldPath = ("spec", "admission")
_MOST_WAYS_TOLD = 10
_NUMBERS_COMPARED = "Gt and Lt compare whole numbers alone"
_WHOLE_NUMBER = "write a whole number"


@dataclass(slots=True)
class Judged:
    """What judging found: remarks, the policy's field behind each rule, and the way the pod goes."""

    remarks: list[Remark] = field(default_factory=list)
    causes: dict[str, FieldPath] = field(default_factory=dict)
    route: Route | None = None
    scheduler_name: str | None = None
    gpu_types: tuple[str, ...] = ()
    slot_groups: tuple[str, ...] = ()

    def add(self, rule: str, place: FieldPath, message: str, cause: FieldPath, hint: str | None = None) -> None:
        """Notes that a rule fired."""
        self.remarks.append(Remark(rule, place, message, hint))
        self.causes.setdefault(rule, cause)


@dataclass(frozen=True, slots=True)
class _Case:
    """One pod that asks for GPUs, and what surrounds it. ``offering`` are the types that have what it asks for."""

    policy: Policy
    view: PodView
    count: Count
    request: Request
    size: int
    offering: tuple[GPUType, ...]


def judge(policy: Policy, view: PodView, count: Count, request: Request) -> Judged:
    """Judges a pod that asks for GPUs: its number, its access, its place and its scheduler."""
    judged = Judged(list(count.remarks))
    case = _Case(policy, view, count, request, sum(count.gpus.values()), _find_offering(policy, count))
    if case.offering:
        _judge_init_containers(case, judged)
        _judge_size(case, judged)
    else:
        message = f"the pod asks for {' and '.join(sorted(count.gpus))}, which no GPU type has together"
        judged.add("gpu-resources-several", count.first, message, ("spec", "gpuTypes"))
    _judge_node_name(case, judged)
    _judge_scheduler(case, judged)
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


def _judge_init_containers(case: _Case, judged: Judged) -> None:
    running = sum(case.count.running.values())
    if case.size > running:
        message = (
            f"init containers need {case.size} GPUs, the running ones {running}: "
            f"the scheduler holds {case.size} for the pod's whole life"
        )
        judged.add("init-container-dominates", ("spec", "initContainers"), message, _ADMISSION)


def _judge_size(case: _Case, judged: Judged) -> None:
    fitting = tuple(t for t in case.offering if case.size in case.policy.sizes_of(t))
    if fitting:
        _judge_access(case, fitting, judged)
        return
    admitted = sorted({size for t in case.offering for size in case.policy.sizes_of(t)})
    message = f"the pod asks for {counted(case.size, 'GPU')}; admitted are {_listed(map(str, admitted), 'none')}"
    below = max((size for size in admitted if size < case.size), default=None)
    above = min((size for size in admitted if size > case.size), default=None)
    nearest = " or ".join(str(size) for size in (below, above) if size is not None)
    own = next((i for i, t in enumerate(case.policy.gpu_types) if t in case.offering and t.request_sizes), None)
    cause: FieldPath = (*_ADMISSION, "requestSizes") if own is None else ("spec", "gpuTypes", own, "requestSizes")
    hint = f"ask for {nearest}" if nearest else None
    judged.add("request-size-not-admitted", case.count.first, message, cause, hint)


def _judge_access(case: _Case, fitting: tuple[GPUType, ...], judged: Judged) -> None:
    access = find_access(case.policy, case.request.namespace, case.request.namespace_labels)
    if access is None or not any(access.allows_type(t.name) for t in fitting):
        allowed = _listed(sorted(access.gpu_types or ()) if access else (), "no GPU type")
        needed = _listed((t.name for t in fitting), "no type")
        _deny_access(case, judged, f"may use {allowed}; the pod needs {needed}")
    elif find_owner_kind(case.view, case.request) == "DaemonSet":
        _judge_daemon(case, access, judged)
    else:
        _judge_groups(case, access, judged)


def _deny_access(case: _Case, judged: Judged, message: str, hint: str | None = None) -> None:
    request = case.request
    cause = access_field(case.policy, request.namespace, request.namespace_labels)
    judged.add("access-denied", case.count.first, f"namespace {shown(request.namespace)} {message}", cause, hint)


def _judge_daemon(case: _Case, access: Access, judged: Judged) -> None:
    """A DaemonSet's pod is bound to one node by its controller: a group would strand it on every other node."""
    if case.policy.admission.routing is not Routing.OFF:
        message = f"a DaemonSet's pod takes {counted(case.size, 'GPU')} on its node, whatever slot group the node is in"
        judged.add("daemon-pod-not-routed", case.count.first, message, _ADMISSION)
    plain = replace(case, policy=case.policy.without_aliases)  # its controller looks for the words of the template
    target = Target((tuple(plain.policy.groups_by_name),), tuple(t.name for t in case.offering))
    ways = find_ways(plain.policy, plain.view, target.gpu_types, target.groups)
    _tell_dead(plain, target, ways, [way for way in ways if way.matches_nothing], judged)
    types = sorted({name for way in ways for name in way.gpu_types if not access.allows_type(name)})
    groups = sorted({name for way in ways for name in way.slot_groups if not access.allows_group(name)})
    if types or groups:
        hint = "exclude them by the nodeSelector or affinity of the DaemonSet"
        reached = _listed((*types, *groups), "")
        _deny_access(case, judged, f"may not use {reached}, where the DaemonSet's pods run as well", hint)


def _judge_groups(case: _Case, access: Access, judged: Judged) -> None:
    target = find_target(case.policy, case.offering, case.size, access)
    if target is not None:
        _send(case, target, judged)
        return
    closed = find_target(case.policy, case.offering, case.size, EVERYTHING)
    if closed is None:
        types = _listed((t.name for t in case.offering if case.size in case.policy.sizes_of(t)), "no type")
        message = f"no slot group serves {_requests(case.size)} on {types}"
        judged.add("size-without-group", case.count.first, message, ("spec", "slotGroups"))
        return
    served = closed.levels[0] if closed.levels else ()
    groups = _listed(served, "any slot group")
    if any(access.allows_group(name) for name in served):  # then it is the types of these groups that it may not use
        reached = frozenset().union(*(case.policy.types_of_group[name] for name in served))
        types = _listed((name for name in closed.gpu_types if name in reached), "no type")
        allowed = _listed(sorted(access.gpu_types or ()), "no GPU type")
        _deny_access(case, judged, f"may use {allowed}; {_requests(case.size)} are served by {groups} of {types}")
    else:
        _deny_access(case, judged, f"may not use {groups}, which serve {_requests(case.size)}")


def _send(case: _Case, target: Target, judged: Judged) -> None:
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


def _judge_wishes(case: _Case, route: Route, previous: Route, judged: Judged) -> None:
    """Takes the pod's own wishes off what is on offer; where they leave nothing, it goes nowhere."""
    target, bounds = route.target, route.requirements
    ways = find_ways(case.policy, case.view, *_reach(case.policy, target), previous.requirements)
    dead = [way for way in ways if way.matches_nothing or (bounds and not way.is_possible)]
    possible = [way for way in ways if not (way.matches_nothing or (bounds and not way.is_possible))]
    _tell_dead(case, target, ways, dead, judged)
    judged.route = route if possible else None
    judged.gpu_types = _left(target.gpu_types, (way.gpu_types for way in possible))
    judged.slot_groups = _left(target.groups, (way.slot_groups for way in possible))


def _tell_dead(case: _Case, target: Target, ways: list[Way], dead: list[Way], judged: Judged) -> None:
    """Tells the ways that lead nowhere; where all do, the pod can never run."""
    rule = "placement-contradiction" if len(dead) == len(ways) else "term-never-matches"
    for way in dead[:_MOST_WAYS_TOLD]:
        place, message, hint = _explain_dead(case, way, target)
        judged.add(rule, place, message, group_cause(case.policy, target), hint)


def _still_requires_type(view: PodView, previous: Route) -> bool:
    if not previous.target.requires_type:
        return False
    return any(previous.requirements[-1] in term.requirements for term in view.required_terms)


def _reach(policy: Policy, target: Target) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the types and groups that the routing leaves to the pod's own wishes."""
    if policy.admission.routing is Routing.REQUIRED:
        return target.gpu_types, target.groups
    return target.gpu_types, target.fence or tuple(policy.groups_by_name)


def _left(names: tuple[str, ...], kept: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the names that some way keeps, in their order; all where the ways lead elsewhere."""
    union = {name for way in kept for name in way}
    return tuple(name for name in names if name in union) or names


def _explain_dead(case: _Case, way: Way, target: Target) -> tuple[FieldPath, str, str | None]:
    if way.blocker is None:
        if case.view.requires_no_term:
            return way.field, "a required node affinity without a term matches no node", "name a term, or remove it"
        return way.field, "an empty node selector term matches no node", "remove the term"
    if way.blocker.requirement.lacks_number:
        message = f"the pod wants {describe(way.blocker.requirement)}, but {_NUMBERS_COMPARED}, so no node meets it"
        return way.blocker.field, message, _WHOLE_NUMBER
    if rivals := find_rivals(case.policy, way, *_reach(case.policy, target)):
        wanted = " and ".join(describe(wish.requirement) for wish in (*rivals, way.blocker))
        nodes = "no node" if way.matches_nothing else f"no node that serves {_requests(case.size)}"
        return way.blocker.field, f"the pod wants {wanted}, which {nodes} has together", None
    message = f"the pod wants {describe(way.blocker.requirement)}, but {_offered(case, way.blocker, target)}"
    return way.blocker.field, message, _hint_wish(case.policy, way.blocker, target)


def _offered(case: _Case, blocker: Wish, target: Target) -> str:
    types = _listed(target.gpu_types, "no type")
    if find_owner_kind(case.view, case.request) == "DaemonSet":
        return f"a DaemonSet finds GPUs on nodes of {types}, in {_listed(target.groups, 'no group')}"
    if case.policy.admission.routing is Routing.REQUIRED:
        whose = f" of namespace {shown(case.request.namespace)}" if case.policy.admission.access else ""
        return f"{_requests(case.size)}{whose} are served by {_listed(target.groups, 'no group')} of {types}"
    if case.policy.admission.access:
        return f"namespace {shown(case.request.namespace)} may use {_listed(target.fence, 'any slot group')} of {types}"
    if blocker.requirement.key == case.policy.labels.node_group:
        return f"the slot groups are {_listed(case.policy.groups_by_name, 'none')}"
    return f"{_requests(case.size)} are admitted on {types}"


def _hint_wish(policy: Policy, blocker: Wish, target: Target) -> str | None:
    wanted = blocker.requirement
    if wanted.key == policy.labels.gpu_type:
        unknown = next((value for value in wanted.values if value not in policy.type_names), None)
        return hint_known(shown(unknown, 63), policy.type_names) if unknown is not None else None
    if wanted.key == policy.labels.node_group:
        groups = target.groups or target.fence or policy.groups_by_name
        return f"leave {format_field(blocker.field)} out, or name {_listed(groups, 'another')}"
    return None


def _judge_node_name(case: _Case, judged: Judged) -> None:
    if name := case.view.node_name:
        message = (
            f"spec.nodeName {shown(name)} goes round the scheduler, which alone looks at slot groups and free GPUs"
        )
        judged.add("node-name-set", ("spec", "nodeName"), message, _ADMISSION, "name the node in a nodeSelector")


def _judge_scheduler(case: _Case, judged: Judged) -> None:
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


def _judge_preferences(case: _Case, judged: Judged) -> None:
    """A preference without a number is worse than none: kube-scheduler cannot score nodes (measured on 1.37.2)."""
    for preferred in case.view.preferred_terms:
        for position, requirement in enumerate(preferred.term.requirements):
            if requirement is not None and requirement.lacks_number:
                message = (
                    f"the pod prefers {describe(requirement)}, but {_NUMBERS_COMPARED}: "
                    "kube-scheduler fails wherever it has to choose among nodes, and the pod waits"
                )
                judged.add("term-never-matches", preferred.term.place(position), message, _ADMISSION, _WHOLE_NUMBER)
                return


def _judge_tolerations(case: _Case, judged: Judged) -> None:
    for index, toleration in enumerate(case.view.tolerations):
        if toleration.get("operator") == "Exists" and not toleration.get("key") and not toleration.get("effect"):
            message = "the toleration covers every taint, also those that keep pods off broken nodes"
            judged.add("tolerates-everything", ("spec", "tolerations", index), message, _ADMISSION)
            return


def group_cause(policy: Policy, target: Target) -> FieldPath:
    """Returns the policy's field of the slot group that a pod is sent to first."""
    if not target.levels:
        return ("spec", "slotGroups")
    return ("spec", "slotGroups", list(policy.groups_by_name).index(target.levels[0][0]))


def _requests(gpus: int) -> str:
    return f"requests for {counted(gpus, 'GPU')}"


def _listed(names: Iterable[str], nothing: str) -> str:
    return ", ".join(names) or nothing
