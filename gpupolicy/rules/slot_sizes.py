"""Rules about sizes: what pods may ask for, what slot groups serve, and what nodes can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.model import GPUType, Policy, SlotGroup
from gpupolicy.rules.findings import error, gpus, listed, warning

_GROUPS = ("spec", "slotGroups")


def slot_size_not_admitted(policy: Policy) -> Iterator[Finding]:
    """A slot group whose size no admitted request has.

    Why: nothing can be routed to it, so its nodes stay idle.
    Bad:  requestSizes [1, 2, 4, 8] with {name: SLOT-3, sizes: [3]}
    Good: requestSizes [1, 2, 4, 8] with {name: SLOT-4, sizes: [4]}
    Source: design: a request goes to the groups that serve its size.
    """
    for field, group, size in _slots(policy):
        types = _types_of(policy, group)
        if size <= _largest_node(types) and all(size not in policy.sizes_of(t) for t in types):
            admitted = sorted({s for t in types for s in policy.sizes_of(t)})
            message = f"slot group {group.name} has slots of {gpus(size)}, but no request may ask for {size}"
            yield error("slot-size-not-admitted", field, message, f"admitted are {listed(admitted)}")


def slot_size_larger_than_node(policy: Policy) -> Iterator[Finding]:
    """A slot that is larger than any node of the group.

    Why: a pod runs on one node; work on several nodes is several pods.
    Bad:  sizes: [16] on nodes of 8 GPUs
    Good: sizes: [8], and a job of two pods
    Source: kube-scheduler places a pod on one node.
    """
    for field, group, size in _slots(policy):
        largest = _largest_node(_types_of(policy, group))
        if size > largest:
            message = f"slot group {group.name} has slots of {gpus(size)}, but its largest node has {largest}"
            yield error("slot-size-larger-than-node", field, message)


def slot_size_repeated(policy: Policy) -> Iterator[Finding]:
    """A size that stands twice in one list.

    Why: it means nothing, or another size was meant.
    Bad:  sizes: [2, 2]
    Good: sizes: [1, 2]
    Source: design: sizes are a set.
    """
    for path, sizes in _size_lists(policy):
        for position, size in enumerate(sizes):
            if size in sizes[:position]:
                yield warning("slot-size-repeated", (*path, position), f"size {size} already stands in this list")


def slot_sizes_leave_rest(policy: Policy) -> Iterator[Finding]:
    """Sizes that never fill a node.

    Why: the GPUs that are left over on every node of the group can never be used.
    Bad:  sizes: [3] on nodes of 8 GPUs: 2 are left over
    Good: sizes: [4], or [1, 3]
    Source: arithmetic: the fullest sum of sizes that a node holds, sizes of groups that overflow here included.
    """
    for index, group in enumerate(policy.slot_groups):
        guests = [size for g in policy.slot_groups if group.name in g.overflow for size in g.sizes]
        for gpu_type in policy.gpu_types:
            admitted = set(policy.sizes_of(gpu_type)) & {*group.sizes, *guests}
            rest = gpu_type.gpus_per_node - _fullest(admitted, gpu_type.gpus_per_node)
            if group.serves(gpu_type.name) and admitted and rest:
                message = (
                    f"slots of {listed(sorted(admitted))} fill at most {gpu_type.gpus_per_node - rest} of the "
                    f"{gpu_type.gpus_per_node} GPUs of a {gpu_type.name} node; {rest} can never be used"
                )
                yield warning("slot-sizes-leave-rest", (*_GROUPS, index, "sizes"), message)


def slot_sizes_overlap(policy: Policy) -> Iterator[Finding]:
    """Two slot groups that serve one size on the same GPU type.

    Why: neither wins: pods of that size may go to the nodes of both, the fuller node first, so the groups are no
        borders for them.
    Bad:  {name: SLOT-4, sizes: [4]} and {name: SLOT-4-FAST, sizes: [4]} on V100
    Good: one group with sizes: [4]; or a second one whose overflow names the first; or access that parts them
    Source: design: a request goes to all groups that serve its size; packing decides between them.
    """
    for index, group in enumerate(policy.slot_groups):
        for other in policy.slot_groups[:index]:
            types = [t.name for t in policy.gpu_types if group.serves(t.name) and other.serves(t.name)]
            sizes = sorted({*group.sizes} & {*other.sizes})
            if group.name != other.name and types and sizes and _may_meet(policy, group, other):
                message = (
                    f"{group.name} and {other.name} both serve {gpus(sizes[-1])} on {types[0]}; neither wins: "
                    f"pods go to either, the fuller node first"
                )
                yield warning("slot-sizes-overlap", (*_GROUPS, index, "sizes"), message)


def request_size_without_group(policy: Policy) -> Iterator[Finding]:
    """A size that is admitted, but that no slot group serves.

    Why: such pods pass the size rule and are then denied, because there is nowhere to send them.
    Bad:  requestSizes powerOfTwo on nodes of 8 GPUs, with groups for 1, 2 and 8 only
    Good: a group for 4, or requestSizes: [1, 2, 8]
    Source: design: a request goes to the groups that serve its size on its type.
    """
    for index, gpu_type in enumerate(policy.gpu_types):
        groups = [group for group in policy.slot_groups if group.serves(gpu_type.name)]
        served = {size for group in groups for size in group.sizes}
        missing = [s for s in policy.sizes_of(gpu_type) if s <= gpu_type.gpus_per_node and s not in served]
        if groups and missing:
            message = f"{listed(missing)} GPUs are admitted on {gpu_type.name}, but no slot group serves them"
            field = _field_of_sizes(policy, index)
            yield warning("request-size-without-group", field, message, f"served are {listed(sorted(served))}")


def request_size_larger_than_node(policy: Policy) -> Iterator[Finding]:
    """An admitted size that no node can hold.

    Why: such a pod would be admitted and then wait for ever.
    Bad:  requestSizes: [1, 8, 16] with gpusPerNode: 8
    Good: requestSizes: [1, 8]
    Source: kube-scheduler places a pod on one node.
    """
    for path, sizes in _request_lists(policy):
        types = policy.gpu_types if path[1] == "admission" else (policy.gpu_types[int(path[2])],)
        largest = _largest_node(types)
        for position, size in enumerate(sizes):
            if size > largest:
                message = f"{gpus(size)} are admitted, but the largest node has {largest}"
                yield error("request-size-larger-than-node", (*path, position), message)


def claim_without_size(policy: Policy) -> Iterator[Finding]:
    """A claim on nodes of a type for which the group serves no admitted size.

    Why: no pod can be routed to these nodes, so they stay idle.
    Bad:  {sizes: [8], nodes: [{gpuType: T4, weight: 1}]} where T4 nodes have 4 GPUs
    Good: claim T4 nodes in a group that serves 1, 2 or 4
    Source: a pod runs on one node.
    """
    for index, group in enumerate(policy.slot_groups):
        if not any(set(policy.sizes_of(t)) & set(group.sizes) for t in _types_of(policy, group)):
            continue  # the sizes themselves are reported
        for position, claim in enumerate(group.nodes):
            gpu_type = policy.types_by_name.get(claim.gpu_type)
            if gpu_type is not None and not set(policy.sizes_of(gpu_type)) & set(group.sizes):
                admitted = listed(policy.sizes_of(gpu_type))
                message = f"{group.name} serves {listed(group.sizes)}, but {gpu_type.name} admits {admitted}"
                yield error("claim-without-size", (*_GROUPS, index, "nodes", position, "gpuType"), message)


def _slots(policy: Policy) -> Iterator[tuple[FieldPath, SlotGroup, int]]:
    for index, group in enumerate(policy.slot_groups):
        for position, size in enumerate(group.sizes):
            yield (*_GROUPS, index, "sizes", position), group, size


def _types_of(policy: Policy, group: SlotGroup) -> list[GPUType]:
    """Returns the types that a group claims; all where it claims none that the policy has."""
    claimed = [t for t in policy.gpu_types if group.serves(t.name)]
    return claimed or list(policy.gpu_types)


def _largest_node(types: Sequence[GPUType]) -> int:
    return max(gpu_type.gpus_per_node for gpu_type in types)


def _fullest(sizes: set[int], limit: int) -> int:
    """Returns the largest sum of sizes, each used as often as wanted, that does not pass the limit."""
    reached = {0}
    for total in range(1, limit + 1):
        if any(total - size in reached for size in sizes):
            reached.add(total)
    return max(reached)


def _may_meet(policy: Policy, group: SlotGroup, other: SlotGroup) -> bool:
    """Returns whether some namespace may use both groups; entries of access that name one of them part them."""
    rules = policy.admission.access
    return not rules or any(
        rule.slot_groups is None or {group.name, other.name} <= set(rule.slot_groups) for rule in rules
    )


def _request_lists(policy: Policy) -> Iterator[tuple[FieldPath, tuple[int, ...]]]:
    if policy.admission.request_sizes is not None:
        yield ("spec", "admission", "requestSizes"), policy.admission.request_sizes
    for index, gpu_type in enumerate(policy.gpu_types):
        if gpu_type.request_sizes is not None:
            yield ("spec", "gpuTypes", index, "requestSizes"), gpu_type.request_sizes


def _size_lists(policy: Policy) -> Iterator[tuple[FieldPath, tuple[int, ...]]]:
    yield from _request_lists(policy)
    for index, group in enumerate(policy.slot_groups):
        yield (*_GROUPS, index, "sizes"), group.sizes


def _field_of_sizes(policy: Policy, index: int) -> FieldPath:
    if policy.gpu_types[index].request_sizes is not None:
        return ("spec", "gpuTypes", index, "requestSizes")
    return ("spec", "admission", "requestSizes")
