"""Rules about spec.slotGroups[].nodes: which nodes a group claims."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_subdomain_problem, matches_glob
from gpupolicy.model import NodeClaim, Policy
from gpupolicy.rules.findings import error, warning
from gpupolicy.suggestions import hint_known

_GROUPS = ("spec", "slotGroups")
_PATTERN = frozenset("*?[")


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
    """A node that two claims name.

    Why: a node is in one group by one label, so the order of the claims would decide.
    Bad:  SLOT-4 has names: [gpu-001], SLOT-8 has names: ["gpu-00*"]
    Good: SLOT-4 has names: [gpu-001], SLOT-8 has names: ["gpu-00[2-9]"]
    Source: design: a node is in exactly one group.
    """
    seen: list[tuple[str, str, FieldPath]] = []
    for field, group, claim in _claims(policy):
        for position, name in enumerate(claim.names):
            place = (*field, "names", position)
            other = next((entry for entry in seen if _overlap(name, entry[0])), None)
            if other is not None:
                yield error("node-claimed-twice", place, _describe_twice(policy, name, other, group))
            else:
                seen.append((name, group, place))


def node_name_not_dns(policy: Policy) -> Iterator[Finding]:
    """A node name that no node can have.

    Why: the claim takes no node.
    Bad:  names: [GPU_001]
    Good: names: [gpu-001]
    Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-name-uniqueness
    """
    for field, _, claim in _claims(policy):
        for position, name in enumerate(claim.names):
            if not _PATTERN & set(name) and (problem := find_dns_subdomain_problem(name)):
                yield error("node-name-not-dns", (*field, "names", position), f'"{name}" is no node name: it {problem}')


def _claims(policy: Policy) -> Iterator[tuple[FieldPath, str, NodeClaim]]:
    """Yields each claim with its field and the name of its group."""
    for index, group in enumerate(policy.slot_groups):
        for position, claim in enumerate(group.nodes):
            yield (*_GROUPS, index, "nodes", position), group.name, claim


def _conditions(claim: NodeClaim) -> tuple[tuple[str, object], ...]:
    return ("names", claim.names), ("nodeSelector", claim.node_selector is not None), ("count", claim.count is not None)


def _overlap(one: str, other: str) -> bool:
    """Returns whether two names or patterns surely mean a common node; two different patterns are not compared."""
    return one == other or matches_glob(one, (other,)) or matches_glob(other, (one,))


def _describe_twice(policy: Policy, name: str, other: tuple[str, str, FieldPath], group: str) -> str:
    place = policy.find_place(other[2])
    where = f" in line {place[0]}" if place else ""
    pattern = f" by {other[0]}" if other[0] != name else ""
    owner = f"slot group {other[1]}" if other[1] != group else "the same group"
    return f"{name} is already claimed by {owner}{pattern}{where}"
