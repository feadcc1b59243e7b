"""Drift: what differs between the nodes and the policy, who did it, and what keeps nodes from serving. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpupolicy.assignment import taints_for
from gpupolicy.errors import FieldPath, LocatedFinding, Severity
from gpupolicy.inventory.seats import find_type
from gpupolicy.model import GPUType, Policy
from gpupolicy.node import JSONMap
from gpupolicy.rollout.ownership import is_ours, label_owners, taint_owners
from gpupolicy.rollout.plan import NodeChange, NodePlan
from gpupolicy.rollout.rule_ids import NO_DRIFT
from gpupolicy.rollout.state import NodeState, taint_key, told_taint

_LABELS: FieldPath = ("metadata", "labels")
_TAINTS: FieldPath = ("spec", "taints")
_MIG = "nvidia.com/mig-"
_KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})
_BY_KUBERNETES = "node.kubernetes.io/"  # taints that follow from conditions and cordoning, told by rules of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFinding(LocatedFinding):
    """A finding about a node; ``field`` is the field of the Node."""

    node: str

    @property
    def is_drift(self) -> bool:
        """Whether the node differs from what the policy wants."""
        return self.severity is not Severity.INFO and self.rule not in NO_DRIFT


def find_drift(policy: Policy, nodes: Iterable[JSONMap], plan: NodePlan) -> tuple[NodeFinding, ...]:
    """Finds what differs from the policy, and what else keeps its nodes from serving.

    Args:
        policy: the policy.
        nodes: the nodes that the plan was made of.
        plan: what an apply would do: that is the drift of labels and taints.

    Returns:
        The findings by node and rule.
    """
    finder = _Finder(policy, plan)
    found = [finding for node in nodes for finding in finder.find(NodeState(node))]
    return tuple(sorted(found, key=lambda each: (each.node, each.rule, each.message)))


class _Finder:
    """Judges nodes one by one."""

    def __init__(self, policy: Policy, plan: NodePlan) -> None:
        self._policy, self._plan = policy, plan
        self._changes = {change.node: change for change in plan.changes}
        self._skipped = {skipped.node: skipped.reason for skipped in plan.skipped}
        self._keys = (policy.labels.gpu_type, policy.labels.node_group, policy.labels.gpu_support)

    def find(self, state: NodeState) -> Iterator[NodeFinding]:
        """Yields what is to be said about a node; nothing about one that the policy has nothing to do with."""
        labelled = [key for key in self._keys if key in state.labels]
        type_name = find_type(self._policy, state)
        if type_name is None and not labelled:
            yield from self._without_type(state)
            return
        change = self._changes.get(state.name)
        if change is not None:
            yield from self._labels(state, change)
            yield from self._taints(state, change)
        if type_name is not None or state.name in self._skipped:
            yield from self._owners(state, labelled, change)
        if type_name is not None:
            gpu_type = self._policy.types_by_name[type_name]
            yield from self._gpus(state, gpu_type, labelled)
        else:
            yield from self._leftovers(state, labelled)
        yield from self._foreign_taints(state)
        yield from self._condition(state)

    def _labels(self, state: NodeState, change: NodeChange) -> Iterator[NodeFinding]:
        missing = [f"{key}={value}" for key, value in sorted(change.set.items()) if key not in state.labels]
        if missing:
            message = f"has no label {', '.join(missing)}: {change.reason}"
            yield _finding(state, "node-label-missing", _LABELS, message, "gpupolicy nodes apply sets it")
        for key, value in sorted(change.set.items()):
            if key in state.labels:
                is_now = f"label {key} is {_value(state, key)}{self._by(state, key)}"
                message = f"{is_now}; {value} is wanted: {change.reason}"
                yield _finding(state, "node-label-changed", (*_LABELS, key), message, _mends(change, key, "sets"))
        for key in change.remove:
            message = f"label {key} is {_value(state, key)}{self._by(state, key)}; none is wanted: {change.reason}"
            yield _finding(state, "node-label-surplus", (*_LABELS, key), message, _mends(change, key, "removes"))

    def _taints(self, state: NodeState, change: NodeChange) -> Iterator[NodeFinding]:
        for taint in change.set_taints:
            hint = _mends(change, "spec.taints", "sets")
            yield _finding(state, "node-taint-missing", _TAINTS, f"has no taint {taint}", hint)
        for taint in change.remove_taints:
            wanted = ", ".join(map(str, taints_for(self._policy, change.after))) or "none"
            message = f"has taint {taint}; of this key {wanted} is wanted"
            hint = _mends(change, "spec.taints", "removes")
            yield _finding(state, "node-taint-surplus", _TAINTS, message, hint)

    def _by(self, state: NodeState, key: str) -> str:
        """Returns who set a label last, as far as the node tells."""
        owner = next(iter(label_owners(state.node, key)), None)
        if owner is None:
            return "" if self._plan.knows_owners else " (by whom is not told: the nodes come without managedFields)"
        kubelet = "the kubelet, as " if owner.is_kubelet else ""
        return f" (set by {kubelet}{owner.told()})"

    def _owners(self, state: NodeState, labelled: list[str], change: NodeChange | None) -> Iterator[NodeFinding]:
        """Yields labels with the right value that others own too, or alone."""
        changed = {*change.set, *change.remove} if change else set()
        for key in labelled:
            owners = label_owners(state.node, key)
            others = [owner for owner in owners if not is_ours(owner, self._plan.manager)]
            if key in changed or not others:
                continue
            field, latest = (*_LABELS, key), others[0]
            if applier := next((owner for owner in others if owner.applies), None):
                message = f"label {key}={state.labels[key]} is applied by {applier.told()} too"
                yield _finding(state, "node-owner-conflict", field, message, "let one of the two own it", _WARNING)
            elif len(others) < len(owners):
                continue  # set by others once, and by our apply since
            elif latest.is_kubelet:
                message = f"label {key}={state.labels[key]} was set by the kubelet, as {latest.told()}"
                hint = "a prefix below node-restriction.kubernetes.io, or the compiled guard, keeps kubelets off"
                yield _finding(state, "node-label-by-kubelet", field, message, hint, _WARNING)
            else:
                message = f"label {key}={state.labels[key]} was set by {latest.told()}"
                yield _finding(state, "node-label-not-ours", field, message, None, Severity.INFO)
        if self._policy.taints_by_group:
            yield from self._taint_owners(state)

    def _taint_owners(self, state: NodeState) -> Iterator[NodeFinding]:
        for owner in taint_owners(state.node):
            if owner.applies and owner.manager != self._plan.manager:
                message = f"spec.taints is applied by {owner.told()}, which owns the whole list"
                hint = "give the taints to one of the two"
                yield _finding(state, "node-owner-conflict", _TAINTS, message, hint, _WARNING)

    def _gpus(self, state: NodeState, gpu_type: GPUType, labelled: list[str]) -> Iterator[NodeFinding]:
        gpus = state.find_allocatable(gpu_type.resource_name)
        field = ("status", "allocatable", gpu_type.resource_name)
        if problem := state.find_amount_problem(gpu_type.resource_name):
            yield _refused(state, gpu_type.resource_name, problem)
        elif not gpus and not (gpus is None and gpu_type.device_classes):
            if labelled:
                message = f"is labelled as {gpu_type.name} and offers no {gpu_type.resource_name}{_mig(state)}"
                yield _finding(state, "node-label-without-gpus", field, message, "is its device plugin running?")
            elif gpus == 0 or _mig(state):
                message = f"is of type {gpu_type.name} and offers no {gpu_type.resource_name}{_mig(state)}"
                yield _finding(state, "node-gpus-differ", field, message, "is its device plugin running?", _WARNING)
        elif state.name in self._skipped:
            yield _finding(state, "node-type-in-doubt", _LABELS, self._skipped[state.name], None, _WARNING)
        elif gpus is not None and gpus != gpu_type.gpus_per_node:
            cited = self._policy.cite("spec", "gpuTypes", self._policy.gpu_types.index(gpu_type), "gpusPerNode")
            message = f"offers {gpus} {gpu_type.resource_name}, {gpu_type.gpus_per_node} are expected ({cited})"
            yield _finding(state, "node-gpus-differ", field, message + _mig(state), None, _WARNING)

    def _leftovers(self, state: NodeState, labelled: list[str]) -> Iterator[NodeFinding]:
        """Yields labels of ours on a node of no type, or of one in doubt; an apply leaves such nodes alone."""
        if reason := self._skipped.get(state.name):
            yield _finding(state, "node-type-in-doubt", _LABELS, reason, None, _WARNING)
            return
        for key in labelled:
            message = (
                f"label {key} is {_value(state, key)}{self._by(state, key)}; no GPU type of the policy takes the node"
            )
            hint = f"kubectl label node {state.name} {key}-"
            yield _finding(state, "node-label-surplus", (*_LABELS, key), message, hint)

    def _without_type(self, state: NodeState) -> Iterator[NodeFinding]:
        if reason := self._skipped.get(state.name):
            yield _finding(state, "node-type-in-doubt", _LABELS, reason, None, _WARNING)
            return
        for name in self._policy.resource_names:
            if gpus := state.find_allocatable(name):
                message = f"offers {gpus} {name}, and no GPU type of the policy takes it"
                field: FieldPath = ("status", "allocatable", name)
                yield _finding(state, "node-without-type", field, message, "add a GPU type that selects it", _WARNING)
            elif problem := state.find_amount_problem(name):
                yield _refused(state, name, problem)

    def _foreign_taints(self, state: NodeState) -> Iterator[NodeFinding]:
        for taint in state.taints:
            key, effect = taint_key(taint)
            if effect in _KEEPS_OFF and key != self._policy.labels.node_group and not key.startswith(_BY_KUBERNETES):
                message = f"has taint {told_taint(taint)}, which the policy does not know"
                yield _finding(state, "node-taint-foreign", _TAINTS, message, None, Severity.INFO)

    def _condition(self, state: NodeState) -> Iterator[NodeFinding]:
        if not state.is_ready:
            message = f"is not Ready: {state.not_ready_reason}"
            yield _finding(state, "node-not-ready", ("status", "conditions"), message, None, _WARNING)
        if state.cordoned_by == self._policy.name:
            message = "was cordoned by an apply that did not come to uncordon it"
            field: FieldPath = ("spec", "unschedulable")
            yield _finding(
                state, "node-rollout-unfinished", field, message, "run gpupolicy nodes apply again", _WARNING
            )
        elif state.is_unschedulable:
            yield _finding(state, "node-cordoned", ("spec", "unschedulable"), "is cordoned", None, Severity.INFO)


_WARNING = Severity.WARNING


def _finding(
    state: NodeState,
    rule: str,
    field: FieldPath,
    message: str,
    hint: str | None = None,
    severity: Severity = Severity.ERROR,
) -> NodeFinding:
    text = f"node {state.name}: {message}"
    return NodeFinding(rule=rule, severity=severity, field=field, message=text, hint=hint, node=state.name)


def _mends(change: NodeChange, what: str, verb: str) -> str:
    """Returns the apply that mends it: what others own is refused unless it is taken over."""
    force = " --force-conflicts" if any(conflict.what == what for conflict in change.conflicts) else ""
    return f"gpupolicy nodes apply{force} {verb} it"


def _refused(state: NodeState, name: str, problem: str) -> NodeFinding:
    message = f"counts as having no {name}: the amount {problem}"
    field: FieldPath = ("status", "allocatable", name)
    return _finding(state, "node-amount-refused", field, message, "is its device plugin well?", _WARNING)


def _value(state: NodeState, key: str) -> str:
    """Returns the value of a label for a message; an empty one could not be seen."""
    return state.labels.get(key) or '""'


def _mig(state: NodeState) -> str:
    """Returns the MIG devices that a node offers instead of whole GPUs."""
    names = [name for name in state.allocatable_names if name.startswith(_MIG)]
    return f"; it offers {', '.join(names)}: MIG is on" if names else ""
