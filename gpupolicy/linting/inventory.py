"""Rules about a policy and the nodes that it meets: groups without nodes, slots that no node can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpupolicy.assignment import assign
from gpupolicy.errors import FieldPath, Finding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.model import Policy, SlotGroup
from gpupolicy.node import NodeView

_GROUPS = ("spec", "slotGroups")


def judge_inventory(policy: Policy, documents: Iterable[Document]) -> Iterator[Finding]:
    """Yields what the nodes of an inventory say about a policy.

    Args:
        policy: the policy.
        documents: Nodes, NodeLists or Lists; other kinds are passed over.
    """
    nodes = {node.name: node for document in documents for node in _iter_nodes(document.value)}
    if not nodes:
        message = "the inventory holds no Node, so the policy was not judged against any"
        yield Finding(rule="inventory-without-nodes", severity=Severity.ERROR, field=(), message=message)
        return
    members = _find_members(policy, nodes)
    for index, group in enumerate(policy.slot_groups):
        yield from group_without_nodes(group, index, members)
        yield from slot_size_larger_than_inventory(policy, group, index, members)


def group_without_nodes(group: SlotGroup, index: int, members: Mapping[str, Sequence[NodeView]]) -> Iterator[Finding]:
    """A slot group that no node of the inventory belongs to.

    Why: its pods are admitted and wait for ever.
    Bad:  SLOT-4 in the policy, and no node with node-group=SLOT-4
    Good: at least one node in each group
    Source: where any node has the node-group label, labels decide; else the plan that would be made of the nodes.
    """
    if not members.get(group.name):
        yield _warning("group-without-nodes", (*_GROUPS, index, "name"), f"{group.name} has no node")


def slot_size_larger_than_inventory(
    policy: Policy, group: SlotGroup, index: int, members: Mapping[str, Sequence[NodeView]]
) -> Iterator[Finding]:
    """A slot that is larger than every node the group really has.

    Why: the scheduler counts what nodes offer (status.allocatable), not what the policy says; such pods wait for ever.
    Bad:  sizes: [8] where every node of the group offers 7 GPUs
    Good: sizes that the largest node of the group can hold
    Source: kube-scheduler places a pod on one node, by its allocatable resources.
    """
    offers = [_offer(policy, group, node) for node in members.get(group.name, ())]
    known = [offer for offer in offers if offer is not None]
    for position, size in enumerate(group.sizes):
        if known and size > max(known):
            message = f"{group.name} has slots of {size} GPUs, but its largest node offers {max(known)}"
            yield _warning("slot-size-larger-than-inventory", (*_GROUPS, index, "sizes", position), message)


INVENTORY_RULES: tuple[Callable[..., Iterator[Finding]], ...] = (group_without_nodes, slot_size_larger_than_inventory)


def _find_members(policy: Policy, nodes: Mapping[str, NodeView]) -> Mapping[str, Sequence[NodeView]]:
    """Returns the nodes of each group: by label where any node has one, else as they would be labelled."""
    members: dict[str, list[NodeView]] = {}
    key = policy.labels.node_group
    if any(key in node.labels for node in nodes.values()):
        for node in nodes.values():
            members.setdefault(node.labels.get(key, ""), []).append(node)
        return members
    for name, (_, group) in assign(policy, [node.node for node in nodes.values()]).groups.items():
        members.setdefault(group or "", []).append(nodes[name])
    return members


def _offer(policy: Policy, group: SlotGroup, node: NodeView) -> int | None:
    """Returns the GPUs that a node offers, of the resources of the group's types; None where it does not say."""
    names = dict.fromkeys(t.resource_name for t in policy.gpu_types if group.serves(t.name))
    offers = [node.find_allocatable(name) for name in names]
    return max((offer for offer in offers if offer is not None), default=None)


def _iter_nodes(value: object) -> Iterator[NodeView]:
    """Yields the Nodes with a name in a document; lists item by item."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if isinstance(items, list):
        for item in items:
            if isinstance(item, dict) and (item.get("kind") == "Node" or value.get("kind") == "NodeList"):
                yield from _iter_nodes({**item, "kind": "Node"})
    elif value.get("kind") == "Node":
        node = NodeView(value)
        if node.name:
            yield node


def _warning(rule: str, field: FieldPath, message: str) -> Finding:
    return Finding(rule=rule, severity=Severity.WARNING, field=field, message=message)
