"""Claims that a fleet does not meet: more nodes than there are, names that no node has, groups that get none. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpupolicy.assignment.names import NodeNames
from gpupolicy.errors import counted, shown
from gpupolicy.model import NodeClaim, Policy
from gpupolicy.rollout.plan import Shortage

_MOST_NAMES = 10


def find_shortages(policy: Policy, seats: Mapping[str, tuple[str, str | None]]) -> Iterator[Shortage]:
    """Yields what slot groups claim and do not get, by GPU type and then by group, in the order of the policy.

    Args:
        policy: the policy.
        seats: GPU type and slot group of each node after the plan, by name.
    """
    got = Counter(seats.values())
    for gpu_type in policy.types_by_name:
        names = NodeNames(name for name, (found, _) in seats.items() if found == gpu_type)
        for index, group in enumerate(policy.slot_groups):
            claims = {j: claim for j, claim in enumerate(group.nodes) if claim.gpu_type == gpu_type}
            for j, told in _tell(claims, got[gpu_type, group.name], gpu_type, names):
                cited = policy.cite("spec", "slotGroups", index, "nodes", j)
                message = f"slot group {group.name} {told} ({cited})"
                yield Shortage(gpu_type=gpu_type, slot_group=group.name, message=message)


def _tell(claims: Mapping[int, NodeClaim], got: int, gpu_type: str, names: NodeNames) -> Iterator[tuple[int, str]]:
    """Yields what the claims of one group lack, each with the index of its claim."""
    for j, claim in claims.items():
        absent = [pattern for pattern in claim.names if claim.count is None and not names.find([pattern])]
        if absent:
            yield j, f"names {_listed(absent)}, and no node of GPU type {gpu_type} is called so"
    wanted = sum(claim.count or 0 for claim in claims.values())
    if got < wanted:
        first = next(j for j, claim in claims.items() if claim.count is not None)
        yield first, f"gets {got} of the {counted(wanted, 'node')} of GPU type {gpu_type} that it counts"
    elif not got and any(claim.weight != 0 for claim in claims.values()):
        yield next(iter(claims)), f"gets no node of GPU type {gpu_type}"


def _listed(patterns: Sequence[str]) -> str:
    more = f" and {len(patterns) - _MOST_NAMES} more" if len(patterns) > _MOST_NAMES else ""
    return ", ".join(map(shown, patterns[:_MOST_NAMES])) + more
