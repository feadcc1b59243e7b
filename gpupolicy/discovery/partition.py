"""Slot groups of the policy to be: what a group is made of, and the partition for a fleet that has none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpupolicy import scoring
from gpupolicy.assignment import largest_remainder
from gpupolicy.discovery.gpu_types import FoundType
from gpupolicy.discovery.remarks import listed
from gpupolicy.errors import counted
from gpupolicy.labels import LabelSelector
from gpupolicy.model import ResourceWeight, ScoringStrategy, powers_of_two

SMALL_WEIGHT, RESERVE_WEIGHT = 3, 1
FEWEST_FOR_RESERVE = 4
SMALLEST_RESERVE = 4  # GPUs: on nodes of 1 or 2 packing alone keeps nodes free
SLICES = "SLICES"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundClaim:
    """Nodes of one type that a group takes; ``remark`` becomes a comment."""

    gpu_type: str
    names: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    count: int | None = None
    weight: int | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroup:
    """A slot group of the policy to be."""

    name: str
    sizes: tuple[int, ...]
    claims: tuple[FoundClaim, ...]
    overflow: tuple[str, ...] = ()
    taint: str | None = None
    remarks: tuple[str, ...] = ()


def admitted_sizes(gpu_type: FoundType) -> tuple[int, ...]:
    """Returns the sizes that pods may ask for: powers of two; of parts of a device one, since more is not larger."""
    return (1,) if gpu_type.is_slice else powers_of_two(gpu_type.gpus)


def needs_own_profile(gpu_type: FoundType) -> bool:
    """Returns whether no weight lets one GPU outvote cpu and memory on such a node."""
    strategy = ScoringStrategy(resources=(ResourceWeight(name=gpu_type.resource, weight=100),))
    return scoring.smallest_unbeaten_gpu_weight(strategy, 2, gpu_type.gpus) is None


def propose_groups(types: Sequence[FoundType]) -> tuple[FoundGroup, ...]:
    """Returns the reserve design for types without groups: small requests packed together, whole nodes kept apart.

    Types of few nodes, of nodes that a power of two does not fill, and parts of devices are packed without a reserve.
    """
    wholes = [one for one in types if not one.is_slice and not needs_own_profile(one)]
    reserves = sorted({one.gpus for one in wholes if _can_reserve(one)})
    if len(reserves) > 1:
        reserves = [size for size in reserves if size > SMALLEST_RESERVE]
    parts: dict[tuple[int, str, tuple[int, ...]], list[FoundType]] = defaultdict(list)
    for one in types:
        parts[_place(one, reserves)].append(one)
    groups: list[FoundGroup] = []
    for (_, name, sizes), members in sorted(parts.items(), key=lambda entry: entry[0][:2]):
        groups += _groups_of(name, sizes, members, reserves)
    return tuple(groups)


def _can_reserve(one: FoundType) -> bool:
    is_power = one.gpus & (one.gpus - 1) == 0
    return is_power and one.gpus >= SMALLEST_RESERVE and len(one.live) >= FEWEST_FOR_RESERVE


def _place(one: FoundType, reserves: Sequence[int]) -> tuple[int, str, tuple[int, ...]]:
    """Returns which packed group a type belongs to: (order, name, sizes)."""
    sizes = admitted_sizes(one)
    if one.is_slice:
        return 9000, SLICES, sizes
    if needs_own_profile(one):
        return 8000 + one.gpus, f"SLOT-ALL-OF-{one.gpus}", sizes
    for index, size in enumerate(reserves):
        small = powers_of_two(size // 2)
        is_reserve = one.gpus == size and _can_reserve(one)
        if is_reserve or set(sizes) <= set(small):
            return size, "SLOT-SMALL" if index == 0 else f"SLOT-SMALL-OF-{size}", small
    return (7000 + one.gpus, f"SLOT-ALL-OF-{one.gpus}", sizes) if reserves else (7000, "SLOT-ALL", ())


def _groups_of(
    name: str, sizes: tuple[int, ...], members: list[FoundType], reserves: Sequence[int]
) -> list[FoundGroup]:
    whole = 2 * sizes[-1] if sizes and name.startswith("SLOT-SMALL") else 0
    reserve = [one for one in members if one.gpus == whole and whole in reserves and _can_reserve(one)]
    served = sizes or powers_of_two(max(one.gpus for one in members))
    packed = FoundGroup(
        name=name,
        sizes=served,
        claims=tuple(_claim(one, SMALL_WEIGHT if one in reserve else 1, one in reserve, 0) for one in members),
        remarks=tuple(_explain_packed(name, served, members, bool(reserve))),
    )
    if not reserve:
        return [packed]
    kept = FoundGroup(
        name=f"SLOT-{whole}",
        sizes=(whole,),
        claims=tuple(_claim(one, RESERVE_WEIGHT, True, 1) for one in reserve),
        overflow=(name,),
        remarks=tuple(_explain_reserve(name, whole, reserve)),
    )
    return [packed, kept]


def _claim(one: FoundType, weight: int, is_shared: bool, place: int) -> FoundClaim:
    nodes = len(one.live)
    share = largest_remainder(nodes, (SMALL_WEIGHT, RESERVE_WEIGHT))[place] if is_shared else nodes
    return FoundClaim(gpu_type=one.name, weight=weight, remark=f"{share} of {counted(nodes, 'node')} today")


def _explain_packed(name: str, sizes: Sequence[int], members: Sequence[FoundType], has_reserve: bool) -> Iterator[str]:
    if name == SLICES:
        yield "Parts of devices: a pod that takes several gets several small ones, not a large one, so 1 is admitted."
        return
    yield f"Pods of {listed(sizes)} {'GPU' if sizes == (1,) else 'GPUs'}, packed together: no borders between them."
    if not has_reserve and max(one.gpus for one in members) >= SMALLEST_RESERVE:
        yield (
            "No nodes are set apart for pods that need a whole one: these are too few, or of a size that powers of two "
            "do not fill. If such pods wait long, make a group of their own (and take the size out of this one)."
        )


def _explain_reserve(small: str, whole: int, reserve: Sequence[FoundType]) -> Iterator[str]:
    nodes = sum(len(one.live) for one in reserve)
    kept = sum(largest_remainder(len(one.live), (SMALL_WEIGHT, RESERVE_WEIGHT))[1] for one in reserve)
    yield (
        f"The reserve: {kept} of {nodes} nodes ({kept * whole} of {nodes * whole} GPUs) that smaller pods never enter, "
        f"so that a pod of {whole} GPUs finds a whole node. What it costs: while these stand idle, smaller pods may "
        "wait. Packing alone cures most fragmentation; the reserve is for clusters that are nearly full. It is a dial: "
        f"raise the weight if {whole}-GPU pods wait, lower it (or remove the group and give {small} the size {whole}) "
        "if others do."
    )


def merge_groups(kept: Sequence[FoundGroup], proposed: Sequence[FoundGroup]) -> tuple[FoundGroup, ...]:
    """Joins groups in use with those proposed for other types; equal ones become one, others of a name are renamed."""
    groups = {group.name: group for group in kept}
    renamed: dict[str, str] = {}
    for group in proposed:
        name = group.name
        if name in groups and groups[name].sizes == group.sizes:
            groups[name] = replace(groups[name], claims=(*groups[name].claims, *group.claims))
            continue
        while name in groups:
            name = f"{name}-NEW"
        renamed[group.name] = name
        overflow = tuple(renamed.get(other, other) for other in group.overflow)
        groups[name] = replace(group, name=name, overflow=overflow)
    return tuple(groups.values())
