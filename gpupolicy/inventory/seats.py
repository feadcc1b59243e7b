"""Which GPU type and slot group each node has by its labels now: its seat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpupolicy.model import Policy
from gpupolicy.node import JSONMap, NodeView, each_object

Seat = tuple[str | None, str | None]  # (GPU type, slot group), as in assignment.Plan.groups


def read_seats(policy: Policy, nodes: Iterable[JSONMap]) -> Mapping[str, Seat]:
    """Returns the seat of every node by name; of nodes that are listed twice the first counts."""
    seats: dict[str, Seat] = {}
    for view in map(NodeView, each_object(nodes, "Node")):
        seats.setdefault(view.name, find_seat(policy, view))
    return seats


def find_seat(policy: Policy, view: NodeView) -> Seat:
    """Returns the GPU type and the slot group of a node; None where it has none that the policy knows.

    The labels of the policy decide, as they do for the scheduler; without the label of the type, the type whose
    nodeSelector alone fits.
    """
    group = view.labels.get(policy.labels.node_group)
    return find_type(policy, view), group if group in policy.groups_by_name else None


def find_type(policy: Policy, view: NodeView) -> str | None:
    """Returns the name of a node's GPU type, by its label or else by the one nodeSelector that fits."""
    label = view.labels.get(policy.labels.gpu_type)
    if label is not None and label in policy.type_names:
        return policy.type_names[label]
    fitting = find_fitting_types(policy, view)
    return fitting[0] if len(fitting) == 1 else None


def find_fitting_types(policy: Policy, view: NodeView) -> tuple[str, ...]:
    """Returns the names of the GPU types whose nodeSelector fits a node, in the order of the policy."""
    return tuple(t.name for t in policy.gpu_types if t.node_selector and t.node_selector.matches(view.labels))
