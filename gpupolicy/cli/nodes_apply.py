"""``gpupolicy nodes apply``: makes nodes what the policy wants, and says exactly what was done and what was not."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gpupolicy.cli.cluster_inputs import read_cluster
from gpupolicy.cli.inputs import read_policy
from gpupolicy.cli.interrupts import ended_like_ctrl_c
from gpupolicy.cli.nodes_fleet import Fleet, PodReader, read_fleet
from gpupolicy.cli.streams import Streams
from gpupolicy.cluster.applying import ApplyOptions, apply_plan
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.progress import Listener, NodeResult, Outcome, Progress
from gpupolicy.errors import InputError, UsageError, counted
from gpupolicy.model import Policy, TaintEffect
from gpupolicy.reporting.json_format import to_text
from gpupolicy.reporting.nodes_json import apply_to_json
from gpupolicy.reporting.nodes_text import format_end, format_plan, format_result, summarize_plan
from gpupolicy.rollout.plan import NodeChange, NodePlan
from gpupolicy.rollout.planning import find_conflicts, find_residents, groups_after
from gpupolicy.rollout.saved import read_plan
from gpupolicy.rollout.staleness import find_differences, find_newcomers, is_done

_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesApplyOptions:
    """The arguments of the action."""

    plan: str | None
    format: str
    manager: str
    agreed: bool
    how: ApplyOptions


def run_apply(args: argparse.Namespace, streams: Streams) -> int:
    """Reads the arguments and applies."""
    if args.dumps:
        raise UsageError(
            "--from reads a dump, and nodes apply changes a live cluster: nodes plan --from shows what would change"
        )
    options = NodesApplyOptions(
        plan=args.plan,
        format=args.format,
        manager=args.field_manager,
        agreed=args.yes,
        how=ApplyOptions(
            batch_size=args.batch_size,
            batch_pause_seconds=args.batch_pause,
            drain=args.drain,
            drain_timeout_seconds=args.drain_timeout,
            health_timeout_seconds=args.health_timeout,
            force=args.force_conflicts,
            dry_run=args.dry_run is not None,
        ),
    )
    policy = read_policy(args.policy, streams)
    with ended_like_ctrl_c():
        cluster = read_cluster(args, streams, instead="nodes plan --from FILE shows what would change")
        return apply(policy, cluster, options, streams)


def apply(policy: Policy, cluster: LiveCluster, options: NodesApplyOptions, streams: Streams) -> int:
    """Plans, or takes a saved plan; refuses what is stale or belongs to others; asks; applies; tells the end.

    Returns:
        0: all is as planned; 1: refused, or not everything was done.
    """
    saved = None if options.plan is None else _read_saved(options.plan, policy)
    manager = options.manager if saved is None else saved.manager
    reader = PodReader.from_source(policy, cluster, streams)
    fleet = read_fleet(policy, cluster, reader, manager, streams)
    plan = fleet.plan if saved is None else _renewed(policy, saved, fleet)
    if saved is not None and (stale := tuple(_find_stale(policy, plan, fleet))):
        _refuse("the plan is stale, so nothing was done: run gpupolicy nodes plan again", stale, streams)
        return 1
    if not options.how.force and (conflicts := tuple(_find_conflicts(policy, plan, fleet))):
        _refuse("other field managers own what changes, so nothing was done: see --force-conflicts", conflicts, streams)
        return 1
    _check_no_execute(plan, options.how)
    if not _is_agreed(plan, options, streams):
        streams.tell("nothing was done")
        return 1
    return _carry_out(policy, plan, cluster, fleet, reader, options, streams)


def _carry_out(
    policy: Policy,
    plan: NodePlan,
    cluster: LiveCluster,
    fleet: Fleet,
    reader: PodReader,
    options: NodesApplyOptions,
    streams: Streams,
) -> int:
    progress = Progress()
    is_text = options.format == "text"
    listener = Listener(
        on_result=lambda result: _tell(result, streams) if is_text else None,
        on_note=lambda note: streams.tell(f"note: {note}"),
    )
    try:
        apply_plan(
            cluster.api,
            policy,
            plan,
            options.how,
            progress=progress,
            ready_before=frozenset(state.name for state in fleet.states.values() if state.is_ready),
            read_pods=reader.read,
            listener=listener,
        )
    finally:  # interrupted, too
        if not is_text:
            streams.write(to_text(apply_to_json(plan, progress, dry_run=options.how.dry_run)))
        if progress.stopped is not None:
            streams.tell(f"error: stopped: {progress.stopped}")
        streams.tell(format_end(plan, progress) + (" (dry run: nothing was changed)" if options.how.dry_run else ""))
    is_whole = progress.stopped is None and not progress.count(Outcome.LEFT, Outcome.UNKNOWN)
    return 0 if is_whole else 1


def _tell(result: NodeResult, streams: Streams) -> None:
    """Writes a line at once: a run that is killed has said what it did."""
    streams.write(f"{format_result(result)}\n")
    streams.flush()


def _read_saved(path: str, policy: Policy) -> NodePlan:
    try:
        return read_plan(json.loads(Path(path).read_bytes()), policy)
    except ValueError as error:
        raise InputError(f"the plan is no JSON: {error}", file=path) from None
    except RecursionError:
        raise InputError("the plan is nested too deeply", file=path) from None
    except InputError as error:
        raise InputError(error.message, file=path) from None


def _renewed(policy: Policy, saved: NodePlan, fleet: Fleet) -> NodePlan:
    """Returns a saved plan with what is known only now: who owns what it changes, and what is left unfinished."""
    changes = (
        replace(change, conflicts=find_conflicts(fleet.states[change.node].node, change, saved.manager))
        if change.node in fleet.states and not is_done(policy, change, fleet.states[change.node])
        else change
        for change in saved.changes
    )
    return replace(saved, changes=tuple(changes), unfinished=fleet.plan.unfinished, nodes=fleet.plan.nodes)


def _find_stale(policy: Policy, plan: NodePlan, fleet: Fleet) -> Iterator[str]:
    """Yields why a saved plan no longer holds; nodes that are as planned already are what an apply has left behind."""
    residents = find_residents(policy, groups_after(plan.changes), fleet.usage)
    for change in plan.changes:
        state = fleet.states.get(change.node)
        if state is None:
            yield f"{change.node}: it is gone"
        elif not is_done(policy, change, state):
            newcomers = find_newcomers(change, residents.get(change.node, ())) if _is_moved(change) else ()
            pods = (f"pods that would be misplaced came to it: {', '.join(newcomers)}",) if newcomers else ()
            if reasons := (*find_differences(policy, change, state), *pods):
                yield f"{change.node}: {'; '.join(reasons)}"


def _is_moved(change: NodeChange) -> bool:
    return change.before != change.after


def _find_conflicts(policy: Policy, plan: NodePlan, fleet: Fleet) -> Iterator[str]:
    for change in plan.changes:
        if not is_done(policy, change, fleet.states[change.node]):
            yield from (f"{change.node}: {conflict.told()}" for conflict in change.conflicts)


def _refuse(why: str, lines: tuple[str, ...], streams: Streams) -> None:
    for line in lines[:_LISTED]:
        streams.write(f"{line}\n")
    if len(lines) > _LISTED:
        streams.write(f"and {len(lines) - _LISTED} more\n")
    streams.tell(f"error: {why}")


def _check_no_execute(plan: NodePlan, how: ApplyOptions) -> None:
    effects = {taint.effect for change in plan.changes for taint in change.set_taints}
    if TaintEffect.NO_EXECUTE in effects and not (how.drain or how.dry_run):
        raise UsageError(
            "the plan sets NoExecute taints, which evict pods without the toleration at once, past "
            "PodDisruptionBudgets: say --drain if that is wanted"
        )


def _is_agreed(plan: NodePlan, options: NodesApplyOptions, streams: Streams) -> bool:
    """Shows the plan and asks; a dry run, and a plan without anything to do, need no answer."""
    if plan.is_empty or options.how.dry_run or options.agreed:
        return True
    if not streams.stdin.isatty():
        raise UsageError("standard input is no terminal, so nobody can be asked: say --yes to apply")
    streams.stderr.write(format_plan(plan))
    evicts = f" and evict {counted(len(plan.residents), 'pod')}" if options.how.drain and plan.residents else ""
    question = f"Change {counted(len(plan.changes), 'node')}{evicts}? [y/N] "
    streams.stderr.write(f"{summarize_plan(plan)}\n{question}")
    streams.stderr.flush()
    return streams.stdin.readline().strip().lower() in ("y", "yes")
