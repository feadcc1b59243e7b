"""Short ways to write a finding of a rule."""

from __future__ import annotations

from collections.abc import Iterable

from gpupolicy.errors import FieldPath, Finding, Part, Severity
from gpupolicy.labels import is_glob


def error(rule: str, field: FieldPath, message: str, hint: str | None = None, part: Part = Part.VALUE) -> Finding:
    """Returns a finding that keeps the policy from being loaded."""
    return Finding(rule=rule, severity=Severity.ERROR, field=field, message=message, hint=hint, part=part)


def warning(rule: str, field: FieldPath, message: str, hint: str | None = None) -> Finding:
    """Returns a finding that the policy can live with."""
    return Finding(rule=rule, severity=Severity.WARNING, field=field, message=message, hint=hint)


def info(rule: str, field: FieldPath, message: str, hint: str | None = None) -> Finding:
    """Returns a remark."""
    return Finding(rule=rule, severity=Severity.INFO, field=field, message=message, hint=hint)


def tell_name(name: str, noun: str, problem: str) -> str:
    """Returns what is said of a name that nothing can have, or of a shell pattern that no name fits."""
    told = f'no {noun} fits the pattern "{name}"' if is_glob(name) else f'"{name}" is no {noun}'
    return f"{told}: it {problem}"


def listed(words: Iterable[object]) -> str:
    """Returns ``1, 2 and 4``."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"


def gpus(number: int) -> str:
    """Returns ``1 GPU`` or ``4 GPUs``."""
    return f"{number} GPU" if number == 1 else f"{number} GPUs"
