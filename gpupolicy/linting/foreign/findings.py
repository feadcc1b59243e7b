"""Findings about foreign objects: the three severities as functions, and what a rule is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpupolicy.errors import FieldPath, Finding, Part, Severity
from gpupolicy.suggestions import find_nearest

Rule = Callable[[Any], Iterator[Finding]]


def rule_id(rule: Rule) -> str:
    """Returns the id of a rule: its name in kebab-case."""
    return rule.__name__.replace("_", "-")


def error(rule: str, field: FieldPath, message: str, hint: str | None = None, *, part: Part = Part.VALUE) -> Finding:
    """Returns a finding about what the cluster refuses, or what stops a cluster."""
    return Finding(rule=rule, severity=Severity.ERROR, field=field, message=message, hint=hint, part=part)


def warning(rule: str, field: FieldPath, message: str, hint: str | None = None, *, part: Part = Part.VALUE) -> Finding:
    """Returns a finding about what is accepted and does not do what it says."""
    return Finding(rule=rule, severity=Severity.WARNING, field=field, message=message, hint=hint, part=part)


def info(rule: str, field: FieldPath, message: str, hint: str | None = None, *, part: Part = Part.VALUE) -> Finding:
    """Returns a finding that is worth knowing and asks for nothing."""
    return Finding(rule=rule, severity=Severity.INFO, field=field, message=message, hint=hint, part=part)


def show(value: object) -> str:
    """Returns a foreign value as a message shows it: text in quotes, cut where it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Returns the hint that offers the nearest known word, None where none is near."""
    nearest = find_nearest(word, known)
    return f"did you mean {nearest}" if nearest else None


def listed(words: tuple[str, ...] | list[str]) -> str:
    """Returns words in one line: ``a, b``."""
    return ", ".join(words)
