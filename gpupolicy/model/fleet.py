"""The nodes of a policy as values: their labels, GPU types, and the slot groups that claim them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpupolicy.labels import LabelSelector

DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
ZONE_LABEL = "topology.kubernetes.io/zone"


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TopologyPlacement(StrEnum):
    """How the nodes of a claim lie in the topology: in as few domains as possible, or evenly over all."""

    TOGETHER = "together"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The node labels that the policy owns. ``guard``: compile a policy that keeps kubelets from setting them."""

    prefix: str = "my.gpu.cluster"
    guard: bool = True

    @property
    def gpu_type(self) -> str:
        """Key of the label that names a node's GPU type."""
        return f"{self.prefix}/gpu-type"

    @property
    def node_group(self) -> str:
        """Key of the label that names a node's slot group, and of the taint where the group has one."""
        return f"{self.prefix}/node-group"

    @property
    def gpu_support(self) -> str:
        """Key of the label that says "true" on every node of the policy."""
        return f"{self.prefix}/nvidia-gpu-support"


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUType:
    """One kind of GPU node. ``gpus_per_node`` counts units of ``resource_name``."""

    name: str
    gpus_per_node: int
    resource_name: str = "nvidia.com/gpu"
    aliases: tuple[str, ...] = ()
    node_selector: LabelSelector | None = None
    request_sizes: tuple[int, ...] | None = None
    device_classes: tuple[str, ...] = ()

    @property
    def counted_names(self) -> tuple[str, ...]:
        """The names by which pods ask for these GPUs: the resource first, then the implicit ones of device classes."""
        return (self.resource_name, *(DEVICE_CLASS_PREFIX + name for name in self.device_classes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A taint of a node; key and effect say which one it is. ``effect`` is text: foreign taints have any."""

    key: str
    value: str = ""
    effect: str

    def to_json(self) -> dict[str, str]:
        """Returns the taint as the Kubernetes API prints it."""
        value = {"value": self.value} if self.value else {}
        return {"effect": self.effect, "key": self.key, **value}

    def __str__(self) -> str:
        """Returns the taint as kubectl takes it: ``key=value:effect``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """How nodes are chosen by a label that says where they stand, such as zone or rack."""

    placement: TopologyPlacement
    key: str = ZONE_LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaim:
    """Which nodes of a type belong to a slot group: names or globs, a selector, a count, or a weight.

    ``weight`` is the group's share of the type's remaining nodes, not a scheduler weight. ``topology`` says which nodes
    are taken where there is a choice.
    """

    gpu_type: str
    names: tuple[str, ...] = ()
    node_selector: LabelSelector | None = None
    count: int | None = None
    weight: int | None = None
    topology: Topology | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotGroup:
    """Nodes that serve certain request sizes. ``overflow`` names groups its pods may also use, first choice first.

    ``taint`` is the effect of the taint that keeps other pods off its nodes; None: no taint.
    """

    name: str
    sizes: tuple[int, ...]
    nodes: tuple[NodeClaim, ...] = ()
    overflow: tuple[str, ...] = ()
    scheduler_name: str | None = None
    taint: TaintEffect | None = None

    def serves(self, gpu_type: str) -> bool:
        """Returns whether the group claims nodes of the type."""
        return any(claim.gpu_type == gpu_type for claim in self.nodes)


def powers_of_two(limit: int) -> tuple[int, ...]:
    """Returns 1, 2, 4, ... up to and including the limit."""
    return tuple(_powers(limit))


def _powers(limit: int) -> Iterator[int]:
    size = 1
    while size <= limit:
        yield size
        size *= 2


def overflow_weights(levels: int) -> tuple[int, ...]:
    """Returns the weights (100..1) of the preferred terms that keep overflow in order.

    Args:
        levels: how many levels of groups there are, own groups included.

    Returns:
        One weight for each level but the last, which gets no term: the steps are as steep as 1..100 allows, because
        what separates two levels in the score is 1 - lower/higher.

    Source: measured on kube-scheduler 1.37.2; the docs on overflow have the figures.
    """
    terms = levels - 1
    if terms <= 0:
        return ()
    ratio = 100 ** (1 / max(2, terms - 1)) if terms > 1 else 1.0
    return tuple(min(100, max(terms - i, round(100 / ratio**i))) for i in range(terms))
