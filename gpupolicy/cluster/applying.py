"""Carries out a plan for nodes, batch by batch, with a look at the fleet after each.

Nothing is remembered but what the cluster shows: an apply that was killed is resumed by another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpupolicy.cluster.api import Api
from gpupolicy.cluster.draining import Drain, ReadPods
from gpupolicy.cluster.errors import NotFoundError
from gpupolicy.cluster.eviction import Clock, PodName
from gpupolicy.cluster.node_writes import LeftError, Writer
from gpupolicy.cluster.progress import Listener, NodeResult, Outcome, Progress
from gpupolicy.errors import ClusterError
from gpupolicy.model import Policy
from gpupolicy.rollout.plan import NodeChange, NodePlan
from gpupolicy.rollout.staleness import find_differences, is_done
from gpupolicy.rollout.state import NodeState

_LEAST_BATCH = 10
_BATCHES = 20
_LOOK_SECONDS = 2.0
_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """How to apply. ``batch_size`` None: a twentieth of the changes, at least ten."""

    batch_size: int | None = None
    batch_pause_seconds: float = 0.0
    drain: bool = False
    drain_timeout_seconds: float = 300.0
    health_timeout_seconds: float = 30.0
    force: bool = False
    dry_run: bool = False


def apply_plan(
    api: Api,
    policy: Policy,
    plan: NodePlan,
    options: ApplyOptions,
    *,
    progress: Progress,
    ready_before: frozenset[str],
    read_pods: ReadPods,
    listener: Listener | None = None,
    clock: Clock | None = None,
) -> None:
    """Carries out a plan. A refusal, a lost connection or an unwell fleet ends it: ``progress.stopped`` says why.

    Args:
        api: the API server.
        policy: the policy that the plan was made by.
        plan: the plan; nodes that are as planned already are passed over.
        options: how.
        progress: filled on the way, so that the caller knows how far it came whatever ends it.
        ready_before: nodes that were Ready when the plan was checked; one that no longer is stops the apply.
        read_pods: reads the usage of pods, with what the caller knows of namespaces and the time.
        listener: told on the way.
        clock: the time.
    """
    listener, clock = listener or Listener(), clock or Clock()
    writer = Writer(api=api, manager=plan.manager, policy=policy.name, force=options.force, dry_run=options.dry_run)
    drain = Drain(
        api=api,
        policy=policy,
        writer=writer,
        timeout_seconds=options.drain_timeout_seconds,
        progress=progress,
        read_pods=read_pods,
        listener=listener,
        clock=clock,
    )
    run = _Run(
        policy=policy,
        plan=plan,
        writer=writer,
        drain=drain if options.drain else None,
        progress=progress,
        listener=listener,
    )
    try:
        run.finish_others()
        for number, batch in enumerate(_batches(plan.changes, options.batch_size)):
            if number and options.batch_pause_seconds:
                clock.sleep(options.batch_pause_seconds)
            run.do(batch)
            if not options.dry_run:
                progress.stopped = _wait_until_well(run, batch, ready_before, options, clock)
            if progress.stopped is not None:
                return
    except ClusterError as error:
        progress.stopped = str(error)
        run.look_at_unknown()


def _batches(changes: Sequence[NodeChange], size: int | None) -> Iterator[Sequence[NodeChange]]:
    size = size or max(_LEAST_BATCH, -(-len(changes) // _BATCHES))
    for start in range(0, len(changes), size):
        yield changes[start : start + size]


def _wait_until_well(
    run: _Run, batch: Sequence[NodeChange], ready_before: frozenset[str], options: ApplyOptions, clock: Clock
) -> str | None:
    """Returns what is wrong after a batch, if it stays so for the health timeout."""
    end = clock.now() + options.health_timeout_seconds
    while problem := run.find_problem(batch, ready_before):
        if clock.now() >= end:
            return problem
        clock.sleep(_LOOK_SECONDS)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run; ``drain`` is None where pods stay."""

    policy: Policy
    plan: NodePlan
    writer: Writer
    drain: Drain | None
    progress: Progress
    listener: Listener

    def finish_others(self) -> None:
        """Uncordons nodes that an earlier apply left cordoned and that are as planned."""
        changed = {change.node for change in self.plan.changes}
        for name in self.plan.unfinished:
            if name not in changed and not self.writer.dry_run:
                self._uncordon(self.writer.read(name))
                self._tell(name, Outcome.FINISHED, "uncordoned, which an earlier apply did not come to")

    def do(self, batch: Sequence[NodeChange]) -> None:
        """Does a batch: looks at its nodes, drains those that need it, changes all, uncordons."""
        ready: list[tuple[NodeChange, NodeState]] = []
        leaving: dict[str, tuple[PodName, ...]] = {}
        for change in batch:
            try:
                if (state := self._look(change)) is None:
                    continue
                if self.drain is not None:
                    state, leaving[change.node] = self.drain.prepare(change, state)
                ready.append((change, state))
            except (LeftError, NotFoundError) as reason:
                self._leave(change, reason)
        blocked = self.drain.evict(leaving) if self.drain is not None else {}
        for change, state in ready:
            try:
                if why := blocked.get(change.node):
                    raise LeftError(f"not drained: {why}")
                self._change(change, state)
            except (LeftError, NotFoundError) as reason:
                self._leave(change, reason)

    def find_problem(self, batch: Sequence[NodeChange], ready_before: frozenset[str]) -> str:
        """Looks at the whole fleet: the batch has what it was given, and nobody has stopped being Ready."""
        done = {result.node for result in self.progress.results if result.outcome is Outcome.DONE}
        given = {change.node: change for change in batch if change.node in done}
        problems: list[str] = []
        for state in map(NodeState, self.writer.api.list("/api/v1/nodes")):
            if state.name in ready_before and not state.is_ready:
                problems.append(f"node {state.name} is no longer Ready: {state.not_ready_reason}")
            if state.name in given and not is_done(self.policy, given[state.name], state):
                problems.append(f"node {state.name} has lost what it was given: somebody else writes it, too")
        more = f"; and {len(problems) - _LISTED} more" if len(problems) > _LISTED else ""
        return "; ".join(problems[:_LISTED]) + more

    def look_at_unknown(self) -> None:
        """Tells what is known of the node whose writing was cut off."""
        change = next((change for change in self.plan.changes if change.node == self.progress.writing), None)
        if change is None:
            return
        try:
            is_changed = not self.writer.dry_run and is_done(self.policy, change, self.writer.read(change.node))
        except ClusterError:
            told = "the connection broke while it was changed; whether it is, nobody can say now"
            self._tell(change.node, Outcome.UNKNOWN, told)
            return
        outcome = Outcome.DONE if is_changed else Outcome.LEFT
        self._tell(change.node, outcome, "the answer was lost, but it is as planned" if is_changed else "not changed")

    def _look(self, change: NodeChange) -> NodeState | None:
        """Reads a node again; None where it is as planned, which is told."""
        state = self.writer.read(change.node)
        if state.cordoned_by == self.policy.name:
            self.progress.cordoned[change.node] = None
        if is_done(self.policy, change, state):
            self._uncordon(state)
            self._tell(change.node, Outcome.ALREADY, "is as planned")
            return None
        self._check(change, state)
        return state

    def _check(self, change: NodeChange, state: NodeState) -> None:
        """Refuses a node that is not what the plan was made for."""
        if differences := find_differences(self.policy, change, state):
            raise LeftError(f"it has changed since the plan was made: {'; '.join(differences)}")

    def _change(self, change: NodeChange, state: NodeState) -> None:
        self.progress.writing = change.node
        self._uncordon(self.writer.change(change, state, lambda now: self._check(change, now)))
        self.progress.writing = None
        self._tell(change.node, Outcome.DONE, f"{change.before or 'no group'} -> {change.after or 'no group'}")

    def _leave(self, change: NodeChange, reason: LeftError | NotFoundError) -> None:
        self.progress.writing = None
        if isinstance(reason, NotFoundError):
            self.progress.cordoned.pop(change.node, None)
            self._tell(change.node, Outcome.LEFT, "it is gone")
            return
        if change.node in self.progress.cordoned:
            self._uncordon(self.writer.read(change.node))
        self._tell(change.node, Outcome.LEFT, str(reason))

    def _uncordon(self, state: NodeState) -> None:
        self.writer.uncordon(state)
        self.progress.cordoned.pop(state.name, None)

    def _tell(self, node: str, outcome: Outcome, told: str) -> None:
        result = NodeResult(node=node, outcome=outcome, told=told)
        self.progress.results.append(result)
        self.listener.on_result(result)
