"""What a check of manifests found, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gpupolicy.admission import Decision, Placement
from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity


class Verdict(StrEnum):
    """The short form of an answer: ``skip`` means no pod, exempt, or no GPU asked for."""

    ALLOW = "allow"
    WARN = "warn"
    DENY = "deny"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedObject:
    """One pod of one object (``pod_spec`` says where its spec stands), or an object without pods.

    ``findings`` have fields that count from the object's root; ``gpus`` is the effective request of one pod.
    """

    file: str
    line: int | None
    api_version: str | None
    kind: str | None
    namespace: str | None
    name: str | None
    verdict: Verdict
    reason: str
    pod_spec: FieldPath | None = None
    gpus: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[LocatedFinding, ...] = ()
    placement: Placement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """All of a run. ``findings`` belong to no object; ``unreadable`` counts documents and files that nobody read."""

    files: int
    object_count: int
    objects: tuple[CheckedObject, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()
    unreadable: int = 0

    @property
    def pods(self) -> int:
        """How many pods were judged, each template counting once."""
        return sum(1 for entry in self.objects if entry.pod_spec is not None)

    @property
    def denied(self) -> int:
        """How many entries are denied."""
        return self._count(Verdict.DENY)

    @property
    def warned(self) -> int:
        """How many entries have warnings and no error."""
        return self._count(Verdict.WARN)

    @property
    def skipped(self) -> int:
        """How many entries were not judged and have nothing wrong with them."""
        return self._count(Verdict.SKIP)

    def _count(self, verdict: Verdict) -> int:
        return sum(1 for entry in self.objects if entry.verdict is verdict)

    def has(self, severity: Severity) -> bool:
        """Returns whether any finding weighs that much."""
        every = (*self.findings, *(finding for entry in self.objects for finding in entry.findings))
        return any(finding.severity is severity for finding in every)


def verdict_of(decision: Decision) -> Verdict:
    """Returns the short form of a decision."""
    return verdict_from((*decision.violations, *decision.warnings), is_judged=decision.judged)


def verdict_from(findings: Iterable[Finding], *, is_judged: bool) -> Verdict:
    """Returns the short form of findings about one pod, or about an object without pods."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return Verdict.DENY
    if Severity.WARNING in severities:
        return Verdict.WARN
    return Verdict.ALLOW if is_judged else Verdict.SKIP
