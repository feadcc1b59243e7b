"""Rules about spec.slotGroups[].nodes[].topology."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_label_key_problem
from gpupolicy.model import NodeClaim, Policy, Topology
from gpupolicy.rules.findings import error, warning


def topology_key_not_label(policy: Policy) -> Iterator[Finding]:
    """A topology by a label that no node can have.

    Why: all nodes count as nodes without the label, so the topology chooses nothing.
    Bad:  topology: {placement: spread, key: zone of the rack}
    Good: topology: {placement: spread, key: topology.kubernetes.io/zone}
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
    """
    for field, _, topology in _topologies(policy):
        if problem := find_label_key_problem(topology.key):
            message = f'"{topology.key}" is no label key: {problem}'
            yield error("topology-key-not-label", (*field, "key"), message)


def topology_key_own(policy: Policy) -> Iterator[Finding]:
    """A topology by a label that the policy itself sets.

    Why: the choice would depend on its own outcome, and change at every run.
    Bad:  topology: {placement: together, key: my.gpu.cluster/node-group}
    Good: topology: {placement: together, key: topology.kubernetes.io/zone}
    Source: design: a topology says where nodes stand.
    """
    own = (policy.labels.node_group, policy.labels.gpu_type, policy.labels.gpu_support)
    for field, _, topology in _topologies(policy):
        if topology.key in own:
            message = f"{topology.key} is set by this policy and does not say where a node stands"
            yield error("topology-key-own", (*field, "key"), message, "name the label of the zone or rack")


def topology_without_choice(policy: Policy) -> Iterator[Finding]:
    """A topology beside names or a selector that take all their nodes.

    Why: without a count or a weight there is nothing to choose, so the topology means nothing.
    Bad:  {gpuType: V100, names: ["gpu-0*"], topology: {placement: spread}}
    Good: {gpuType: V100, names: ["gpu-0*"], count: 4, topology: {placement: spread}}
    Source: design: names and selectors take every node that fits.
    """
    for field, claim, _ in _topologies(policy):
        if claim.count is None and claim.weight is None:
            what = "names take" if claim.names else "nodeSelector takes"
            message = f"{what} every node that fits, so the topology has nothing to choose"
            yield warning("topology-without-choice", field, message, "add a count, or leave the topology out")


def topology_not_alone(policy: Policy) -> Iterator[Finding]:
    """A topology in a group that has another claim with a choice of nodes of the same type.

    Why: a node's label says its group and not the claim that took it, so each claim would count the nodes of the other
        as its own, and nodes would change at every run.
    Bad:  nodes: [{gpuType: V100, count: 2}, {gpuType: V100, weight: 1, topology: {placement: together}}]
    Good: nodes: [{gpuType: V100, names: [gpu-01]}, {gpuType: V100, weight: 1, topology: {placement: together}}]
    Source: design: a node that is as planned is planned again.
    """
    for field, claim, _ in _topologies(policy):
        group = policy.slot_groups[int(field[2])]
        others = [c for c in group.nodes if c.gpu_type == claim.gpu_type and (c.count or c.weight)]
        if len(others) > 1:
            message = f"{group.name} chooses nodes of {claim.gpu_type} by another claim as well"
            yield error("topology-not-alone", field, message, "leave one claim with a count or weight")


def _topologies(policy: Policy) -> Iterator[tuple[FieldPath, NodeClaim, Topology]]:
    """Yields each claim that has a topology, with the topology's field."""
    for index, group in enumerate(policy.slot_groups):
        for position, claim in enumerate(group.nodes):
            if claim.topology is not None:
                yield ("spec", "slotGroups", index, "nodes", position, "topology"), claim, claim.topology
