"""Findings and errors: how every room says that something is wrong. Imports nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

FieldPath = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Severity(StrEnum):
    """How much a finding weighs: only an error makes a check fail."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Part(StrEnum):
    """Which end of a mapping entry a finding points at."""

    VALUE = "value"
    KEY = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong, told by field; only the renderer knows lines."""

    rule: str
    severity: Severity
    field: FieldPath
    message: str
    part: Part = Part.VALUE
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedFinding(Finding):
    """A finding and its place in a file: line and column count from 1, the column in characters."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


def locate(finding: Finding, file: str | None, line: int | None, column: int | None) -> LocatedFinding:
    """Returns the finding with its place in a file."""
    return LocatedFinding(
        rule=finding.rule,
        severity=finding.severity,
        field=finding.field,
        message=finding.message,
        part=finding.part,
        hint=finding.hint,
        file=file,
        line=line,
        column=column,
    )


def in_order(findings: Iterable[LocatedFinding]) -> tuple[LocatedFinding, ...]:
    """Returns the findings sorted by file, line, column and rule."""
    return tuple(sorted(findings, key=lambda f: (f.file or "", f.line or 0, f.column or 0, f.rule, f.message)))


def format_field(field: FieldPath) -> str:
    """Returns a field path as kubectl writes it: ``spec.slotGroups[0].sizes``, ``limits[nvidia.com/gpu]``."""
    text = ""
    for step in field:
        if isinstance(step, int) or not _PLAIN_KEY.fullmatch(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def shown(text: str, limit: int = 100) -> str:
    """Returns foreign text fit for a message: line breaks and other control characters escaped, cut at a limit."""
    kept = text[:limit]
    if not kept.isprintable():
        kept = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in kept)
    return kept if len(text) <= limit else f"{kept}... ({len(text)} characters)"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: ``1 node``, ``2 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class GPUPolicyError(Exception):
    """What this library raises on purpose; every other error of ours is below it."""


class PolicyError(GPUPolicyError):
    """A policy with at least one error; carries every finding, warnings too."""

    def __init__(self, findings: Iterable[LocatedFinding]) -> None:
        self.findings = tuple(findings)
        errors = [f for f in self.findings if f.severity is Severity.ERROR]
        shown = [f"{f.file or 'policy'}:{f.line or 0}:{f.column or 0}: {f.message} [{f.rule}]" for f in errors]
        super().__init__("\n".join(shown) or "the policy has no error")


class InputError(GPUPolicyError):
    """Text or a file that cannot be read at all; the place is as near as the reader could tell."""

    def __init__(
        self,
        message: str,
        *,
        rule: str = "unreadable-input",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """The place and the message, once each."""
        if self.file is None or self.file in self.message:
            return self.message
        parts = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        return f"{':'.join(parts)}: {self.message}"

    def to_finding(self) -> LocatedFinding:
        """Returns the same as a finding, for reports that go on with other files."""
        return LocatedFinding(
            rule=self.rule,
            severity=Severity.ERROR,
            field=(),
            message=self.message,
            file=self.file,
            line=self.line,
            column=self.column,
        )


def reason_of(error: OSError) -> str:
    """Returns why the system refused something, in its words: ``no such file or directory``."""
    return (error.strerror or str(error)).lower()


class UsageError(GPUPolicyError):
    """A command or call whose arguments do not fit together; the answer is exit status 2."""


class ClusterError(GPUPolicyError):
    """The API server of a cluster cannot be asked: no way to it is known, it does not answer, or it refuses."""


class ReviewError(GPUPolicyError):
    """A request that is no AdmissionReview we can read: HTTP 400, so that failurePolicy decides."""


class PodShapeError(GPUPolicyError):
    """A pod whose parts are not of the shape that the Kubernetes API gives them.

    ``message`` goes on where the name of the field ends: "is a string, a list is expected".
    """

    def __init__(self, field: FieldPath, message: str) -> None:
        self.field = field
        self.message = message
        super().__init__(f"{shown(format_field(field), 300) or 'the pod'} {message}")


class MissingExtraError(GPUPolicyError):
    """A feature whose optional packages are not installed; says which extra brings them."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        super().__init__(
            f"{package} is not installed: install the extra {extra} of gpupolicy (pip install 'CHECKOUT[{extra}]')"
        )
