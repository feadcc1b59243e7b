"""What is counted: the values that ``capacity`` returns. Nothing is worked out here but sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gpupolicy.errors import Finding
from gpupolicy.inventory.misplaced import Misplaced

MOST_NODES_NAMED = 10  # for one reason of one group


class Obstacle(StrEnum):
    """Why free GPUs are of no use now."""

    LEFTOVER = "leftover"  # fewer than any request of the group
    CPU = "cpu"
    MEMORY = "memory"
    PODS = "pods"
    CORDONED = "cordoned"
    TAINTED = "tainted"
    NOT_READY = "not-ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerGPU:
    """What a pod is taken to need for each of its GPUs, when the slots that are free now are counted."""

    cpu_milli: int = 1000
    memory_bytes: int = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUs:
    """GPUs by allocatable and by requests. ``overcommitted``: held beyond allocatable, so total = used + free - it."""

    total: int = 0
    used: int = 0
    free: int = 0
    overcommitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Slots of one size; total = used + free + blocked.

    ``used`` are those that the GPUs in use leave no room for, ``free`` those that a pod could take now, ``blocked``
    those that have the GPUs but something else against them.
    """

    size: int
    total: int
    used: int
    free: int
    blocked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """Free GPUs that no pod of the group could take now, for one reason. ``nodes``: the first ones by name."""

    reason: Obstacle
    gpus: int
    node_count: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What ends at a moment, and the slots (by size) that are free from then on if nothing new comes."""

    at: datetime
    pods: int
    gpus: int
    free_slots: Mapping[int, int]
    overdue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRoom:
    """The nodes of one GPU type in one slot group.

    ``slots`` are of the group's own sizes, ``overflow_slots`` of sizes that other groups send here when they are full.
    ``uncounted_nodes`` do not say how many GPUs they have. ``gpus_without_end`` are held by pods that do not say
    when they end.
    """

    gpu_type: str
    slot_group: str
    nodes: int
    gpus: GPUs
    slots: tuple[Slots, ...]
    overflow_slots: tuple[Slots, ...] = ()
    stranded_by: tuple[Stranded, ...] = ()
    uncounted_nodes: int = 0
    releases: tuple[Release, ...] = ()
    more_releases: int = 0
    gpus_without_end: int = 0

    @property
    def largest_fit(self) -> int:
        """The largest of the group's own requests that fits now; 0 where none does."""
        return max((slots.size for slots in self.slots if slots.free), default=0)

    @property
    def stranded(self) -> int:
        """Free GPUs that no pod of the group could take now."""
        return sum(stranded.gpus for stranded in self.stranded_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRoom:
    """All slot groups of one GPU type together.

    ``free_slots`` counts, by admitted request, the pods of that size alone that could start now, wherever the policy
    sends them: own groups and overflow.
    """

    gpu_type: str
    nodes: int
    gpus: GPUs
    free_slots: Mapping[int, int]
    stranded: int

    @property
    def largest_fit(self) -> int:
        """The largest request that some pod could make now and start; 0 where none could."""
        return max((size for size, free in self.free_slots.items() if free), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlabelled:
    """A node with GPUs that is in no slot group, and why."""

    node: str
    gpu_type: str | None
    gpus: GPUs
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncounted:
    """A node of the policy whose devices do not stand in status.allocatable, as with DRA; ``used``: held by pods."""

    node: str
    gpu_type: str
    slot_group: str | None
    reason: str
    used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Pods of one size that wait for a node."""

    size: int
    pods: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A node that a what-if adds (``source`` None), takes away (``target`` None) or moves."""

    node: str
    gpu_type: str
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What would be: the changes asked for, the nodes they fall on, and the figures afterwards.

    ``displaced`` are pods on nodes taken away, ``misplaced`` all that would then be on the wrong node.
    """

    changes: tuple[str, ...]
    nodes: tuple[Moved, ...]
    groups: tuple[GroupRoom, ...]
    types: tuple[TypeRoom, ...]
    misplaced: tuple[Misplaced, ...]
    displaced: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the slot groups have, hold and have left."""

    policy: str
    groups: tuple[GroupRoom, ...]
    types: tuple[TypeRoom, ...]
    misplaced: tuple[Misplaced, ...] = ()
    unlabelled: tuple[Unlabelled, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()
    pending: tuple[Pending, ...] = ()
    findings: tuple[Finding, ...] = ()
    what_if: Outlook | None = None
    nodes_read: int = 0
    pods_read: int = 0
    per_gpu: PerGPU = field(default_factory=PerGPU)
    now: datetime | None = None

    @property
    def nodes(self) -> int:
        """Nodes of the policy's GPU types, with and without a group."""
        return sum(group.nodes for group in self.groups) + sum(n.gpu_type is not None for n in self.unlabelled)


def add_gpus(parts: tuple[GPUs, ...]) -> GPUs:
    """Returns the sum."""
    return GPUs(
        total=sum(part.total for part in parts),
        used=sum(part.used for part in parts),
        free=sum(part.free for part in parts),
        overcommitted=sum(part.overcommitted for part in parts),
    )
