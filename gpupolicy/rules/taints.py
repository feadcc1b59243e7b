"""Rules about spec.slotGroups[].taint."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.model import Policy, Routing, SlotGroup, TaintEffect
from gpupolicy.rules.findings import warning


def taint_evicts_pods(policy: Policy) -> Iterator[Finding]:
    """A taint that evicts the pods which run on a node at the moment when it is set.

    Why: pods that run there since before have no toleration, because admission adds it at creation only; the agents of
        the GPU stack (device plugin, exporters) go as well unless they tolerate the taint.
    Bad:  taint: NoExecute
    Good: taint: NoSchedule
    Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
    """
    for field, group in _tainted(policy, TaintEffect.NO_EXECUTE):
        message = f"the taint evicts every pod that runs on a node of {group.name} without tolerating it"
        yield warning("taint-evicts-pods", field, message, "NoSchedule keeps new pods off and lets the others end")


def taint_keeps_nobody_off(policy: Policy) -> Iterator[Finding]:
    """A taint that other pods only avoid.

    Why: where no other node has room they take CPU and memory that GPU pods need, and the GPUs are left unused.
    Bad:  taint: PreferNoSchedule
    Good: taint: NoSchedule
    Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
    """
    for field, group in _tainted(policy, TaintEffect.PREFER_NO_SCHEDULE):
        message = f"other pods still go to nodes of {group.name} where no other node has room"
        yield warning("taint-keeps-nobody-off", field, message, "NoSchedule keeps them off")


def taint_without_routing(policy: Policy) -> Iterator[Finding]:
    """A tainted slot group where pods are not routed.

    Why: the toleration comes with the routing, so no pod gets one and the nodes stay empty.
    Bad:  {name: SLOT-8, taint: NoSchedule} with routing: "off"
    Good: {name: SLOT-8, taint: NoSchedule} with routing: required
    Source: design: admission adds tolerations to pods that it sends to the group.
    """
    if policy.admission.routing is Routing.OFF:
        for field, group in _tainted(policy, *TaintEffect):
            message = f'routing is "off", so no pod gets a toleration of the taint of {group.name}'
            yield warning("taint-without-routing", field, message)


def _tainted(policy: Policy, *effects: TaintEffect) -> Iterator[tuple[FieldPath, SlotGroup]]:
    """Yields the groups that have a taint of one of the effects, with its field."""
    for index, group in enumerate(policy.slot_groups):
        if group.taint in effects:
            yield ("spec", "slotGroups", index, "taint"), group
