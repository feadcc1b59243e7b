"""The GPU nodes of a cluster as far as counting needs them; one pass over the nodes, none is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, Finding, Severity, shown
from gpupolicy.inventory.figures import Obstacle
from gpupolicy.inventory.requests import milli, whole
from gpupolicy.inventory.seats import Seat, find_fitting_types, find_seat
from gpupolicy.model import DEVICE_CLASS_PREFIX, Policy
from gpupolicy.node import MOST_GPUS, JSONMap, NodeView, each_object
from gpupolicy.quantity import QuantityError

MOST_FINDINGS = 20  # of each rule
_NOT_READY_TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_NO_SCHEDULE = "NoSchedule"  # the one effect that the admission plugin ExtendedResourceToleration lets pods tolerate
_REPELLING = frozenset({_NO_SCHEDULE, "NoExecute"})
_NOTHING: JSONMap = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """A GPU node. ``gpus`` is allocatable of ``resource``; None where the node does not say.

    ``names`` are those under which pods may hold these GPUs: the resource, and the device classes of the type.
    ``cpu_milli``, ``memory_bytes`` and ``pods`` are allocatable, None where the node does not list them.
    ``group_label`` is the label of the slot group as it stands, also where the policy knows no such group;
    ``doubted_types`` are the GPU types that all fit a node without a type.
    """

    name: str
    gpu_type: str | None
    slot_group: str | None
    group_label: str
    names: tuple[str, ...]
    gpus: int | None
    cpu_milli: int | None = None
    memory_bytes: int | None = None
    pods: int | None = None
    obstacle: Obstacle | None = None
    doubted_types: tuple[str, ...] = ()

    @property
    def resource(self) -> str:
        """The resource that the node lists its GPUs under."""
        return self.names[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The GPU nodes by name, and the seat of every node that was read, CPU nodes too (no type, no group)."""

    nodes: tuple[NodeState, ...]
    seats: Mapping[str, Seat]
    findings: tuple[Finding, ...] = ()
    nodes_read: int = 0


def read_fleet(policy: Policy, nodes: Iterable[JSONMap], *, tolerates: Collection[str] = ()) -> Fleet:
    """Reads nodes.

    Args:
        policy: the policy.
        nodes: Nodes as the Kubernetes API prints them, in any order.
        tolerates: keys of taints that the GPU pods of this cluster tolerate, beside the policy's own and those that
            are named like a counted resource.

    Returns:
        The fleet. Nodes without a GPU and without a label of ours are not in ``nodes``.
    """
    reader = _Reader(policy, frozenset(tolerates))
    for node in each_object(nodes, "Node"):
        reader.add(node)
    return reader.finish()


