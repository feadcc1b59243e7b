"""A pod that asks for GPUs and what surrounds it, what judging finds about it, and the words for both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpupolicy.admission.counting import Count
from gpupolicy.admission.placement import Target
from gpupolicy.admission.remark import Remark
from gpupolicy.admission.route import Route
from gpupolicy.admission.scope import Request
from gpupolicy.errors import FieldPath, counted
from gpupolicy.model import GPUType, Policy
from gpupolicy.pod import PodView


@dataclass(slots=True)
class Judged:
    """What judging found: remarks, the policy's field behind each rule, and the way the pod goes."""

    remarks: list[Remark] = field(default_factory=list)
    causes: dict[str, FieldPath] = field(default_factory=dict)
    route: Route | None = None
    scheduler_name: str | None = None
    gpu_types: tuple[str, ...] = ()
    slot_groups: tuple[str, ...] = ()

    def add(self, rule: str, place: FieldPath, message: str, cause: FieldPath, hint: str | None = None) -> None:
        """Notes that a rule fired."""
        self.take(Remark(rule, place, message, hint), cause)

    def take(self, remark: Remark, cause: FieldPath) -> None:
        """Notes a remark, and the policy's field behind the first of its rule."""
        self.remarks.append(remark)
        self.causes.setdefault(remark.rule, cause)


@dataclass(frozen=True, slots=True)
class Case:
    """One pod that asks for GPUs, and what surrounds it. ``offering`` are the types that have what it asks for."""

    policy: Policy
    view: PodView
    count: Count
    request: Request
    size: int
    offering: tuple[GPUType, ...]


def group_cause(policy: Policy, target: Target) -> FieldPath:
    """Returns the policy's field of the slot group that a pod is sent to first."""
    if not target.levels:
        return ("spec", "slotGroups")
    return ("spec", "slotGroups", list(policy.groups_by_name).index(target.levels[0][0]))


def requests_for(gpus: int) -> str:
    """Returns the requests of a size in words."""
    return f"requests for {counted(gpus, 'GPU')}"


def listed(names: Iterable[str], nothing: str) -> str:
    """Returns names for a message, and a word where there are none."""
    return ", ".join(names) or nothing
