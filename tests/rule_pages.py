"""The page of the lint rules, made of their docstrings: ``python tests/rule_pages.py`` writes docs/rules.md anew."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpupolicy.linting import DATED_RULES, FILE_RULES, RULES
from gpupolicy.linting.inventory import INVENTORY_RULES
from gpupolicy.loading.rule_ids import READING_RULES, SHAPE_RULES

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "tests" / "rules"
PAGE = ROOT / "docs" / "rules.md"
PARTS = ("Why", "Bad", "Good", "Source")
FUNCTIONS: tuple[Callable[..., Any], ...] = (*RULES, *DATED_RULES, *INVENTORY_RULES)
TABLES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("The text", READING_RULES),
    ("The shape", SHAPE_RULES),
    ("The file", FILE_RULES),
)

_HEAD = """# Rules of lint

What `gpupolicy lint` says about a policy. Each rule has a name, and each finding ends with it:

    policy.yaml:6:33: error: gpusPerNode is "eight"; expected is a whole number [wrong-type]

An error keeps a policy from being loaded, by every command and by the webhook; a warning does not (`--strict` makes it
count). Rules about meaning wait until the text and the shape are right. For each rule there is an example that it
finds and one that it does not, in `tests/rules/NAME/`. Rules about files of other kinds (scheduler and webhook
configurations, nodes) stand in [rules-foreign.md](rules-foreign.md).

This page is made of the docstrings of the rules; `python tests/rule_pages.py` writes it.
"""
_HEADINGS = {
    "labels": "metadata.name and spec.labels",
    "gpu_types": "spec.gpuTypes",
    "selectors": "Selectors anywhere",
    "slot_groups": "spec.slotGroups: names, overflow, scheduler",
    "slot_sizes": "Sizes",
    "node_claims": "spec.slotGroups[].nodes",
    "topology": "spec.slotGroups[].nodes[].topology",
    "taints": "spec.slotGroups[].taint",
    "profiles": "spec.scheduler.profiles",
    "weights": "spec.scheduler.profiles[].scoringStrategy",
    "scheduler": "spec.scheduler.leaderElection",
    "admission": "spec.admission",
    "exemptions": "spec.admission.exemptions",
    "access": "spec.admission.access",
    "webhook": "spec.webhook",
    "workloads": "spec.workloads",
    "inventory": "A policy and the nodes of a cluster (--nodes)",
}


def rule_id(rule: Callable[..., Any]) -> str:
    """The id of a rule: its function's name with dashes."""
    return rule.__name__.replace("_", "-")


def all_ids() -> tuple[str, ...]:
    """The ids of all rules about policies."""
    return (*(rule_id(rule) for rule in FUNCTIONS), *(name for _, table in TABLES for name in table))


def page_parts(rule: Callable[..., Any]) -> dict[str, str]:
    """The parts of a rule's docstring; its first line is the part ''."""
    text = inspect.cleandoc(rule.__doc__ or "")
    head, *rest = re.split(rf"^({'|'.join(PARTS)}):[ ]*", text, flags=re.MULTILINE)
    parts = {name: " ".join(body.split()) for name, body in zip(rest[::2], rest[1::2], strict=True)}
    return {"": head.strip().rstrip("."), **parts}


def severity_of(name: str) -> str:
    """The severity that the rule's example shows."""
    if not (EXAMPLES / name).exists():
        return "error"  # a text that is too large is too large to keep
    line = next(line for line in (EXAMPLES / name / "bad.txt").read_text().splitlines() if line.endswith(f"[{name}]"))
    return re.findall(r": (error|warning|info): ", line)[0]


def render() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_tables(), *_pages()])


def _tables() -> Iterator[str]:
    for title, table in TABLES:
        yield f"## {title}\n"
        yield from _rows((name, text) for name, text in table.items())
    yield "## The meaning\n"
    yield from _rows((rule_id(rule), page_parts(rule)[""]) for rule in FUNCTIONS)


def _rows(rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    yield "| rule | severity | finds |\n| --- | --- | --- |"
    for name, text in rows:
        yield f"| `{name}` | {severity_of(name)} | {without_capital(text)} |"
    yield ""


def without_capital(text: str) -> str:
    """The text without its capital, unless the first word is a name such as UTF-16."""
    first = text.split()[0]
    return text[0].lower() + text[1:] if first[1:] == first[1:].lower() else text


def _pages() -> Iterator[str]:
    home = ""
    for rule in FUNCTIONS:
        module = rule.__module__.rpartition(".")[2]
        if module != home:
            home = module
            yield f"## {_HEADINGS[module]}\n"
        parts = page_parts(rule)
        yield f"### {rule_id(rule)}\n\n{parts['']}.\n"
        yield "\n".join(f"* {name}: {f'`{parts[name]}`' if name in ('Bad', 'Good') else parts[name]}" for name in PARTS)
        yield ""


if __name__ == "__main__":
    PAGE.write_text(render())
