"""What an audit of running pods found, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from gpupolicy.admission import Placement
from gpupolicy.errors import FieldPath, LocatedFinding, Severity
from gpupolicy.model import Exemption

MISPLACED = "pod-misplaced"
NOT_ROUTED = "pod-not-routed"
EXPIRES_SOON = "exemption-expires-soon"
REPEATED = "pod-repeated"

# What an audit may find beside the rules of admission.
AUDIT_RULES: Mapping[str, str] = {
    MISPLACED: "a pod on a node where the policy would not put it",
    EXPIRES_SOON: "an exemption that running pods use, and that is over soon",
    REPEATED: "a pod that is listed twice; the first one counts",
}


class AuditVerdict(StrEnum):
    """The short form of what was found about an owner's pods, the gravest first."""

    DENY = "deny"  # it would not be let in today
    REROUTE = "reroute"  # it lacks the routing that admission would add
    MISPLACED = "misplaced"  # it is on a node where the policy would not put it
    WARN = "warn"
    EXEMPT = "exempt"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The object that makes pods, or a pod that nobody controls; ``name`` and ``kind`` as the API has them."""

    namespace: str
    api_version: str
    kind: str
    name: str

    @property
    def label(self) -> str:
        """How messages call it: ``Deployment team-a/serve``."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A finding about some of an owner's pods.

    ``pods`` counts them; 0: the owner's template alone has it. ``pod_names`` and ``nodes`` are the first of them.
    The finding has no file: its field counts from the pod, or from the owner where its template was judged.
    """

    finding: LocatedFinding
    pods: int = 0
    pod_names: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    cause: FieldPath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What mends faults of some rules: shell commands in order, and what to know about them."""

    rules: tuple[str, ...]
    commands: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedOwner:
    """All pods of one owner. ``gpus`` is the effective request of one pod, by resource name."""

    owner: Owner
    verdict: AuditVerdict
    pods: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    placement: Placement | None = None
    exemption: Exemption | None = None

    @property
    def findings(self) -> tuple[LocatedFinding, ...]:
        """The findings of the faults."""
        return tuple(fault.finding for fault in self.faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExemptionUse:
    """An exemption that GPU pods use. ``place`` is its line in the policy; ``days_left`` is None without an end."""

    exemption: Exemption
    place: str
    pods: int
    owners: int
    days_left: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """All of an audit.

    ``owners`` are those with GPU pods or with something found, by namespace, kind and name. ``findings`` belong to none
    of them. ``pods`` counts what was read, ``gpu_pods`` those that ask for GPUs and are judged or exempt, ``ended``
    those that have ended or are being deleted.
    """

    policy: str
    owners: tuple[AuditedOwner, ...] = ()
    exemptions: tuple[ExemptionUse, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()
    pods: int = 0
    gpu_pods: int = 0
    ended: int = 0
    workloads: int = 0
    moment: datetime | None = None

    def count(self, verdict: AuditVerdict) -> int:
        """Returns how many owners have a verdict."""
        return sum(1 for each in self.owners if each.verdict is verdict)

    @property
    def every_finding(self) -> Iterator[LocatedFinding]:
        """All findings, those of owners among them."""
        yield from self.findings
        for each in self.owners:
            yield from each.findings

    def with_findings(self, is_kept: Callable[[LocatedFinding], bool]) -> AuditReport:
        """Returns the report with some of its findings and the owners that have them, and no more; verdicts stay."""
        owners = (
            replace(each, faults=tuple(fault for fault in each.faults if is_kept(fault.finding)))
            for each in self.owners
        )
        return replace(
            self,
            owners=tuple(each for each in owners if each.faults),
            exemptions=(),
            findings=tuple(finding for finding in self.findings if is_kept(finding)),
        )


def verdict_of(faults: tuple[Fault, ...], *, is_exempt: bool) -> AuditVerdict:
    """Returns the short form of what was found about an owner; only what is enforced denies."""
    errors = {fault.finding.rule for fault in faults if fault.finding.severity is Severity.ERROR}
    told = errors | {fault.finding.rule for fault in faults if fault.finding.severity is Severity.WARNING}
    if errors - {NOT_ROUTED, MISPLACED}:
        return AuditVerdict.DENY
    if NOT_ROUTED in told:
        return AuditVerdict.REROUTE
    if MISPLACED in told:
        return AuditVerdict.MISPLACED
    if told:
        return AuditVerdict.WARN
    return AuditVerdict.EXEMPT if is_exempt else AuditVerdict.ALLOW
