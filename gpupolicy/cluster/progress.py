"""How far an apply is: what became of each node, known at any moment, whatever ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from gpupolicy.cluster.eviction import PodName
from gpupolicy.rollout.plan import NodePlan


class Outcome(StrEnum):
    """What became of a node."""

    DONE = "done"
    ALREADY = "already"  # as planned before we came
    FINISHED = "finished"  # uncordoned, where an earlier apply had cordoned it
    LEFT = "left"
    UNKNOWN = "unknown"  # the connection broke while it was written


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """A node, what became of it, and why or what of it."""

    node: str
    outcome: Outcome
    told: str


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far an apply is.

    ``evicted``: pods that are gone; ``cordoned``: nodes that are, or may be, cordoned by us right now; ``writing``: the
    node that is being changed; ``stopped``: why the apply ended early.
    """

    results: list[NodeResult] = field(default_factory=list)
    evicted: list[PodName] = field(default_factory=list)
    cordoned: dict[str, None] = field(default_factory=dict)
    writing: str | None = None
    stopped: str | None = None

    def not_reached(self, plan: NodePlan) -> tuple[str, ...]:
        """Returns the nodes of the plan that nothing is known of: they were not reached."""
        reached = {result.node for result in self.results}
        return tuple(change.node for change in plan.changes if change.node not in reached)

    def count(self, *outcomes: Outcome) -> int:
        """Returns how many nodes ended in one of some ways."""
        return sum(result.outcome in outcomes for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who is told while an apply runs: of each node, and of what else is worth a line."""

    on_result: Callable[[NodeResult], None] = lambda result: None
    on_note: Callable[[str], None] = lambda note: None
