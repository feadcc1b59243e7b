"""``capacity``: slots total, used, free and blocked, stranded GPUs, misplaced pods, and what becomes free when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gpupolicy.admission.claims import NO_CLAIMS, Claims
from gpupolicy.assignment import assign
from gpupolicy.errors import Finding, Severity, counted
from gpupolicy.inventory.figures import (
    Capacity,
    GroupRoom,
    Outlook,
    Pending,
    PerGPU,
    TypeRoom,
    Uncounted,
    add_gpus,
)
from gpupolicy.inventory.fleet import Fleet, NodeState, read_fleet
from gpupolicy.inventory.misplaced import Misplaced, find_misplaced
from gpupolicy.inventory.seats import Seat
from gpupolicy.inventory.tally import Tally
from gpupolicy.inventory.usage import MOST_FINDINGS, Usage, read_usage
from gpupolicy.inventory.what_if import Change, apply_changes, read_change
from gpupolicy.model import Policy
from gpupolicy.node import JSONMap, NodeView

_NO_NAMESPACES: Mapping[str, Mapping[str, str]] = {}
_DEFAULT_NEED = PerGPU()


def capacity(
    policy: Policy,
    nodes: Iterable[JSONMap],
    pods: Iterable[JSONMap],
    *,
    now: datetime | None = None,
    namespace_labels: Mapping[str, Mapping[str, str]] = _NO_NAMESPACES,
    what_if: Sequence[str] = (),
    per_gpu: PerGPU = _DEFAULT_NEED,
    tolerates: Collection[str] = (),
    as_planned: bool = False,
    claims: Claims = NO_CLAIMS,
) -> Capacity:
    """Counts what the slot groups have, hold and have left.

    Args:
        policy: the policy.
        nodes: Nodes as the Kubernetes API prints them; read once, none is kept unless ``as_planned``.
        pods: Pods, all of the cluster; read once, none is kept.
        now: the moment by which exemptions expire and pods are overdue; None: neither is judged.
        namespace_labels: labels of namespaces by name, for policies that select by them.
        what_if: changes to foresee, such as ``SLOT-8: +2``, ``SLOT-8: -1`` or ``SLOT-8: +2 from SLOT-4``.
        per_gpu: cpu and memory that a pod is taken to need for each GPU, for what is free now.
        tolerates: keys of taints that GPU pods tolerate, beside the policy's own and those named like a GPU resource.
        as_planned: count with the groups that ``assign`` would give, not with those of the labels.
        claims: the resource claims and claim templates that are known, by kind, namespace and name.

    Returns:
        The figures. Order of nodes and pods does not matter, unless one is listed twice: then the first counts.

    Raises:
        UsageError: a what-if cannot be read or asks for more nodes than there are.
    """
    changes = [read_change(policy, text) for text in what_if]
    if as_planned:
        nodes = list(nodes)
    fleet = read_fleet(policy, nodes, tolerates=tolerates)
    usage = read_usage(policy, pods, namespace_labels=namespace_labels, now=now, claims=claims)
    if as_planned:
        planned = assign(policy, _named_once(nodes), used=usage.gpus_by_node, running=usage.requests_by_node)
        fleet = _seat(fleet, planned.groups)
    return count(policy, fleet, usage, changes=changes, per_gpu=per_gpu, now=now)


def count(
    policy: Policy,
    fleet: Fleet,
    usage: Usage,
    *,
    changes: Sequence[Change] = (),
    per_gpu: PerGPU = _DEFAULT_NEED,
    now: datetime | None = None,
) -> Capacity:
    """Counts what was read; see ``capacity``."""
    tally = Tally(policy, fleet.nodes, usage, per_gpu)
    groups = tuple(tally.groups(now))
    sizes = Counter(pod.size for pod in usage.pending)
    return Capacity(
        policy=policy.name,
        groups=groups,
        types=tuple(_types(policy, groups)),
        misplaced=_find_misplaced(policy, fleet.seats, usage),
        unlabelled=tuple(tally.unlabelled()),
        uncounted=tuple(_uncounted(policy, fleet.nodes, usage)),
        pending=tuple(Pending(size=size, pods=pods) for size, pods in sorted(sizes.items())),
        findings=(*fleet.findings, *usage.findings, *_judge(fleet, usage, tally)),
        what_if=_foresee(policy, fleet, usage, changes, per_gpu, now) if changes else None,
        nodes_read=fleet.nodes_read,
        pods_read=usage.pods_read,
        per_gpu=per_gpu,
        now=now,
    )


def _named_once(nodes: Iterable[JSONMap]) -> list[JSONMap]:
    """Returns the nodes that have a name, each once, as ``assign`` wants them."""
    by_name: dict[str, JSONMap] = {}
    for node in nodes:
        if name := NodeView(node).name:
            by_name.setdefault(name, node)
    return list(by_name.values())


def _seat(fleet: Fleet, seats: Mapping[str, Seat]) -> Fleet:
    """Returns the fleet with the groups of a plan."""

    def moved(node: NodeState) -> NodeState:
        if node.name not in seats:
            return node  # the plan leaves it as it is
        gpu_type, group = seats[node.name]
        return replace(node, gpu_type=gpu_type, slot_group=group, group_label=group or "")

    return replace(fleet, nodes=tuple(moved(node) for node in fleet.nodes), seats={**fleet.seats, **seats})


def _types(policy: Policy, groups: Sequence[GroupRoom]) -> Iterator[TypeRoom]:
    for gpu_type in policy.gpu_types:
        own = [group for group in groups if group.gpu_type == gpu_type.name]
        free = dict.fromkeys(policy.sizes_of(gpu_type), 0)
        for slots in (slots for group in own for slots in (*group.slots, *group.overflow_slots)):
            free[slots.size] += slots.free
        yield TypeRoom(
            gpu_type=gpu_type.name,
            nodes=sum(group.nodes for group in own),
            gpus=add_gpus(tuple(group.gpus for group in own)),
            free_slots=free,
            stranded=sum(group.stranded for group in own),
        )


def _find_misplaced(policy: Policy, seats: Mapping[str, Seat], usage: Usage) -> tuple[Misplaced, ...]:
    """Returns the misplaced pods but for those that are going anyhow, as the audit does."""
    return tuple(each for each in find_misplaced(policy, seats, usage) if not each.pod.is_leaving)


def _uncounted(policy: Policy, nodes: Sequence[NodeState], usage: Usage) -> Iterator[Uncounted]:
    for node in nodes:
        if node.gpus is None and node.gpu_type is not None:
            classes = policy.types_by_name[node.gpu_type].device_classes
            reason = f"status.allocatable lists no {node.resource}"
            if classes:
                reason += f"; devices of class {', '.join(classes)} stand in ResourceSlices, which are not read"
            yield Uncounted(
                node=node.name,
                gpu_type=node.gpu_type,
                slot_group=node.slot_group,
                reason=reason,
                used=usage.gpus_of(node.name),
            )


def _judge(fleet: Fleet, usage: Usage, tally: Tally) -> Iterator[Finding]:
    """Yields what does not fit together between nodes and pods."""
    known = {node.name for node in fleet.nodes if node.gpus is not None}
    over = [(name, room) for name, room in tally.rooms.items() if room.used > room.total and name in known]
    for name, room in over[:MOST_FINDINGS]:
        message = f"node {name} offers {counted(room.total, 'GPU')}, and its pods hold {room.used}"
        yield _warning("node-overcommitted", ("nodes", name), message)
    if more := max(0, len(over) - MOST_FINDINGS):
        yield _warning("node-overcommitted", ("nodes",), f"and {more} more nodes")
    yield from _judge_strays(fleet, usage)


def _judge_strays(fleet: Fleet, usage: Usage) -> Iterator[Finding]:
    strays = [pod for pod in usage.pods if pod.node not in fleet.seats]
    for pod in strays[:MOST_FINDINGS]:
        message = (
            f"pod {pod.namespace}/{pod.name} ({counted(pod.size, 'GPU')}) is on {pod.node}, a node that is not there"
        )
        yield _warning("pod-on-missing-node", ("pods", f"{pod.namespace}/{pod.name}"), message)
    if more := max(0, len(strays) - MOST_FINDINGS):
        yield _warning("pod-on-missing-node", ("pods",), f"and {more} more pods")


def _warning(rule: str, field: tuple[str | int, ...], message: str) -> Finding:
    return Finding(rule=rule, severity=Severity.WARNING, field=field, message=message)


def _foresee(
    policy: Policy, fleet: Fleet, usage: Usage, changes: Sequence[Change], per_gpu: PerGPU, now: datetime | None
) -> Outlook:
    nodes, moved = apply_changes(policy, changes, fleet.nodes, usage)
    groups = tuple(Tally(policy, nodes, usage, per_gpu).groups(now))
    gone = {step.node for step in moved if step.target is None}
    seats = {name: seat for name, seat in fleet.seats.items() if name not in gone}
    seats |= {step.node: (step.gpu_type, step.target) for step in moved if step.target is not None}
    return Outlook(
        changes=tuple(change.text for change in changes),
        nodes=moved,
        groups=groups,
        types=tuple(_types(policy, groups)),
        misplaced=_find_misplaced(policy, seats, usage),
        displaced=tuple(f"{pod.namespace}/{pod.name}" for pod in usage.pods if pod.node in gone),
    )
