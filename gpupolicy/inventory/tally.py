"""Adds up nodes by GPU type and slot group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpupolicy.inventory.figures import (
    MOST_NODES_NAMED,
    GPUs,
    GroupRoom,
    Obstacle,
    PerGPU,
    Slots,
    Stranded,
    Unlabelled,
    add_gpus,
)
from gpupolicy.inventory.fleet import NodeState
from gpupolicy.inventory.releases import find_ends
from gpupolicy.inventory.sizes import Sizes, find_sizes
from gpupolicy.inventory.slots import Room, count_slots, find_room, find_stranded
from gpupolicy.inventory.usage import GPUPod, NodeUsage, Usage
from gpupolicy.model import Policy

_EMPTY = NodeUsage()


@dataclass(slots=True)
class _Row:
    """What adds up of the nodes of one GPU type in one slot group."""

    gpu_type: str
    group: str
    sizes: Sizes
    nodes: list[NodeState] = field(default_factory=list)
    gpus: list[GPUs] = field(default_factory=list)
    slots: dict[int, list[int]] = field(default_factory=dict)
    stranded: dict[Obstacle, dict[str, int]] = field(default_factory=dict)
    uncounted: int = 0

    def add(self, node: NodeState, room: Room) -> None:
        """Adds a node."""
        self.nodes.append(node)
        if node.gpus is None:
            self.uncounted += 1
            return
        self.gpus.append(room.gpus)
        for size, sums in self.slots.items():
            for index, amount in enumerate(count_slots(room, size)):
                sums[index] += amount
        for reason, gpus in find_stranded(room, self.sizes.every).items():
            self.stranded.setdefault(reason, {})[node.name] = gpus

    def slots_of(self, sizes: tuple[int, ...]) -> tuple[Slots, ...]:
        """Returns the slots of the sizes."""
        sums = ((size, *self.slots[size]) for size in sizes)
        return tuple(Slots(size=s, total=total, used=used, free=free, blocked=b) for s, total, used, free, b in sums)

    def stranded_by(self) -> Iterator[Stranded]:
        """Yields the stranded GPUs, by reason."""
        for reason in Obstacle:
            if found := self.stranded.get(reason):
                names = tuple(sorted(found)[:MOST_NODES_NAMED])
                yield Stranded(reason=reason, gpus=sum(found.values()), node_count=len(found), nodes=names)


class Tally:
    """Adds up the nodes by GPU type and slot group."""

    def __init__(self, policy: Policy, nodes: Sequence[NodeState], usage: Usage, per_gpu: PerGPU) -> None:
        self._policy, self._usage, self._per_gpu = policy, usage, per_gpu
        self._by_name = {node.name: node for node in nodes}
        self.rooms = {node.name: self._room(node.name, usage.nodes.get(node.name, _EMPTY)) for node in nodes}
        self._rows: dict[tuple[str, str], _Row] = {}
        self._outside: list[NodeState] = []
        for gpu_type in policy.gpu_types:
            for group in policy.slot_groups:
                if group.serves(gpu_type.name):
                    self._row(gpu_type.name, group.name)
        for node in nodes:
            self._add(node)

    def _room(self, name: str, usage: NodeUsage) -> Room:
        return find_room(self._by_name[name], usage, self._per_gpu)

    def _row(self, gpu_type: str, group: str) -> _Row:
        row = self._rows.get((gpu_type, group))
        if row is None:
            row = _Row(gpu_type, group, find_sizes(self._policy, gpu_type, group))
            row.slots = {size: [0, 0, 0, 0] for size in row.sizes.every}
            self._rows[gpu_type, group] = row
        return row

    def _add(self, node: NodeState) -> None:
        if node.gpu_type is None or node.slot_group is None:
            self._outside.append(node)
        else:
            self._row(node.gpu_type, node.slot_group).add(node, self.rooms[node.name])

    def groups(self, now: datetime | None) -> Iterator[GroupRoom]:
        """Yields the figures of each type and group, in the order of the policy."""
        pods = self._pods_by_row()
        types, names = list(self._policy.types_by_name), list(self._policy.groups_by_name)
        for key in sorted(self._rows, key=lambda key: (types.index(key[0]), names.index(key[1]))):
            row = self._rows[key]
            free = {size: sums[2] for size, sums in row.slots.items()}
            ends = find_ends(pods.get(key, ()), self._usage.nodes, self._room, free, now)
            yield GroupRoom(
                gpu_type=row.gpu_type,
                slot_group=row.group,
                nodes=len(row.nodes),
                gpus=add_gpus(tuple(row.gpus)),
                slots=row.slots_of(row.sizes.own),
                overflow_slots=row.slots_of(row.sizes.overflow),
                stranded_by=tuple(row.stranded_by()),
                uncounted_nodes=row.uncounted,
                releases=ends.releases,
                more_releases=ends.more,
                gpus_without_end=ends.gpus_without_end,
            )

    def _pods_by_row(self) -> Mapping[tuple[str, str], Sequence[GPUPod]]:
        pods: dict[tuple[str, str], list[GPUPod]] = {}
        for pod in self._usage.pods:
            node = self._by_name.get(pod.node)
            if node is not None and node.gpu_type is not None and node.slot_group is not None and node.gpus is not None:
                pods.setdefault((node.gpu_type, node.slot_group), []).append(pod)
        return pods

    def unlabelled(self) -> Iterator[Unlabelled]:
        """Yields the GPU nodes that are in no slot group."""
        for node in self._outside:
            if node.doubted_types and node.gpu_type is None:
                reason = f"its labels fit several GPU types: {', '.join(node.doubted_types)}"
            elif node.gpu_type is None:
                reason = "no GPU type of the policy has its labels"
            elif node.group_label:
                reason = f"the policy has no slot group {node.group_label}"
            else:
                reason = f"no label {self._policy.labels.node_group}"
            gpus = self.rooms[node.name].gpus
            yield Unlabelled(node=node.name, gpu_type=node.gpu_type, gpus=gpus, reason=reason)
