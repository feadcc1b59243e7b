"""The page of the rules about foreign files, made of their docstrings: ``python tests/foreign_rule_pages.py``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rule_pages import PARTS, ROOT, page_parts, rule_id, without_capital

from gpupolicy.linting.foreign.registry import RULES, SHAPE_RULES, STREAM_RULES

EXAMPLES = ROOT / "tests" / "rules-foreign"
PAGE = ROOT / "docs" / "rules-foreign.md"
FUNCTIONS: tuple[Callable[..., Any], ...] = (*RULES, *STREAM_RULES)

_HEAD = """# Rules of lint for files that no policy compiled

What `gpupolicy lint` says about hand-written scheduler configurations, webhook registrations and Nodes. They are
recognised by group and kind, alone or as items of a `List`; a scheduler configuration also inside a ConfigMap. With
`--policy FILE` they are judged against a policy too, and for its Kubernetes version; without, for the newest known.

An **error** is what Kubernetes refuses, or what stops a cluster; a **warning** is taken by Kubernetes and does not do
what it says; an **info** is worth knowing. For each rule there is an example that it finds and one that is clean, in
`tests/rules-foreign/NAME/`. That errors are errors is tested against the real kube-scheduler and API server, in
`tests/e2e/test_lint_agrees.py`. Rules about policies stand in [rules.md](rules.md).

This page is made of the docstrings of the rules; `python tests/foreign_rule_pages.py` writes it.
"""
_HEADINGS = {
    "scheduler": "KubeSchedulerConfiguration",
    "webhooks": "MutatingWebhookConfiguration, ValidatingWebhookConfiguration",
    "nodes": "Node",
    "stream_rules": "The file as a whole",
}


def all_ids() -> tuple[str, ...]:
    """The ids of all rules about foreign files."""
    return (*SHAPE_RULES, *(rule_id(rule) for rule in FUNCTIONS))


def severities_of(name: str) -> str:
    """The severities that the rule's example shows."""
    text = (EXAMPLES / name / "bad.txt").read_text()
    found = re.findall(rf": (error|warning|info): .* \[{re.escape(name)}\]$", text, flags=re.MULTILINE)
    return ", ".join(dict.fromkeys(sorted(found)))


def render() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_shapes(), *_tables(), *_pages()])


def _shapes() -> Iterator[str]:
    yield "## The shape\n"
    yield from _rows([(name, text) for name, text in SHAPE_RULES.items()])


def _tables() -> Iterator[str]:
    for room, title in _HEADINGS.items():
        yield f"## {title}\n"
        yield from _rows([(rule_id(rule), page_parts(rule)[""]) for rule in FUNCTIONS if _room(rule) == room])


def _rows(rows: list[tuple[str, str]]) -> Iterator[str]:
    yield "| rule | severity | finds |\n| --- | --- | --- |"
    for name, text in rows:
        yield f"| `{name}` | {severities_of(name)} | {without_capital(text)} |"
    yield ""


def _pages() -> Iterator[str]:
    for room, title in _HEADINGS.items():
        yield f"## {title}: each rule\n"
        for rule in FUNCTIONS:
            if _room(rule) == room:
                yield from _page(rule)


def _page(rule: Callable[..., Any]) -> Iterator[str]:
    parts = page_parts(rule)
    yield f"### {rule_id(rule)}\n\n{parts['']}.\n"
    yield "\n".join(f"* {name}: {f'`{parts[name]}`' if name in ('Bad', 'Good') else parts[name]}" for name in PARTS)
    yield ""


def _room(rule: Callable[..., Any]) -> str:
    """The folder of a rule's module, or the module itself where it is in none."""
    return rule.__module__.removeprefix("gpupolicy.linting.foreign.").partition(".")[0]


if __name__ == "__main__":
    PAGE.write_text(render())
