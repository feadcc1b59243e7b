"""Rules about the names, the overflow and the scheduler of spec.slotGroups."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.labels import find_label_value_problem
from gpupolicy.model import Policy, SlotGroup
from gpupolicy.rules.findings import error, gpus, warning
from gpupolicy.suggestions import hint_known

_GROUPS = ("spec", "slotGroups")


def slot_group_name_not_label(policy: Policy) -> Iterator[Finding]:
    """A slot group whose name no label can hold.

    Why: the name is the value of the node-group label; one key has one value, so a list with commas is none either.
    Bad:  name: SLOT-2,SLOT-4
    Good: name: SLOT-2-4
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
    """
    for index, group in enumerate(policy.slot_groups):
        if problem := find_label_value_problem(group.name):
            field = (*_GROUPS, index, "name")
            yield error("slot-group-name-not-label", field, f'"{group.name}" is no label value: it {problem}')


def slot_group_name_repeated(policy: Policy) -> Iterator[Finding]:
    """Two slot groups of one name.

    Why: both are the same label value, so routing cannot tell them apart.
    Bad:  [{name: SLOT-4, sizes: [4]}, {name: SLOT-4, sizes: [2]}]
    Good: [{name: SLOT-4, sizes: [4]}, {name: SLOT-2, sizes: [2]}]
    Source: design: a node is in one group by one label.
    """
    first: dict[str, int] = {}
    for index, group in enumerate(policy.slot_groups):
        if first.setdefault(group.name, index) != index:
            place = policy.find_place((*_GROUPS, first[group.name], "name"))
            where = f"; first in line {place[0]}" if place else ""
            field = (*_GROUPS, index, "name")
            yield error("slot-group-name-repeated", field, f"slot group {group.name} stands twice{where}")


def overflow_unknown(policy: Policy) -> Iterator[Finding]:
    """Overflow into a group that the policy does not have.

    Why: the pods stay where they are, although the policy reads as if they could go on.
    Bad:  overflow: [SLOT-SMAL]
    Good: overflow: [SLOT-SMALL]
    Source: design: overflow names slot groups.
    """
    for index, group in enumerate(policy.slot_groups):
        for position, name in enumerate(group.overflow):
            if name not in policy.groups_by_name:
                others = policy.groups_by_name.keys() - {group.name}
                field = (*_GROUPS, index, "overflow", position)
                message = f"overflow of {group.name} names {name}, which is no slot group"
                yield error("overflow-unknown", field, message, hint_known(name, others))


def overflow_to_itself(policy: Policy) -> Iterator[Finding]:
    """A group that overflows into itself.

    Why: it is always its own first choice; the entry means nothing, or another group was meant.
    Bad:  {name: SLOT-8, overflow: [SLOT-8]}
    Good: {name: SLOT-8, overflow: [SLOT-SMALL]}
    Source: design: overflow names other groups.
    """
    for index, group in enumerate(policy.slot_groups):
        for position, name in enumerate(group.overflow):
            if name == group.name:
                field = (*_GROUPS, index, "overflow", position)
                yield error("overflow-to-itself", field, f"slot group {name} overflows into itself")


def overflow_repeated(policy: Policy) -> Iterator[Finding]:
    """A group that stands twice in one overflow list.

    Why: only its first place counts.
    Bad:  overflow: [SLOT-4, SLOT-SMALL, SLOT-4]
    Good: overflow: [SLOT-4, SLOT-SMALL]
    Source: design: the order of the list is the order of choice.
    """
    for index, group in enumerate(policy.slot_groups):
        for position, name in enumerate(group.overflow):
            if name in group.overflow[:position]:
                field = (*_GROUPS, index, "overflow", position)
                yield warning("overflow-repeated", field, f"{name} already stands in the overflow of {group.name}")


def overflow_circle(policy: Policy) -> Iterator[Finding]:
    """Groups that overflow into each other in a circle.

    Why: overflow is one-way so that one class is protected; in a circle every group takes the room of every other, and
        none is protected.
    Bad:  SLOT-8 overflows into SLOT-SMALL, SLOT-SMALL overflows into SLOT-8
    Good: only SLOT-8 overflows into SLOT-SMALL
    Source: design: overflow is one-way; replayed traces show that mutual overflow protects nobody.
    """
    for index, group in enumerate(policy.slot_groups):
        circle = _find_circle(policy, group)
        if circle and group.name == min(circle, key=[g.name for g in policy.slot_groups].index):
            way = " -> ".join((*circle, group.name))
            yield warning("overflow-circle", (*_GROUPS, index, "overflow"), f"overflow goes in a circle: {way}")


def overflow_cannot_hold(policy: Policy) -> Iterator[Finding]:
    """Overflow into a group whose nodes are too small.

    Why: no pod of the group fits there, so the overflow never happens.
    Bad:  {sizes: [8], overflow: [SLOT-SMALL]} where SLOT-SMALL has nodes of 4 GPUs only
    Good: overflow into a group with nodes of 8 GPUs
    Source: a pod runs on one node.
    """
    for index, group in enumerate(policy.slot_groups):
        for position, name in enumerate(group.overflow):
            other = policy.groups_by_name.get(name)
            largest = max(_node_sizes(policy, other), default=None) if other else None
            if largest is not None and group.sizes and min(group.sizes) > largest:
                field = (*_GROUPS, index, "overflow", position)
                message = f"nodes of {name} have {gpus(largest)}; {group.name} serves {gpus(min(group.sizes))} and more"
                yield warning("overflow-cannot-hold", field, message)


def group_scheduler_unknown(policy: Policy) -> Iterator[Finding]:
    """A slot group whose scheduler the policy neither makes nor knows.

    Why: pods that name a scheduler nobody runs stay Pending without an event.
    Bad:  schedulerName: gpu-packign
    Good: schedulerName: gpu-packing, with a profile of that name
    Source: measured on 1.37.2: no condition, no event, nothing in the log.
    """
    known = {*policy.scheduler_names, *policy.scheduler.other_schedulers, "default-scheduler"}
    for index, group in enumerate(policy.slot_groups):
        if group.scheduler_name is not None and group.scheduler_name not in known:
            field = (*_GROUPS, index, "schedulerName")
            message = f"{group.scheduler_name} is neither a profile nor one of otherSchedulers"
            yield error("group-scheduler-unknown", field, message, hint_known(group.scheduler_name, known))


def _node_sizes(policy: Policy, group: SlotGroup) -> set[int]:
    return {t.gpus_per_node for t in policy.gpu_types if group.serves(t.name)}


def _find_circle(policy: Policy, start: SlotGroup) -> tuple[str, ...]:
    """Returns the names on a way of overflow that leads back to its start; empty where none does."""
    ways: list[tuple[str, ...]] = [(start.name,)]
    seen = {start.name}
    while ways:
        way = ways.pop(0)
        group = policy.groups_by_name.get(way[-1])
        for name in group.overflow if group else ():
            if name == start.name and len(way) > 1:
                return way
            if name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()
