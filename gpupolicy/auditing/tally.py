"""What is kept of an owner while its pods stream by: counts, and the first names of what is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpupolicy.admission import Decision, Placement
from gpupolicy.auditing.remedies import SIZE, Situation, find_remedies
from gpupolicy.auditing.report import MISPLACED, NOT_ROUTED, AuditedOwner, Fault, Owner, verdict_of
from gpupolicy.auditing.resizing import Resize
from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity, locate
from gpupolicy.model import Exemption

MOST_NAMES = 10  # of pods and nodes, told of each fault
MOST_FAULTS = 50  # of each owner

FaultKey = tuple[str, str]


@dataclass(slots=True)
class _FaultTally:
    finding: LocatedFinding
    cause: FieldPath | None
    pods: int = 0
    pod_names: list[str] = field(default_factory=list)
    nodes: dict[str, None] = field(default_factory=dict)

    def add(self, pod: str, node: str) -> None:
        """Counts a pod."""
        self.pods += 1
        if len(self.pod_names) < MOST_NAMES:
            self.pod_names.append(pod)
        if node and len(self.nodes) < MOST_NAMES:
            self.nodes[node] = None

    def to_fault(self) -> Fault:
        """Returns it as a value, names in order."""
        names = tuple(sorted(self.pod_names))
        return Fault(
            finding=self.finding, pods=self.pods, pod_names=names, nodes=tuple(sorted(self.nodes)), cause=self.cause
        )


@dataclass(slots=True)
class Tally:
    """One owner. ``template`` holds the rules that its template breaks; None: the template was not seen.

    ``is_resize_sought``: an admissible number of GPUs has been looked for, found or not.
    """

    owner: Owner
    pods: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    placement: Placement | None = None
    exemption: Exemption | None = None
    resize: Resize | None = None
    is_resize_sought: bool = False
    template: frozenset[str] | None = None
    faults: dict[FaultKey, _FaultTally] | None = None

    def note(self, decision: Decision) -> None:
        """Keeps what a decision says of a pod of this owner."""
        self.gpus = self.gpus or decision.gpus
        self.placement = self.placement or decision.placement
        self.exemption = self.exemption or decision.exemption

    def add(self, finding: Finding, cause: FieldPath | None, *, pod: str = "", node: str = "") -> None:
        """Keeps a finding; without a pod it is about the owner's template."""
        self.faults = self.faults if self.faults is not None else {}
        key = (finding.rule, finding.message)
        fault = self.faults.get(key)
        if fault is None:
            if len(self.faults) >= MOST_FAULTS:
                return
            fault = self.faults[key] = _FaultTally(locate(finding, None, None, None), cause)
        if pod:
            fault.add(pod, node)

    def finish(self, kubectl: tuple[str, ...]) -> AuditedOwner:
        """Returns the owner as a value, with what mends it."""
        listed = (self.faults or {}).values()
        faults = tuple(sorted((each.to_fault() for each in listed), key=_by_weight))
        return AuditedOwner(
            owner=self.owner,
            verdict=verdict_of(faults, is_exempt=self.exemption is not None),
            pods=self.pods,
            gpus=self.gpus,
            faults=faults,
            remedies=find_remedies(self._situation(faults), kubectl) if faults else (),
            placement=self.placement,
            exemption=self.exemption,
        )

    def _situation(self, faults: Iterable[Fault]) -> Situation:
        listed = tuple(faults)
        rules = {f.finding.rule for f in listed if f.finding.severity is Severity.ERROR or f.finding.rule in _MENDED}
        mended = [fault for fault in listed if fault.finding.rule in _MENDED and fault.pods]
        names = sorted({name for fault in mended for name in fault.pod_names})
        return Situation(
            owner=self.owner,
            rules=frozenset(rules),
            resize=self.resize,
            is_template_fine=self.template is not None and SIZE not in self.template,
            pods=tuple(names),
            are_all_listed=all(fault.pods == len(fault.pod_names) for fault in mended),
        )


_MENDED = frozenset({SIZE, NOT_ROUTED, MISPLACED})
_WEIGHTS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def _by_weight(fault: Fault) -> tuple[int, str, str]:
    return _WEIGHTS[fault.finding.severity], fault.finding.rule, fault.finding.message
