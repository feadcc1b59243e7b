"""What each rule is about, for formats that explain a finding beside showing it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_PARTS = re.compile(r"^(Why|Bad|Good|Source):[ ]*", re.MULTILINE)
_TOLD = ("Why", "Bad", "Good")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """A rule: one line on what it finds, and a text that helps who meets it."""

    rule: str
    summary: str
    help: str


def check_rules() -> tuple[RuleText, ...]:
    """Returns every rule that a check of manifests may name, by id."""
    from gpupolicy.admission_rules import ADMISSION_RULES
    from gpupolicy.loading.rule_ids import READING_RULES
    from gpupolicy.manifests.rule_ids import MANIFEST_RULES

    texts = (
        *_from_table(ADMISSION_RULES, "gpupolicy explain POLICY FILE tells how the decision on a pod comes about."),
        *_from_table(MANIFEST_RULES, "It is judged before any policy: it holds for every cluster."),
        *_from_table(READING_RULES, "Files are read as the cluster reads them, by YAML 1.1."),
    )
    return _by_id(texts)


def audit_rules() -> tuple[RuleText, ...]:
    """Returns every rule that an audit may name, by id."""
    from gpupolicy.admission_rules import ADMISSION_RULES
    from gpupolicy.auditing.report import AUDIT_RULES

    texts = (
        *_from_table(ADMISSION_RULES, "gpupolicy explain POLICY FILE tells how the decision on a pod comes about."),
        *_from_table(AUDIT_RULES, "gpupolicy audit tells which pods it is about, and what mends it."),
    )
    return _by_id(texts)


def lint_rules() -> tuple[RuleText, ...]:
    """Returns every rule that lint may name, by id."""
    from gpupolicy.linting import DATED_RULES, FILE_RULES, RULES
    from gpupolicy.linting.foreign import registry
    from gpupolicy.linting.inventory import INVENTORY_RULES
    from gpupolicy.loading.rule_ids import READING_RULES, SHAPE_RULES

    functions: tuple[Callable[..., Any], ...] = (
        *RULES,
        *DATED_RULES,
        *INVENTORY_RULES,
        *registry.RULES,
        *registry.STREAM_RULES,
    )
    texts = (
        *(_from_function(function) for function in functions),
        *_from_table(FILE_RULES, "gpupolicy lint --help lists the kinds that lint judges."),
        *_from_table(READING_RULES, "Files are read as the cluster reads them, by YAML 1.1."),
        *_from_table(SHAPE_RULES, "gpupolicy schema prints the format of a policy."),
        *_from_table(registry.SHAPE_RULES, "The file is of a kind that Kubernetes defines."),
    )
    return _by_id(texts)


def drift_rules() -> tuple[RuleText, ...]:
    """Returns every rule that a status of nodes may name, by id."""
    from gpupolicy.rollout.rule_ids import DRIFT_RULES

    return _by_id(tuple(_from_table(DRIFT_RULES, "gpupolicy nodes plan tells what an apply would do about it.")))


def _by_id(texts: tuple[RuleText, ...]) -> tuple[RuleText, ...]:
    return tuple(sorted({text.rule: text for text in texts}.values(), key=lambda text: text.rule))


def _from_table(table: Mapping[str, str], more: str) -> Iterator[RuleText]:
    for rule, summary in table.items():
        sentence = f"{_capital(summary)}."
        yield RuleText(rule=rule, summary=_capital(summary), help=f"{sentence} {more}")


def _from_function(function: Callable[..., Any]) -> RuleText:
    """Reads the page that a rule's docstring is; Python may have been told to drop docstrings (-OO)."""
    rule = function.__name__.replace("_", "-")
    head, *rest = _PARTS.split(inspect.cleandoc(function.__doc__ or rule))
    parts = {name: " ".join(body.split()) for name, body in zip(rest[::2], rest[1::2], strict=True)}
    summary = " ".join(head.split()).rstrip(".")
    lines = [f"{summary}.", *(f"{name}: {parts[name]}" for name in _TOLD if name in parts)]
    return RuleText(rule=rule, summary=summary, help="\n".join(lines))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
