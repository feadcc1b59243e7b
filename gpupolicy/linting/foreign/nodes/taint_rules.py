"""Rules about the taints of slot groups on Nodes; taints with other keys are none of the policy's business."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import warning
from gpupolicy.linting.foreign.nodes.inventory import NodeSubject
from gpupolicy.linting.foreign.reading import child, objects, text
from gpupolicy.model import Taint

_TAINTS = ("spec", "taints")


def node_taint_absent(node: NodeSubject) -> Iterator[Finding]:
    """A node of a slot group without the group's taint.

    Why: pods without GPUs are placed there and take the cpu that GPU pods need. Manifests without a status are passed
    over: they cannot hold taints, because applying the list would remove those of others.
    Bad:  node-group SLOT-8, a group with taint: NoSchedule, and no spec.taints
    Good: spec.taints: [{key: my.gpu.cluster/node-group, value: SLOT-8, effect: NoSchedule}]
    Source: the policy, spec.slotGroups[].taint.
    """
    wanted = _wanted(node)
    if node.policy is None or wanted is None or not node.has_status:
        return
    if any((taint.key, taint.effect) == (wanted.key, wanted.effect) for _, taint in _taints(node)):
        return
    cited = node.policy.cite("spec", "slotGroups", list(node.policy.groups_by_name).index(wanted.value), "taint")
    message = f"{node.title} is in {wanted.value}, but has no taint {wanted} ({cited})"
    yield warning("node-taint-absent", _TAINTS, message, f"kubectl taint node {node.name} {wanted}")


def node_taint_unexpected(node: NodeSubject) -> Iterator[Finding]:
    """A taint with the policy's key that is not the one of the node's slot group.

    Why: pods get the toleration of their own group's taint alone, so this one keeps them off.
    Bad:  node-group SLOT-8 with the taint my.gpu.cluster/node-group=SLOT-4:NoSchedule
    Good: node-group SLOT-8 with the taint my.gpu.cluster/node-group=SLOT-8:NoSchedule
    Source: the policy, spec.slotGroups[].taint.
    """
    if node.policy is None:
        return
    wanted = _wanted(node)
    for index, taint in _taints(node):
        if taint.key == node.policy.labels.node_group and taint != wanted:
            message = f"{node.title} has the taint {taint}; of this key {wanted or 'none'} is expected"
            yield warning("node-taint-unexpected", (*_TAINTS, index), message)


def _wanted(node: NodeSubject) -> Taint | None:
    return node.policy.taints_by_group.get(node.group_label or "") if node.policy else None


def _taints(node: NodeSubject) -> Iterator[tuple[int, Taint]]:
    for index, taint in objects(child(node.value, *_TAINTS)):
        yield index, Taint(key=text(taint.get("key")), value=text(taint.get("value")), effect=text(taint.get("effect")))
