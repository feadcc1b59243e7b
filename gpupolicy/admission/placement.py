"""Where the policy lets a pod go: what its namespace may use, and the slot groups that serve its size, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import cast

from gpupolicy.errors import FieldPath
from gpupolicy.model import GPUType, Policy, Routing


@dataclass(frozen=True, slots=True)
class Access:
    """What a namespace may use; None means all."""

    gpu_types: frozenset[str] | None = None
    slot_groups: frozenset[str] | None = None

    def allows_type(self, name: str) -> bool:
        """Returns whether nodes of the type may be used."""
        return self.gpu_types is None or name in self.gpu_types

    def allows_group(self, name: str) -> bool:
        """Returns whether the slot group may be used."""
        return self.slot_groups is None or name in self.slot_groups


EVERYTHING = Access()


@dataclass(frozen=True, slots=True)
class Target:
    """Where a pod is sent.

    ``levels`` are slot groups by preference (level 0 are the pod's own), ``gpu_types`` the types that it may use;
    ``requires_type`` says that its groups have nodes of other types as well. ``fence`` names the groups that the
    namespace may use, where the routing alone does not keep the pod inside them; empty: no fence is needed.
    """

    levels: tuple[tuple[str, ...], ...]
    gpu_types: tuple[str, ...]
    requires_type: bool = False
    fence: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """All groups, own ones first."""
        return tuple(name for level in self.levels for name in level)


def find_access(policy: Policy, namespace: str, labels: Mapping[str, str]) -> Access | None:
    """Returns what a namespace may use: the union of its entries; None where no entry grants it anything."""
    if not policy.admission.access:
        return EVERYTHING
    entries = [rule for rule in policy.admission.access if rule.namespaces.matches(namespace, labels)]
    if not entries:
        return None
    return Access(_union(rule.gpu_types for rule in entries), _union(rule.slot_groups for rule in entries))


def _union(parts: Iterable[tuple[str, ...] | None]) -> frozenset[str] | None:
    names: set[str] = set()
    for part in parts:
        if part is None:
            return None
        names.update(part)
    return frozenset(names)


def access_field(policy: Policy, namespace: str, labels: Mapping[str, str]) -> FieldPath:
    """Returns the policy's field that decides what a namespace may use."""
    for index, rule in enumerate(policy.admission.access):
        if rule.namespaces.matches(namespace, labels):
            return ("spec", "admission", "access", index)
    return ("spec", "admission", "access")


def find_target(policy: Policy, offering: tuple[GPUType, ...], size: int, access: Access) -> Target | None:
    """Finds where a request goes.

    Several groups that serve the size are equal: all stand on level 0, and packing decides between them. Overflow
    follows in the order in which the groups list it; it is not followed further.

    Args:
        policy: the policy.
        offering: the types that have the resources the pod asks for.
        size: how many GPUs it asks for.
        access: what its namespace may use.

    Returns:
        The target; None where no slot group of its own serves the request.
    """
    key = ("target", tuple([t.name for t in offering]), size, access)
    if key not in policy.memo:
        policy.memo[key] = _work_out_target(policy, offering, size, access)
    return cast(Target | None, policy.memo[key])


def _work_out_target(policy: Policy, offering: tuple[GPUType, ...], size: int, access: Access) -> Target | None:
    usable = {t.name: t for t in offering if size in policy.sizes_of(t) and access.allows_type(t.name)}
    others = {t.name for t in offering if t.name not in usable and size <= t.gpus_per_node}
    routing = policy.admission.routing
    levels = () if routing is Routing.OFF else _find_levels(policy, usable, size, access)
    fence = tuple(name for name in policy.groups_by_name if access.allows_group(name))
    if not fence or not (levels or routing is Routing.OFF):
        return None
    if routing is Routing.REQUIRED:
        reach = {name for level in levels for group in level for name in policy.types_of_group[group]}
        return Target(levels, tuple(name for name in usable if name in reach), not reach.isdisjoint(others))
    return Target(levels, tuple(usable), bool(others), () if access.slot_groups is None else fence)


def _find_levels(policy: Policy, types: Iterable[str], size: int, access: Access) -> tuple[tuple[str, ...], ...]:
    names = frozenset(types)
    own = [group for group in policy.groups_by_size.get(size, ()) if _is_open(policy, group.name, names, access)]
    levels = [tuple(group.name for group in own)]
    seen = set(levels[0])
    for listed in zip_longest(*(group.overflow for group in own)):
        level = dict.fromkeys(n for n in listed if n and n not in seen and _is_open(policy, n, names, access))
        seen.update(level)
        levels.append(tuple(level))
    return tuple(level for level in levels if level) if own else ()


def _is_open(policy: Policy, group: str, types: frozenset[str], access: Access) -> bool:
    return access.allows_group(group) and not policy.types_of_group.get(group, frozenset()).isdisjoint(types)
