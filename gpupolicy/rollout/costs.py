"""What a plan wins, loses and costs: slots by group and size, and the workloads whose pods have to move. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpupolicy.model import Policy
from gpupolicy.rollout.plan import GroupSlots, OwnerCost, Resident, SizeSlots

_NOBODY = "Pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A node of a GPU type with its GPUs (allocatable), and its slot group before and after."""

    gpu_type: str
    gpus: int
    before: str | None
    after: str | None


def count_slots(policy: Policy, seats: Iterable[Seat]) -> tuple[GroupSlots, ...]:
    """Counts nodes and slots before and after.

    A slot of a size is room for one request of it on an empty node; sizes of one group share the same GPUs, so their
    numbers do not add up.

    Args:
        policy: the policy.
        seats: all nodes of the policy's types.

    Returns:
        Every group of every type that has nodes before or after, in the order of the policy; last, nodes without one.
    """
    by_type: dict[str, list[Seat]] = {gpu_type.name: [] for gpu_type in policy.gpu_types}
    for seat in seats:
        by_type[seat.gpu_type].append(seat)
    groups: tuple[str | None, ...] = (*policy.groups_by_name, None)
    counted = (_count_group(policy, name, group, held) for name, held in by_type.items() for group in groups)
    return tuple(each for each in counted if each.nodes_before or each.nodes_after)


def _count_group(policy: Policy, gpu_type: str, group: str | None, seats: list[Seat]) -> GroupSlots:
    before = [seat.gpus for seat in seats if seat.before == group]
    after = [seat.gpus for seat in seats if seat.after == group]
    admitted = policy.sizes_of(policy.types_by_name[gpu_type])
    sizes = [] if group is None else [size for size in policy.groups_by_name[group].sizes if size in admitted]
    return GroupSlots(
        gpu_type=gpu_type,
        slot_group=group,
        nodes_before=len(before),
        nodes_after=len(after),
        slots=tuple(
            SizeSlots(size=size, before=sum(n // size for n in before), after=sum(n // size for n in after))
            for size in sorted(sizes)
        ),
    )


def group_by_owner(residents: Iterable[Resident]) -> tuple[OwnerCost, ...]:
    """Returns what each workload has to move, the largest number of GPUs first; a pod of nobody stands for itself."""
    counts: dict[tuple[str, str, str], tuple[int, int]] = {}
    for resident in residents:
        kind, name = resident.owner or (_NOBODY, resident.name)
        pods, gpus = counts.get((kind, resident.namespace, name), (0, 0))
        counts[kind, resident.namespace, name] = (pods + 1, gpus + resident.gpus)
    return _ordered(counts)


def _ordered(counts: Mapping[tuple[str, str, str], tuple[int, int]]) -> tuple[OwnerCost, ...]:
    costs = [
        OwnerCost(kind=kind, namespace=namespace, name=name, pods=pods, gpus=gpus)
        for (kind, namespace, name), (pods, gpus) in counts.items()
    ]
    return tuple(sorted(costs, key=lambda cost: (-cost.gpus, -cost.pods, cost.namespace, cost.kind, cost.name)))
