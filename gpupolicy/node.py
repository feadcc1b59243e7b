"""A view on a foreign node: its name, labels and GPUs, read without trusting the shape. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from gpupolicy.errors import UsageError, shown
from gpupolicy.quantity import QuantityError, parse_quantity

MOST_GPUS = 1024  # of a node: what the policy's format takes

JSONMap = Mapping[str, object]
_NOTHING: JSONMap = {}
AS_PRINTED = "it is wanted as the API prints it: kubernetes.client.ApiClient().sanitize_for_serialization(...)"


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
            raise UsageError(f"{kind} {number} is of type {type(item).__name__}; {AS_PRINTED}")
        if "api_version" in item:
            raise UsageError(f"{kind} {number} has api_version in the place of apiVersion; {AS_PRINTED}")
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

    @cached_property
    def allocatable(self) -> JSONMap:
        """status.allocatable."""
        return _mapping(_mapping(self.node.get("status")).get("allocatable"))

    def find_allocatable(self, gpu_resource: str) -> int | None:
        """Returns the GPUs that pods may use; None where the node does not list them, 0 where they are no number."""
        if gpu_resource not in self.allocatable:
            return None
        return 0 if self.find_amount_problem(gpu_resource) else int(parse_quantity(self.allocatable[gpu_resource]))

    def find_amount_problem(self, gpu_resource: str) -> str | None:
        """Returns why an amount of GPUs is none, in the form ``is no whole number``; None where it is one."""
        value = self.allocatable.get(gpu_resource)
        try:
            amount = parse_quantity(value)
        except QuantityError as error:
            return f"cannot be read: {error}"
        if amount < 0 or amount != int(amount):
            return f"is {shown(str(value), 40)}, which is no whole number of at least 0"
        return f"is {shown(str(value), 40)}, and no node has more than {MOST_GPUS}" if amount > MOST_GPUS else None


def _mapping(value: object) -> JSONMap:
    return value if isinstance(value, Mapping) else _NOTHING
