"""A view on a foreign node: its name, labels and GPUs, read without trusting the shape. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from gpupolicy.quantity import QuantityError, parse_quantity

JSONMap = Mapping[str, object]
_NOTHING: JSONMap = {}


class NodeView:
    """Reads a Node; a part that is missing or of another type than the Kubernetes API has there counts as empty."""

    def __init__(self, node: JSONMap) -> None:
        self.node = node
        self._metadata = _mapping(node.get("metadata"))

    @cached_property
    def name(self) -> str:
        """metadata.name, empty where there is none."""
        name = self._metadata.get("name")
        return name if isinstance(name, str) else ""

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The node's labels; values that are no strings are left out."""
        labels = _mapping(self._metadata.get("labels"))
        return {key: value for key, value in labels.items() if isinstance(value, str)}

    @cached_property
    def taints(self) -> tuple[JSONMap, ...]:
        """spec.taints; entries that are no mappings are left out."""
        taints = _mapping(self.node.get("spec")).get("taints")
        return tuple(taint for taint in taints if isinstance(taint, Mapping)) if isinstance(taints, list) else ()

    def find_allocatable(self, resource_name: str) -> int | None:
        """Returns whole units of a resource that pods may use; None where the node does not list it."""
        amounts = _mapping(_mapping(self.node.get("status")).get("allocatable"))
        if resource_name not in amounts:
            return None
        try:
            return max(0, int(parse_quantity(amounts[resource_name])))
        except QuantityError:
            return None


def _mapping(value: object) -> JSONMap:
    return value if isinstance(value, Mapping) else _NOTHING