class _Reader:
    """Reads nodes one by one."""

    def __init__(self, policy: Policy, tolerates: frozenset[str]) -> None:
        self._policy = policy
        self._tolerated = frozenset(
            {(key, effect) for key in tolerates for effect in _REPELLING}
            | {(name, _NO_SCHEDULE) for name in policy.resource_names}
        )
        self._names = tuple(n for n in policy.types_by_resource if not n.startswith(DEVICE_CLASS_PREFIX))
        self._nodes: dict[str, NodeState] = {}
        self._seats: dict[str, Seat] = {}
        self._findings: list[Finding] = []
        self._told: dict[str, int] = {}
        self._count = 0

    def add(self, node: JSONMap) -> None:
        """Reads one node."""
        self._count += 1
        view = NodeView(node)
        if not view.name:
            self._tell("node-without-name", "", "a node has no metadata.name, so it is not counted")
        elif view.name in self._seats:
            self._tell("node-repeated", view.name, "is listed twice; the first one counts")
        else:
            self._seats[view.name] = find_seat(self._policy, view)
            self._add_gpu_node(view)

    def _add_gpu_node(self, view: NodeView) -> None:
        gpu_type, group = self._seats[view.name]
        amounts = view.allocatable
        self._judge_amounts(view)
        offered = {name: gpus for name in self._names if name in amounts and (gpus := view.find_allocatable(name))}
        if gpu_type is None and not offered:
            return
        counted = self._policy.types_by_name[gpu_type].counted_names if gpu_type else (next(iter(offered)),)
        resource = counted[0]
        gpus = view.find_allocatable(resource)
        self._nodes[view.name] = NodeState(
            name=view.name,
            gpu_type=gpu_type,
            slot_group=group,
            group_label=view.labels.get(self._policy.labels.node_group, ""),
            names=counted,
            gpus=gpus,
            cpu_milli=self._read(view, amounts, "cpu"),
            memory_bytes=self._read(view, amounts, "memory"),
            pods=self._read(view, amounts, "pods"),
            obstacle=_find_obstacle(view.node, self._tolerated, (self._policy.labels.node_group, group)),
            doubted_types=() if gpu_type else find_fitting_types(self._policy, view),
        )
        self._judge(view, gpu_type, resource, gpus, offered)

    def _judge_amounts(self, view: NodeView) -> None:
        for name in self._names:
            if problem := view.find_amount_problem(name):
                self._tell("node-amount-refused", view.name, f"counts as having no {name}: the amount {problem}")

    def _read(self, view: NodeView, amounts: JSONMap, name: str) -> int | None:
        if name not in amounts:
            return None
        try:
            return milli(amounts[name]) if name == "cpu" else whole(amounts[name])
        except QuantityError as error:
            self._tell("node-amount-refused", view.name, f"offers {name} that cannot be read: {error}")
            return None

    def _judge(
        self, view: NodeView, gpu_type: str | None, resource: str, gpus: int | None, offered: Mapping[str, int]
    ) -> None:
        status = view.node.get("status")
        if not isinstance(_part(view.node, "status").get("allocatable"), Mapping):
            what = "status.allocatable" if isinstance(status, Mapping) else "status"
            self._tell("node-status-missing", view.name, f"has no {what}, so nobody knows what it offers")
        elif gpu_type is not None and not gpus and not self._is_excused(view, gpu_type, resource):
            self._tell("node-without-gpus", view.name, f"is of type {gpu_type} and offers no {resource}")
        if others := sorted(name for name in offered if name != resource):
            told = f"{', '.join(others)}, which its GPU type does not count" if gpu_type else ", ".join(others)
            self._tell("node-offers-other-gpus", view.name, f"offers also {told}")
        listed = _part(_part(view.node, "status"), "capacity").get(resource)
        if gpus and (lost := _find_lost(listed, gpus)):
            self._tell("node-lost-gpus", view.name, f"has {gpus + lost} {resource}, of which {lost} cannot be used now")

    def _is_excused(self, view: NodeView, gpu_type: str, resource: str) -> bool:
        """Whether a node without GPUs has them elsewhere (DRA), or has been told of already."""
        return bool(self._policy.types_by_name[gpu_type].device_classes or view.find_amount_problem(resource))

    def _tell(self, rule: str, node: str, message: str) -> None:
        count = self._told[rule] = self._told.get(rule, 0) + 1
        if count <= MOST_FINDINGS:
            name = shown(node, 253)
            text = f"node {name} {message}" if node else message
            field: FieldPath = ("nodes", name) if node else ("nodes",)
            self._findings.append(Finding(rule=rule, severity=Severity.WARNING, field=field, message=text))

    def finish(self) -> Fleet:
        """Returns what was read."""
        for rule, count in sorted(self._told.items()):
            if count > MOST_FINDINGS:
                message = f"and {count - MOST_FINDINGS} more nodes"
                self._findings.append(Finding(rule=rule, severity=Severity.WARNING, field=("nodes",), message=message))
        return Fleet(
            nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
            seats=self._seats,
            findings=tuple(sorted(self._findings, key=lambda f: (f.rule, f.field == ("nodes",), f.message))),
            nodes_read=self._count,
        )


def _find_lost(listed: object, gpus: int) -> int:
    """Returns how many GPUs a node has (status.capacity) and does not offer."""
    try:
        known = whole(listed)
    except QuantityError:
        return 0
    return max(0, known - gpus) if known <= MOST_GPUS else 0


def _find_obstacle(
    node: JSONMap, tolerated: frozenset[tuple[str, str]], own: tuple[str, str | None]
) -> Obstacle | None:
    """Returns what keeps every pod off a node.

    Args:
        node: the node.
        tolerated: key and effect of the taints that GPU pods tolerate.
        own: key and value of the taint that the node's group may have.
    """
    spec = _part(node, "spec")
    taints = {(key, effect) for key, value, effect in _repelling_taints(spec) if (key, value) != own}
    keys = {key for key, _ in taints}
    if not keys.isdisjoint(_NOT_READY_TAINTS) or _is_unready(_part(node, "status")):
        return Obstacle.NOT_READY
    if spec.get("unschedulable") is True or _CORDON_TAINT in keys:
        return Obstacle.CORDONED
    return Obstacle.TAINTED if taints - tolerated else None


def _repelling_taints(spec: JSONMap) -> Iterator[tuple[str, object, str]]:
    """Yields key, value and effect of the taints that keep pods off."""
    taints = spec.get("taints")
    for taint in taints if isinstance(taints, (list, tuple)) else ():
        if isinstance(taint, Mapping) and taint.get("effect") in _REPELLING:
            yield str(taint.get("key", "")), taint.get("value"), str(taint.get("effect"))


def _is_unready(status: JSONMap) -> bool:
    """Whether the node says that it is not ready; one that says nothing is taken as the scheduler takes it."""
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, (list, tuple)) else ():
        if isinstance(condition, Mapping) and condition.get("type") == "Ready":
            return condition.get("status") != "True"
    return False


def _part(parent: JSONMap, name: str) -> JSONMap:
    value = parent.get(name)
    return value if isinstance(value, Mapping) else _NOTHING
