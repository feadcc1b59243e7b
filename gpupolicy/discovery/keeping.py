"""Slot groups that a fleet has by label already: their sizes, and claims that leave every node where it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpupolicy.discovery.demand import Demand
from gpupolicy.discovery.existing import Existing, read_sizes
from gpupolicy.discovery.fleet import GPUNode
from gpupolicy.discovery.gpu_types import FoundType
from gpupolicy.discovery.partition import FoundClaim, FoundGroup, admitted_sizes
from gpupolicy.discovery.remarks import Notes, listed, named
from gpupolicy.errors import counted
from gpupolicy.labels import LabelSelector, find_label_value_problem

MOST_NAMES = 40  # of one group and type; more are claimed by count

Members = dict[str, dict[str, list[GPUNode]]]  # group -> type -> nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The groups in use, and the sizes of types that do not serve every power of two, by the type's name."""

    groups: tuple[FoundGroup, ...] = ()
    request_sizes: Mapping[str, tuple[int, ...]]


def keep_groups(
    types: Sequence[FoundType], existing: Existing, demand: Demand, *, by_count: bool, notes: Notes
) -> Kept | None:
    """Returns the groups that node labels say, None where they are no partition by size.

    Args:
        types: the GPU types.
        existing: which label says the group.
        demand: what runs where, for groups whose names say no size.
        by_count: nodes come and go with new names, so they are counted instead of named.
        notes: takes remarks.
    """
    key = existing.group_key
    if key is None:
        return Kept(request_sizes={})
    by_name = {one.name: one for one in types}
    members = _find_members(types, key, notes)
    if not members:
        return Kept(request_sizes={})
    sizes = _Sizes(members, by_name, demand)
    if not sizes.settle():
        return None
    groups = tuple(_to_group(group, sizes, existing, by_count) for group in _in_order(members, sizes))
    return Kept(groups=groups, request_sizes=sizes.request_sizes())


def _find_members(types: Sequence[FoundType], key: str, notes: Notes) -> Members:
    """Returns the nodes of each group; a node that no size of its group fits is left out."""
    members: Members = defaultdict(lambda: defaultdict(list))
    misfits = []
    for one in types:
        for node in one.nodes:
            group = node.labels.get(key, "")
            if not group or find_label_value_problem(group):
                continue
            said = read_sizes(group)
            if said and min(said) > one.gpus:
                misfits.append(f"{node.name} ({group}, {counted(one.gpus, 'GPU')})")
            else:
                members[group][one.name].append(node)
    if misfits:
        notes.add(f"in a group whose slots are larger than the node, so it cannot stay there: {named(misfits)}")
    return members


