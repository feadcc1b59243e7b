"""Plans for nodes and what an apply did, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpupolicy.errors import counted, shown
from gpupolicy.reporting.columns import align
from gpupolicy.rollout.costs import group_by_owner

if TYPE_CHECKING:
    from gpupolicy.cluster.progress import NodeResult, Progress
    from gpupolicy.rollout.drift import NodeFinding
    from gpupolicy.rollout.plan import GroupSlots, NodeChange, NodePlan, OwnerCost

_LISTED = 10
_NO_EXECUTE = "NoExecute"


def format_plan(plan: NodePlan) -> str:
    """Returns a plan as text: changes under their reasons, slots won and lost, what the move costs."""
    sections = (
        _changes(plan),
        _slots(plan),
        _shortages(plan),
        _cost(plan),
        _unserved(plan),
        _taints(plan),
        _conflicts(plan),
        _rest(plan),
    )
    texts = ("".join(f"{line}\n" for line in section) for section in sections)
    return "\n".join(text for text in texts if text)


def summarize_plan(plan: NodePlan) -> str:
    """Returns the one line that says how much is to be done."""
    parts = [f"{len(plan.changes)} to change", f"{len(plan.skipped)} skipped"]
    if plan.unfinished:
        parts.append(f"{len(plan.unfinished)} cordoned by an apply that did not finish")
    pods = f"; {counted(len(plan.residents), 'pod')} would be misplaced" if plan.residents else ""
    unserved = f"; no slot group serves {counted(len(plan.unserved), 'pod')}" if plan.unserved else ""
    return f"{counted(plan.nodes, 'node')}: {', '.join(parts)}{pods}{unserved}"


def summarize_drift(findings: Sequence[NodeFinding], nodes: int) -> str:
    """Returns the one line that ends a status."""
    drift = sum(finding.is_drift for finding in findings)
    return f"{counted(nodes, 'node')}: {counted(drift, 'finding')} of drift, {len(findings) - drift} others"


def format_result(result: NodeResult) -> str:
    """Returns what became of a node as one line."""
    return f"{result.node}: {result.outcome}: {result.told}"


def format_end(plan: NodePlan, progress: Progress) -> str:
    """Returns, for an apply that came to an end of any kind, exactly what was done and what was not."""
    counts: dict[str, int] = {}
    for result in progress.results:
        counts[str(result.outcome)] = counts.get(str(result.outcome), 0) + 1
    not_reached = progress.not_reached(plan)
    told = [f"{number} {outcome}" for outcome, number in sorted(counts.items())]
    lines = [f"{counted(len(plan.changes), 'node')} to change: {', '.join([*told, f'{len(not_reached)} not reached'])}"]
    if progress.evicted:
        lines.append(f"evicted: {_names([str(pod) for pod in progress.evicted])}")
    if progress.writing in not_reached:
        lines.append(f"being changed when it ended, perhaps done: {progress.writing}")
    if not_reached:
        lines.append(f"not reached: {_names(not_reached)}")
    if progress.cordoned:
        lines.append(f"still cordoned by us: {_names(tuple(progress.cordoned))}; the next apply goes on with them")
    return "\n".join(lines)


def _changes(plan: NodePlan) -> Iterator[str]:
    by_reason: dict[str, list[NodeChange]] = {}
    for change in plan.changes:
        by_reason.setdefault(change.reason, []).append(change)
    width = max((len(change.node) for change in plan.changes), default=0)
    for reason, changes in by_reason.items():
        yield f"{reason}:"
        for change in changes:
            yield f"  {change.node:<{width}}  {_move(change)}  {'; '.join(_steps(change))}"


def _move(change: NodeChange) -> str:
    after = change.after or "no group"
    return after if change.before == change.after else f"{change.before or 'no group'} -> {after}"


def _steps(change: NodeChange) -> Iterator[str]:
    if change.set:
        yield "set " + ", ".join(f"{key}={value}" for key, value in sorted(change.set.items()))
    if change.remove:
        yield "remove " + ", ".join(change.remove)
    if change.set_taints:
        yield "taint " + ", ".join(map(str, change.set_taints))
    if change.remove_taints:
        yield "remove taint " + ", ".join(map(str, change.remove_taints))
    if change.residents:
        yield f"{counted(len(change.residents), 'pod')} would be misplaced"


def _slots(plan: NodePlan) -> Iterator[str]:
    groups = [group for group in plan.slots if group.is_changed]
    if groups:
        yield "Slots (on empty nodes; sizes of one group share its GPUs):"
        rows = [("GPU TYPE", "SLOT GROUP", "NODES", "SIZE", "SLOTS"), *(row for g in groups for row in _rows(g))]
        yield from (f"  {line}" for line in align(rows))


def _rows(group: GroupSlots) -> Iterator[tuple[str, ...]]:
    nodes = f"{group.nodes_before} -> {group.nodes_after}"
    head = (group.gpu_type, group.slot_group or "no group", nodes)
    for size in group.slots:
        won = size.after - size.before
        yield (*head, str(size.size), f"{size.before} -> {size.after}" + (f" ({won:+d})" if won else ""))
        head = ("", "", "")
    if not group.slots:
        yield (*head, "", "")


def _shortages(plan: NodePlan) -> Iterator[str]:
    if plan.shortages:
        yield "The fleet does not have what the policy claims:"
        yield from (f"  {shortage.message}" for shortage in plan.shortages)


def _cost(plan: NodePlan) -> Iterator[str]:
    residents = [resident for _, resident in plan.residents]
    if not residents:
        return
    nodes = sum(bool(change.residents) for change in plan.changes)
    gpus = sum(resident.gpus for resident in residents)
    them, they = ("it", "it is") if len(residents) == 1 else ("them", "they are")
    yield (
        f"{counted(len(residents), 'pod')} with {counted(gpus, 'GPU')} on {counted(nodes, 'node')} would be misplaced; "
        f"apply leaves {them} where {they}, or evicts {them} with --drain:"
    )
    yield from (f"  {_owner(cost)}" for cost in group_by_owner(residents))


def _unserved(plan: NodePlan) -> Iterator[str]:
    if not plan.unserved:
        return
    pods, gpus = len(plan.unserved), sum(each.pod.gpus for each in plan.unserved)
    its = "its" if pods == 1 else "their"
    yield (
        f"No slot group will serve {counted(pods, 'pod')} with {counted(gpus, 'GPU')}, nor what is made in {its} place:"
    )
    for problem in dict.fromkeys(each.problem for each in plan.unserved):
        for cost in group_by_owner(each.pod for each in plan.unserved if each.problem == problem):
            yield f"  {_owner(cost)}: {problem}"


def _owner(cost: OwnerCost) -> str:
    pods, gpus = counted(cost.pods, "pod"), counted(cost.gpus, "GPU")
    return f"{cost.kind} {cost.namespace}/{cost.name}: {pods}, {gpus}"


def _taints(plan: NodePlan) -> Iterator[str]:
    taints = [taint for change in plan.changes for taint in change.set_taints]
    if taints:
        yield (
            f"Taints {_names(sorted({str(taint) for taint in taints}))}: GPU pods get the toleration at admission; "
            "DaemonSets of the GPU stack need it of their own (GPU operator: daemonsets.tolerations)."
        )
    if any(taint.effect == _NO_EXECUTE for taint in taints):
        yield "NoExecute evicts pods without the toleration at once, past PodDisruptionBudgets: apply wants --drain."


def _conflicts(plan: NodePlan) -> Iterator[str]:
    listed = [(change.node, conflict) for change in plan.changes for conflict in change.conflicts]
    if listed:
        yield "Other field managers own what changes; apply takes it over with --force-conflicts:"
        yield from (f"  {node}: {conflict.told()}" for node, conflict in listed)


def _rest(plan: NodePlan) -> Iterator[str]:
    if plan.skipped:
        yield "Skipped:"
        yield from (f"  {skipped.node}: {skipped.reason}" for skipped in plan.skipped)
    if plan.unfinished:
        yield f"Cordoned by an apply that did not finish, which the next one does: {_names(plan.unfinished)}"


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return ", ".join(shown(name) for name in listed[:_LISTED]) + more
