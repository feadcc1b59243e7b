"""Rules about spec.slotGroups[].nodes: which nodes a group claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import (
    LabelSelector,
    covers_globs,
    find_dns_subdomain_problem,
    find_glob_problem,
    is_glob,
    matches_glob,
)
from gpupolicy.model import NodeClaim, Policy
from gpupolicy.rules.findings import error, tell_name, warning
from gpupolicy.suggestions import hint_known

_GROUPS = ("spec", "slotGroups")


def slot_group_without_claims(policy: Policy) -> Iterator[Finding]:
    """A slot group that claims no nodes.

    Why: no node ever belongs to it, so its pods wait for ever.
    Bad:  {name: SLOT-4, sizes: [4]}
    Good: {name: SLOT-4, sizes: [4], nodes: [{gpuType: V100, weight: 1}]}
    Source: design: a group's nodes are those that its claims name.
    """
    for index, group in enumerate(policy.slot_groups):
        if not group.nodes:
            message = f"slot group {group.name} claims no nodes"
            yield warning("slot-group-without-claims", (*_GROUPS, index, "nodes"), message)


def claim_type_unknown(policy: Policy) -> Iterator[Finding]:
    """A claim on nodes of a GPU type that the policy does not have.

    Why: the claim takes no node.
    Bad:  nodes: [{gpuType: V10, weight: 1}]
    Good: nodes: [{gpuType: V100, weight: 1}]
    Source: design: claims name types, not their aliases.
    """
    for field, _, claim in _claims(policy):
        if claim.gpu_type not in policy.types_by_name:
            named = policy.type_names.get(claim.gpu_type)
            hint = (
                f"write {named}, of which it is an alias" if named else hint_known(claim.gpu_type, policy.types_by_name)
            )
            message = f"{claim.gpu_type} is no GPU type of this policy"
            yield error("claim-type-unknown", (*field, "gpuType"), message, hint)


def claim_weights_all_zero(policy: Policy) -> Iterator[Finding]:
    """Weights for the nodes of a type that are all 0.

    Why: the weights share out the nodes that nobody else claims; of nothing there is no share, so these nodes get no
        group.
    Bad:  every claim on V100 says weight: 0
    Good: at least one says weight: 1
    Source: design: largest remainder of the weights.
    """
    for name in policy.types_by_name:
        weighed = [(field, claim) for field, _, claim in _claims(policy) if claim.gpu_type == name]
        weighed = [(field, claim) for field, claim in weighed if claim.weight is not None]
        if weighed and not any(claim.weight for _, claim in weighed):
            message = f"the weights for nodes of {name} are all 0, so none of them is shared out"
            yield error("claim-weights-all-zero", (*weighed[0][0], "weight"), message)


def claim_mixes_weight(policy: Policy) -> Iterator[Finding]:
    """A claim that names nodes and has a weight as well.

    Why: the weight is a share of all the other nodes of the type, not of those that are named.
    Bad:  {gpuType: V100, names: ["gpu-00*"], weight: 3}
    Good: two claims: {gpuType: V100, names: ["gpu-00*"]} and {gpuType: V100, weight: 3}
    Source: design: names, selectors and counts come first, weights share the rest.
    """
    for field, _, claim in _claims(policy):
        others = [key for key, value in _conditions(claim) if value]
        if claim.weight is not None and others:
            message = (
                f"weight is a share of the other nodes of {claim.gpu_type}; it does not limit what {others[0]} takes"
            )
            yield warning("claim-mixes-weight", (*field, "weight"), message, "make it a claim of its own")


def node_claimed_twice(policy: Policy) -> Iterator[Finding]:
    """A node that two claims name, or select.

    Why: a node is in one group by one label, so the order of the claims would decide.
    Bad:  SLOT-4 has names: [gpu-001], SLOT-8 has names: ["gpu-00*"]
    Good: SLOT-4 has names: [gpu-001], SLOT-8 has names: ["gpu-00[2-9]"]
    Source: design: a node is in exactly one group. Claims that a count limits may share names and selectors.
    """
    yield from _named_twice(policy)
    yield from _selected_twice(policy)


def _named_twice(policy: Policy) -> Iterator[Finding]:
    seen = _Names()
    for field, group, claim in _claims(policy):
        for position, name in enumerate(claim.names):
            named = _Named(name, group, (*field, "names", position), claim)
            if other := seen.find_rival(named):
                pattern = f" by {other.name}" if other.name != name else ""
                told = f"{name} is already claimed by {_owner(other.group, group)}{pattern}"
                yield error("node-claimed-twice", named.field, told + _where(policy, other.field))
            else:
                seen.add(named)


def _selected_twice(policy: Policy) -> Iterator[Finding]:
    selecting = [(field, group, claim) for field, group, claim in _claims(policy) if _only_selects(claim)]
    for field, group, claim in selecting:
        for place, owner, earlier in selecting:
            if _takes_all(earlier, claim) and (claim.count is not None or place < field):
                told = f"every node that this selects is already claimed by {_owner(owner, group)}"
                where = _where(policy, (*place, "nodeSelector"))
                yield error("node-claimed-twice", (*field, "nodeSelector"), told + where)
                break


def node_name_not_dns(policy: Policy) -> Iterator[Finding]:
    """A node name that no node can have.

    Why: the claim takes no node. Patterns are those of a shell: *, ?, [abc].
    Bad:  names: [GPU_001], or ["gpu-.*"], ["gpu-{1..4}"]
    Good: names: [gpu-001], or ["gpu-*"], ["gpu-[1-4]"]
    Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-name-uniqueness
    """
    for field, _, claim in _claims(policy):
        for position, name in enumerate(claim.names):
            if problem := find_glob_problem(name, find_dns_subdomain_problem):
                place = (*field, "names", position)
                yield error("node-name-not-dns", place, tell_name(name, "node name", problem))


def _claims(policy: Policy) -> Iterator[tuple[FieldPath, str, NodeClaim]]:
    """Yields each claim with its field and the name of its group."""
    for index, group in enumerate(policy.slot_groups):
        for position, claim in enumerate(group.nodes):
            yield (*_GROUPS, index, "nodes", position), group.name, claim


def _conditions(claim: NodeClaim) -> tuple[tuple[str, object], ...]:
    return ("names", claim.names), ("nodeSelector", claim.node_selector is not None), ("count", claim.count is not None)


@dataclass(frozen=True, slots=True)
class _Named:
    """A name or pattern of a claim, with its group and its place."""

    name: str
    group: str
    field: FieldPath
    claim: NodeClaim


class _Names:
    """The names that claims have so far; whole names are found at once, patterns are tried one by one."""

    def __init__(self) -> None:
        self._all: list[_Named] = []
        self._patterns: list[_Named] = []
        self._by_name: dict[str, list[_Named]] = {}

    def add(self, named: _Named) -> None:
        """Takes a name in."""
        self._all.append(named)
        if is_glob(named.name):
            self._patterns.append(named)
        else:
            self._by_name.setdefault(named.name, []).append(named)

    def find_rival(self, named: _Named) -> _Named | None:
        """Returns an earlier name that surely means a common node; two different patterns are not compared."""
        candidates = self._all if is_glob(named.name) else [*self._by_name.get(named.name, ()), *self._patterns]
        return next((other for other in candidates if _overlap(named, other)), None)


def _overlap(one: _Named, other: _Named) -> bool:
    if one.name != other.name and not (matches_glob(one.name, (other.name,)) or matches_glob(other.name, (one.name,))):
        return False
    if one.claim.gpu_type != other.claim.gpu_type:
        return one.name == other.name and not is_glob(one.name)  # a node is of one type
    mine, theirs = one.claim.node_selector or LabelSelector(), other.claim.node_selector or LabelSelector()
    if one.claim is not other.claim and (one.claim.count or other.claim.count):
        whole, limited = (one, other) if other.claim.count else (other, one)  # who is not limited takes nodes first
        meet = theirs.narrows(mine) if other.claim.count else mine.narrows(theirs)
        return not whole.claim.count and meet and covers_globs((whole.name,), (limited.name,))
    return mine.narrows(theirs) or theirs.narrows(mine)


def _only_selects(claim: NodeClaim) -> bool:
    return claim.node_selector is not None and not claim.names


def _takes_all(earlier: NodeClaim, claim: NodeClaim) -> bool:
    """Returns whether a claim by a selector surely leaves no node to another one."""
    if earlier is claim or earlier.count is not None or earlier.gpu_type != claim.gpu_type:
        return False
    return (claim.node_selector or LabelSelector()).narrows(earlier.node_selector or LabelSelector())


def _owner(other: str, group: str) -> str:
    return f"slot group {other}" if other != group else "the same group"


def _where(policy: Policy, field: FieldPath) -> str:
    place = policy.find_place(field)
    return f" in line {place[0]}" if place else ""
