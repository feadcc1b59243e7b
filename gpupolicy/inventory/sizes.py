"""Which requests the policy sends to the nodes of a GPU type in a slot group: its own sizes, and those of overflow."""

from __future__ import annotations

from dataclasses import dataclass

from gpupolicy.model import Policy, SlotGroup


@dataclass(frozen=True, slots=True)
class Sizes:
    """Requests by how they come to a group, rising; ``every`` holds both."""

    own: tuple[int, ...]
    overflow: tuple[int, ...]

    @property
    def every(self) -> tuple[int, ...]:
        """All requests, rising."""
        return tuple(sorted((*self.own, *self.overflow)))


def find_sizes(policy: Policy, gpu_type: str, group: str) -> Sizes:
    """Returns the requests that are admitted on a type and sent to a group."""
    admitted = policy.sizes_of(policy.types_by_name[gpu_type])
    own = tuple(size for size in admitted if size in policy.groups_by_name[group].sizes)
    resource = policy.types_by_name[gpu_type].resource_name
    senders = (other for other in policy.slot_groups if group in other.overflow and _asks_for(policy, other, resource))
    guests = {size for other in senders for size in other.sizes}
    return Sizes(own, tuple(size for size in admitted if size in guests and size not in own))


def _asks_for(policy: Policy, group: SlotGroup, resource: str) -> bool:
    """Whether pods of a group ask for a resource."""
    return any(policy.types_by_name[name].resource_name == resource for name in policy.types_of_group[group.name])
