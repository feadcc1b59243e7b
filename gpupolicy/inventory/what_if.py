"""What-if: nodes added to a slot group, taken from it, or moved into it from another one, before anybody does it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpupolicy.errors import UsageError, shown
from gpupolicy.inventory.figures import Moved
from gpupolicy.inventory.fleet import NodeState
from gpupolicy.inventory.usage import Usage
from gpupolicy.model import Policy
from gpupolicy.suggestions import hint_known

_MOST_NODES = 100_000
_GRAMMAR = re.compile(
    r"\s*(?P<group>[^\s:/]+)(?:/(?P<type>[^\s:/]+))?\s*:\s*(?P<sign>[+-])\s*(?P<nodes>[0-9]{1,6})"
    r"(?:\s+from\s+(?P<source>[^\s:/]+))?\s*"
)
_FORM = "'GROUP: +2' (new nodes), 'GROUP: -2' (taken away), or 'GROUP: +2 from OTHER' (moved); GROUP/TYPE names a type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Nodes more or less of a GPU type in a slot group; ``source``: the group that they come from."""

    text: str
    group: str
    gpu_type: str
    nodes: int
    source: str | None = None


def read_change(policy: Policy, text: str) -> Change:
    """Reads ``SLOT-8: +2``, ``SLOT-8/v100: -1`` or ``SLOT-8: +2 from SLOT-4``.

    Raises:
        UsageError: it has another form, or names what the policy does not have.
    """
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise UsageError(f'what-if "{shown(text)}" is not of the form {_FORM}')
    nodes = int(found["nodes"]) * (-1 if found["sign"] == "-" else 1)
    group, source = found["group"], found["source"]
    for name in (group, *((source,) if source else ())):
        if name not in policy.groups_by_name:
            raise UsageError(f"what-if: there is no slot group {shown(name, 63)}: {_hint(policy, name)}")
    if source and (nodes < 0 or source == group):
        raise UsageError(f'what-if "{shown(text)}": nodes move into a group (+) from another one')
    if abs(nodes) > _MOST_NODES:
        raise UsageError(f"what-if: {abs(nodes)} nodes are more than the {_MOST_NODES} that are tried")
    gpu_type = _find_type(policy, found["type"], group)
    return Change(text=" ".join(text.split()), group=group, gpu_type=gpu_type, nodes=nodes, source=source)


def apply_changes(
    policy: Policy, changes: Sequence[Change], nodes: Sequence[NodeState], usage: Usage
) -> tuple[tuple[NodeState, ...], tuple[Moved, ...]]:
    """Returns the nodes as they would be after the changes, one after the other, and what moved.

    New nodes are empty and as the policy describes their type; taken and moved are the emptiest ones, by name where
    several are equal.

    Raises:
        UsageError: a group has fewer nodes of the type than a change takes.
    """
    by_name = {node.name: node for node in nodes}
    moved: list[Moved] = []
    for change in changes:
        steps = _add(policy, change, by_name) if change.nodes > 0 and change.source is None else None
        steps = _take(change, by_name, usage) if steps is None else steps
        for node, step in steps:
            moved.append(step)
            by_name.pop(node.name, None)
            if step.target is not None:
                by_name[node.name] = replace(node, slot_group=step.target, group_label=step.target)
    return tuple(by_name[name] for name in sorted(by_name)), tuple(moved)


def _add(policy: Policy, change: Change, nodes: dict[str, NodeState]) -> list[tuple[NodeState, Moved]]:
    gpu_type = policy.types_by_name[change.gpu_type]
    steps: list[tuple[NodeState, Moved]] = []
    number = 0
    while len(steps) < change.nodes:
        number += 1
        name = f"new-{number}"
        if name in nodes:
            continue
        node = NodeState(
            name=name,
            gpu_type=gpu_type.name,
            slot_group=change.group,
            group_label=change.group,
            names=gpu_type.counted_names,
            gpus=gpu_type.gpus_per_node,
        )
        steps.append((node, Moved(node=name, gpu_type=gpu_type.name, source=None, target=change.group)))
    return steps


def _take(change: Change, nodes: dict[str, NodeState], usage: Usage) -> list[tuple[NodeState, Moved]]:
    """Takes nodes away, or moves them where the change names a source."""
    source = change.source or change.group
    target = change.group if change.source else None
    there = [node for node in nodes.values() if (node.slot_group, node.gpu_type) == (source, change.gpu_type)]
    wanted = abs(change.nodes)
    if wanted > len(there):
        message = f"{source} has {len(there)} nodes of {change.gpu_type}, {wanted} are to be taken"
        raise UsageError(f'what-if "{shown(change.text)}": {message}')
    emptiest = sorted(there, key=lambda node: (usage.gpus_of(node.name), node.name))[:wanted]
    return [(node, Moved(node=node.name, gpu_type=change.gpu_type, source=source, target=target)) for node in emptiest]


def _find_type(policy: Policy, named: str | None, group: str) -> str:
    """Returns the GPU type that a change means: the one it names, or the group's only one."""
    if named is not None:
        if named not in policy.type_names:
            raise UsageError(
                f"what-if: there is no GPU type {shown(named, 63)}: {hint_known(named, policy.type_names)}"
            )
        return policy.type_names[named]
    types = sorted(policy.types_of_group[group])
    if len(types) != 1:
        listed = " or ".join(f"{group}/{name}" for name in types) or "a GPU type"
        raise UsageError(f"what-if: {group} has several GPU types: name one, as in {listed}")
    return types[0]


def _hint(policy: Policy, name: str) -> str | None:
    return hint_known(shown(name, 63), policy.groups_by_name)