class _Sizes:
    """Which sizes each group serves: those of its name, else what runs there, else what nobody else serves."""

    def __init__(self, members: Members, types: Mapping[str, FoundType], demand: Demand) -> None:
        self.members, self.types, self.demand = members, types, demand
        self.served: dict[str, set[int]] = {group: self._said(group) for group in members}
        self.added: dict[str, list[int]] = defaultdict(list)
        self.guessed: dict[str, str] = {}

    def settle(self) -> bool:
        """Finds the sizes; false where they do not part the requests of a type."""
        for group in sorted(self.members):
            if not self.served[group]:
                self._guess(group)
        for name in self._types_in_use():
            self._fill(name)
        return all(self.served.values()) and not self._find_conflict()

    def request_sizes(self) -> dict[str, tuple[int, ...]]:
        """Returns the sizes of types whose groups serve others than the usual ones."""
        found = {name: tuple(sorted(self._served_on(name))) for name in self._types_in_use()}
        return {name: sizes for name, sizes in found.items() if sizes != admitted_sizes(self.types[name])}

    def _types_in_use(self) -> list[str]:
        return sorted({name for by_type in self.members.values() for name in by_type})

    def _groups_on(self, name: str) -> list[str]:
        return sorted(group for group, by_type in self.members.items() if name in by_type)

    def _served_on(self, name: str) -> set[int]:
        limit = self.types[name].gpus
        return {size for group in self._groups_on(name) for size in self.served[group] if size <= limit}

    def _said(self, group: str) -> set[int]:
        """Returns the sizes of a group's name that its nodes can hold."""
        largest = max(self.types[name].gpus for name in self.members[group])
        return {size for size in read_sizes(group) if size <= largest}

    def _guess(self, group: str) -> None:
        names = list(self.members[group])
        possible = {size for name in names for size in admitted_sizes(self.types[name])}
        free = possible - {size for name in names for size in self._served_on(name)}
        nodes = [node.name for by_type in self.members[group].values() for node in by_type]
        running = {size for node in nodes for size in self.demand.sizes_by_node.get(node, ())} & free
        self.served[group] = running or free
        self.guessed[group] = (
            "check the sizes: they are those of the pods that run there"
            if running
            else "check the sizes: the name does not say them; these are the ones that no other group serves"
        )

    def _fill(self, name: str) -> None:
        """Gives sizes that no group of a type serves to the group of the next larger ones."""
        for size in admitted_sizes(self.types[name]):
            if size in self._served_on(name):
                continue
            larger = [group for group in self._groups_on(name) if self._bound(group) > size]
            group = min(larger, key=lambda group: (self._bound(group), group), default=None)
            if group is not None and all(size not in self._served_on(other) for other in self.members[group]):
                self.added[group].append(size)
        for group, sizes in self.added.items():
            self.served[group] |= set(sizes)

    def _bound(self, group: str) -> int:
        """Returns below which size a group may take one more: its smallest; of sizes that were guessed the largest."""
        sizes = self.served[group]
        return (max if group in self.guessed else min)(sizes, default=0)

    def _find_conflict(self) -> bool:
        """Whether two groups of a type serve one size, or a group leaves GPUs of a node that no slot fills."""
        for name in self._types_in_use():
            number = Counter(size for group in self._groups_on(name) for size in self.served[group])
            shared = [size for size, groups in number.items() if groups > 1 and size <= self.types[name].gpus]
            if shared or any(self._leaves_rest(group, name) for group in self._groups_on(name)):
                return True
        return False

    def _leaves_rest(self, group: str, name: str) -> bool:
        limit = self.types[name].gpus
        sizes = [size for size in self.served[group] if size <= limit]
        reached = {0}
        for total in range(1, limit + 1):
            if any(total - size in reached for size in sizes):
                reached.add(total)
        return max(reached) < limit

    def explain(self, group: str) -> Iterable[str]:
        """Yields what somebody should look at."""
        if group in self.guessed:
            yield self.guessed[group]
        if self.added[group]:
            sizes = sorted(set(self.added[group]))
            yield f"check: no group was made for {listed(sizes)}; such pods are served here"


def _in_order(members: Members, sizes: _Sizes) -> list[str]:
    return sorted(members, key=lambda group: (min(sizes.served[group]), group))


def _to_group(group: str, sizes: _Sizes, existing: Existing, by_count: bool) -> FoundGroup:
    by_type = sizes.members[group]
    claims = [claim for name in sorted(by_type) for claim in _claims(group, name, by_type[name], existing, by_count)]
    return FoundGroup(
        name=group,
        sizes=tuple(sorted(sizes.served[group])),
        claims=tuple(claims),
        taint=_find_taint(group, by_type, existing),
        remarks=tuple(sizes.explain(group)),
    )


def _claims(
    group: str, name: str, nodes: Sequence[GPUNode], existing: Existing, by_count: bool
) -> Iterable[FoundClaim]:
    """Yields the claim that keeps the nodes, and a share of the nodes that nobody keeps or that come later."""
    live = [node for node in nodes if node.gpus]
    if not existing.owns_groups:
        labels = LabelSelector(match_labels={existing.group_key or "": group})
        yield FoundClaim(gpu_type=name, selector=labels, remark=f"{len(nodes)} today, by the label in use")
    elif by_count or len(nodes) > MOST_NAMES:
        if live:
            yield FoundClaim(gpu_type=name, count=len(live), remark="as many as today: they stay")
    else:
        yield FoundClaim(gpu_type=name, names=tuple(sorted(node.name for node in nodes)))
    if len(nodes):
        yield FoundClaim(gpu_type=name, weight=len(nodes), remark="of nodes without a group, in today's proportion")


def _find_taint(group: str, by_type: Mapping[str, Sequence[GPUNode]], existing: Existing) -> str | None:
    """Returns the effect of a taint that the group's nodes have under the policy's own key."""
    if not existing.owns_groups:
        return None
    effects = Counter(
        effect
        for nodes in by_type.values()
        for node in nodes
        for key, value, effect in node.taints
        if key == existing.group_key and value == group
    )
    return min(effects, key=lambda effect: (-effects[effect], effect), default=None)
