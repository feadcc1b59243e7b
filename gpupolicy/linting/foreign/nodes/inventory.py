"""A Node as its rules see it: what it carries, what it offers, and what the policy says about both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gpupolicy.linting.foreign.metadata import LABELS, METADATA
from gpupolicy.linting.foreign.reading import Object, child, mapping, text
from gpupolicy.linting.foreign.shapes import ANY, FLAG, TEXT, Fields, ListOf, TableOf
from gpupolicy.model import GPUType, Policy, SlotGroup
from gpupolicy.quantity import QuantityError, parse_quantity

_SPEC = Fields(
    {
        "podCIDR": TEXT,
        "podCIDRs": ListOf(TEXT),
        "providerID": TEXT,
        "unschedulable": FLAG,
        "taints": ListOf(Fields({"key": TEXT, "value": TEXT, "effect": TEXT, "timeAdded": ANY})),
        "configSource": ANY,
        "externalID": TEXT,
        "podPreemptionPolicy": Fields({"disableResizePreemption": ListOf(TEXT)}),
    },
    {"labels": "write it below metadata", "tolerations": "nodes have taints, pods have tolerations"},
)

NODE_SHAPE = Fields(
    {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": METADATA,
        "spec": _SPEC,
        "status": Fields({"capacity": TableOf(ANY), "allocatable": TableOf(ANY)}, is_open=True),
    },
    {"labels": "write it below metadata", "taints": "write it below spec"},
)


@dataclass(frozen=True, kw_only=True)
class NodeSubject:
    """What a rule about nodes is given."""

    value: Object
    policy: Policy | None = None

    @cached_property
    def name(self) -> str:
        """metadata.name, "" where there is none."""
        return text(child(self.value, "metadata", "name"))

    @cached_property
    def title(self) -> str:
        """The name for messages."""
        return self.name or "the node"

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels whose values are text."""
        labels = mapping(child(self.value, *map(str, LABELS)))
        return {key: value for key, value in labels.items() if isinstance(value, str)}

    @property
    def type_label(self) -> str | None:
        """The value of the policy's gpu-type label, None without a policy or label."""
        return self.labels.get(self.policy.labels.gpu_type) if self.policy else None

    @property
    def group_label(self) -> str | None:
        """The value of the policy's node-group label, None without a policy or label."""
        return self.labels.get(self.policy.labels.node_group) if self.policy else None

    @property
    def gpu_type(self) -> GPUType | None:
        """The GPU type that the node is labelled with."""
        return self.policy.types_by_name.get(self.type_label or "") if self.policy else None

    @property
    def group(self) -> SlotGroup | None:
        """The slot group that the node is labelled with."""
        return self.policy.groups_by_name.get(self.group_label or "") if self.policy else None

    def matching_types(self) -> Iterator[GPUType]:
        """Yields the GPU types of the policy whose node selector chooses the node."""
        for gpu_type in self.policy.gpu_types if self.policy else ():
            if gpu_type.node_selector is not None and gpu_type.node_selector.matches(self.labels):
                yield gpu_type

    def amount(self, field: str, resource_name: str) -> int | None:
        """Returns whole units of a resource in ``capacity`` or ``allocatable``; None where absent or unreadable."""
        amounts = mapping(child(self.value, "status", field))
        if resource_name not in amounts:
            return None
        try:
            return int(parse_quantity(amounts[resource_name]))
        except QuantityError:
            return None

    @property
    def has_status(self) -> bool:
        """Whether the node says what it offers."""
        return bool(child(self.value, "status", "allocatable") or child(self.value, "status", "capacity"))

    @property
    def counted_resource(self) -> str | None:
        """The GPU resource to look at: the type's, else the first counted one that the node lists."""
        if self.gpu_type is not None:
            return self.gpu_type.resource_name
        names = self.policy.resource_names if self.policy else ()
        return next((name for name in names if self.amount("allocatable", name) is not None), None)
