"""The plan for nodes as values: what changes on each, who has to go, what is won and lost. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupolicy.assignment import Skipped
from gpupolicy.model import Taint
from gpupolicy.rollout.ownership import FIELD_MANAGER, Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A pod that is on a node and has to be told of; ``owner`` is (kind, name) of its controller."""

    namespace: str
    name: str
    gpus: int
    owner: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved:
    """A pod that runs, and why none made in its place would find room after the plan."""

    pod: Resident
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """What a slot group claims of the nodes of a GPU type and does not get."""

    gpu_type: str
    slot_group: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another manager owns what the plan changes: a label by its key, or ``spec.taints``."""

    what: str
    value: str
    owner: Owner

    def told(self) -> str:
        """Returns the conflict for a message."""
        value = f"={self.value}" if self.value else ""
        return f"{self.what}{value} belongs to {self.owner.told()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What mattered about a node when the plan was made, so that a later look can tell whether it still holds.

    ``labels`` are those that the policy names anywhere, ``taints`` those with a key of ours; ``allocatable`` is of the
    node's GPU resource, None where the node does not list it.
    """

    resource_version: str = ""
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    is_unschedulable: bool = False
    allocatable: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """What the plan does to a node: ``wanted`` are all labels of ours that it is to have, as an apply lists them.

    ``before`` and ``after`` are slot groups; ``residents`` are GPU pods that would be misplaced afterwards.
    """

    node: str
    gpu_type: str
    before: str | None
    after: str | None
    wanted: Mapping[str, str]
    reason: str
    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    set_taints: tuple[Taint, ...] = ()
    remove_taints: tuple[Taint, ...] = ()
    residents: tuple[Resident, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    seen: Seen = Seen()

    @property
    def changes_taints(self) -> bool:
        """Whether spec.taints is written."""
        return bool(self.set_taints or self.remove_taints)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeSlots:
    """Slots of one size in a group."""

    size: int
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSlots:
    """Nodes and slots of a GPU type in a slot group; ``slot_group`` None: nodes that no group claims."""

    gpu_type: str
    slot_group: str | None
    nodes_before: int
    nodes_after: int
    slots: tuple[SizeSlots, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether nodes or slots are won or lost."""
        return self.nodes_before != self.nodes_after or any(s.before != s.after for s in self.slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerCost:
    """What a workload would lose for a while: its pods that have to move, and their GPUs."""

    kind: str
    namespace: str
    name: str
    pods: int
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """The whole plan.

    ``digest`` stands for the policy that it was made by; ``unfinished`` are nodes that an earlier apply cordoned and
    did not come to uncordon; ``unserved`` are pods that no slot group serves afterwards, ``shortages`` claims that the
    fleet does not meet; ``knows_owners``: the nodes say who owns their fields.
    """

    policy: str
    digest: str
    manager: str = FIELD_MANAGER
    changes: tuple[NodeChange, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    slots: tuple[GroupSlots, ...] = ()
    unfinished: tuple[str, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    shortages: tuple[Shortage, ...] = ()
    nodes: int = 0
    knows_owners: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.changes and not self.unfinished

    @property
    def residents(self) -> tuple[tuple[str, Resident], ...]:
        """Every pod that would be misplaced, with its node."""
        return tuple((change.node, resident) for change in self.changes for resident in change.residents)
