"""What a check of manifests found, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gpupolicy.admission import Decision, Placement
from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity, in_order


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

    @property
    def every_finding(self) -> tuple[LocatedFinding, ...]:
        """All findings, those of objects among them, sorted by place."""
        return in_order(self._findings())

    def has(self, severity: Severity) -> bool:
        """Returns whether any finding weighs that much."""
        return any(finding.severity is severity for finding in self._findings())

    def with_findings(self, change: Callable[[LocatedFinding], LocatedFinding | None]) -> CheckReport:
        """Returns the report with each finding changed, or left out where the change gives None; verdicts stay."""
        return replace(
            self,
            findings=_changed(self.findings, change),
            objects=tuple(replace(entry, findings=_changed(entry.findings, change)) for entry in self.objects),
        )

    def _findings(self) -> Iterator[LocatedFinding]:
        yield from self.findings
        for entry in self.objects:
            yield from entry.findings


def _changed(
    findings: Iterable[LocatedFinding], change: Callable[[LocatedFinding], LocatedFinding | None]
) -> tuple[LocatedFinding, ...]:
    return tuple(changed for finding in findings if (changed := change(finding)) is not None)


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
