"""A starter policy from nodes that are there: types by label, groups by label, profiles by configuration.

The way of a cluster: ``fleet`` (which nodes have GPUs), ``existing`` (labels in use), ``gpu_types`` (with ``naming``
and ``separating``), ``demand`` (what runs), ``keeping`` and ``partition`` (slot groups), ``profiles``, ``writing``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpupolicy.discovery.demand import read_demand
from gpupolicy.discovery.existing import TYPE_NAME, Existing, find_existing, without_groups
from gpupolicy.discovery.fleet import Fleet, read_fleet
from gpupolicy.discovery.gpu_types import FoundType, find_types
from gpupolicy.discovery.hardware import Hardware, read_hardware
from gpupolicy.discovery.keeping import Kept, keep_groups
from gpupolicy.discovery.partition import (
    FoundGroup,
    admitted_sizes,
    merge_groups,
    needs_own_profile,
    propose_groups,
)
from gpupolicy.discovery.profiles import Needs, find_scheduler
from gpupolicy.discovery.remarks import Notes
from gpupolicy.discovery.writing import Draft, write_policy
from gpupolicy.errors import InputError, counted
from gpupolicy.node import JSONMap

__all__ = ["Discovery", "discover"]

DEFAULT_NAME = "gpu-policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The policy's text, and what somebody should know about it.

    ``selects_nodes`` is false where nodes have to be labelled first: until then the policy has none.
    """

    text: str
    notes: tuple[str, ...] = ()
    selects_nodes: bool = True


def discover(
    nodes: Iterable[JSONMap],
    pods: Iterable[JSONMap] = (),
    *,
    source: str = "nodes",
    name: str = DEFAULT_NAME,
    configuration: Mapping[str, object] | None = None,
    configuration_name: str = "the configuration",
) -> Discovery:
    """Proposes a policy for a cluster.

    Args:
        nodes: Nodes as the API prints them.
        pods: Pods, if there are any to look at: for device plugins, and for the sizes of groups in use.
        source: where the nodes are from, for messages.
        name: the policy's name.
        configuration: a KubeSchedulerConfiguration whose profiles are taken.
        configuration_name: where that is from.

    Returns:
        A policy in which lint finds nothing, and notes on what is odd.

    Raises:
        InputError: there is no GPU node.
    """
    notes, hardware = Notes(), read_hardware()
    fleet = read_fleet(nodes, hardware, notes)
    existing = find_existing(fleet.nodes, notes)
    types = find_types(fleet, existing, hardware, notes)
    if not types:
        raise InputError(_describe_nothing(fleet, hardware, notes), file=source)
    demand = read_demand(pods, fleet.nodes, hardware, notes)
    kept = keep_groups(types, existing, demand, by_count=_names_change(fleet), notes=notes)
    if kept is None:
        existing, types, kept = _restart(fleet, existing, hardware, notes)
    groups = _all_groups(types, kept)
    fine = {one.name for one in types if needs_own_profile(one)}
    by_profile = {group.name: any(claim.gpu_type in fine for claim in group.claims) for group in groups}
    scheduler = find_scheduler(configuration, configuration_name, _find_needs(types, groups, by_profile), notes)
    draft = Draft(
        name=name,
        source=source,
        fleet=fleet,
        existing=existing,
        types=types,
        request_sizes={**{o.name: admitted_sizes(o) for o in types if o.is_slice}, **kept.request_sizes},
        groups=groups,
        kept=frozenset(group.name for group in kept.groups),
        scheduler=scheduler,
        scheduler_by_group=_choose_profiles(by_profile, [profile.name for profile in scheduler.profiles]),
        demand=demand,
        notes=notes.lines,
    )
    selects_nodes = any(_is_recognised(one, f"{existing.prefix}/{TYPE_NAME}") for one in types)
    return Discovery(text=write_policy(draft), notes=notes.lines, selects_nodes=selects_nodes)


def _is_recognised(one: FoundType, type_key: str) -> bool:
    names = {one.name, *one.aliases}
    return one.selector is not None or any(node.labels.get(type_key) in names for node in one.nodes)


def _restart(
    fleet: Fleet, existing: Existing, hardware: Hardware, notes: Notes
) -> tuple[Existing, tuple[FoundType, ...], Kept]:
    """Begins again without the groups in use, which do not part requests by size, and keeps off their label."""
    fresh = without_groups(existing, fleet.nodes)
    notes.add(
        f"{existing.group_key} does not part requests by size (two groups for one size, several whose names hold "
        "none, or slots that do not fill a node), so it is left alone; the policy's own labels are under "
        f"{fresh.prefix}"
    )
    return fresh, find_types(fleet, fresh, hardware, Notes()), Kept(request_sizes={})


def _all_groups(types: tuple[FoundType, ...], kept: Kept) -> tuple[FoundGroup, ...]:
    settled = {claim.gpu_type for group in kept.groups for claim in group.claims}
    return merge_groups(kept.groups, propose_groups([one for one in types if one.name not in settled]))


def _find_needs(types: tuple[FoundType, ...], groups: tuple[FoundGroup, ...], by_profile: Mapping[str, bool]) -> Needs:
    """Returns which resources the usual profile has to weigh, and which the one for small units."""
    usual = {claim.gpu_type for group in groups if not by_profile[group.name] for claim in group.claims}
    small = {claim.gpu_type for group in groups if by_profile[group.name] for claim in group.claims}
    return Needs(
        resources=tuple(dict.fromkeys(one.resource for one in types if one.name in usual)),
        fine_resources=tuple(dict.fromkeys(one.resource for one in types if one.name in small)),
        gpus=max((one.gpus for one in types if one.name in usual), default=1),
    )


def _choose_profiles(by_profile: Mapping[str, bool], names: list[str]) -> dict[str, str]:
    """Returns the profile of each group that does not use the first."""
    if len(names) < 2 or not any(by_profile.values()):
        return {}
    return {group: names[-1] for group, is_fine in by_profile.items() if is_fine}


def _names_change(fleet: Fleet) -> bool:
    """Returns whether nodes are likely to come and go with new names, as machines of a cloud do."""
    return fleet.provider is not None


def _describe_nothing(fleet: Fleet, hardware: Hardware, notes: Notes) -> str:
    resources = ", ".join(row.name for row in hardware.resources)
    keys = ", ".join(dict.fromkeys(row.key_for(hardware.resources[0].name) for row in hardware.products))
    odd = "".join(f"; {note}" for note in notes.lines)
    return (
        f"no GPU node among {counted(fleet.seen, 'node')}: looked for {resources} in status.allocatable and for the "
        f"labels {keys}{odd}"
    )
