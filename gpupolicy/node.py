"""A view on a foreign node: its name, labels and GPUs, read without trusting the shape. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from gpupolicy.errors import UsageError
from gpupolicy.quantity import QuantityError, parse_quantity

JSONMap = Mapping[str, object]
_NOTHING: JSONMap = {}
_AS_PRINTED = "it is wanted as the API prints it: kubernetes.client.ApiClient().sanitize_for_serialization(...)"


def each_object(objects: Iterable[JSONMap], kind: str) -> Iterator[JSONMap]:
    """Yields objects of the Kubernetes API, one by one.

    Args:
        objects: the objects.
        kind: what they are, for messages.

    Raises:
        UsageError: objects of the Python client are among them, or what its ``to_dict()`` makes of them: with names
            such as ``node_name`` they would be read as if the fields were not there.
    """
    if isinstance(objects, Mapping):
        raise UsageError(f"the {kind}s are one mapping, a series of them is wanted: pass the items of a List")
    for number, item in enumerate(objects, 1):
        if not isinstance(item, Mapping):
            raise UsageError(f"{kind} {number} is of type {type(item).__name__}; {_AS_PRINTED}")
        if "api_version" in item:
            raise UsageError(f"{kind} {number} has api_version in the place of apiVersion; {_AS_PRINTED}")
        yield item


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
