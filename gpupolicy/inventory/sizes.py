"""Which requests the policy sends to the nodes of a GPU type in a slot group: its own sizes, and those of overflow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpupolicy.admission.placement import EVERYTHING, find_target
from gpupolicy.model import Policy, Routing


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
    """Returns the requests that are admitted on a type and sent to a group, by the placement that admission takes.

    A node may have a group's label without being of a type that the group claims: then only those requests count that
    come to the group because of another type with the same resource.
    """
    if policy.admission.routing is Routing.OFF:  # nobody is sent: counted as if pods chose as the policy would
        policy = replace(policy, admission=replace(policy.admission, routing=Routing.PREFERRED))
    own: list[int] = []
    overflow: list[int] = []
    resource = policy.types_by_name[gpu_type].resource_name
    for size in policy.sizes_of(policy.types_by_name[gpu_type]):
        target = find_target(policy, policy.types_by_resource[resource], size, EVERYTHING)
        if target is None or group not in target.groups or (target.requires_type and gpu_type not in target.gpu_types):
            continue
        (own if group in target.levels[0] else overflow).append(size)
    return Sizes(tuple(own), tuple(overflow))
