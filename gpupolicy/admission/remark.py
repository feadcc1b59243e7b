"""What judging a pod finds: a rule that fired, before the policy says what is done about it."""

from __future__ import annotations

from dataclasses import dataclass

from gpupolicy.errors import FieldPath, Part


@dataclass(frozen=True, slots=True)
class Remark:
    """A rule that fired, where in the pod, and why."""

    rule: str
    field: FieldPath
    message: str
    hint: str | None = None
    part: Part = Part.VALUE
