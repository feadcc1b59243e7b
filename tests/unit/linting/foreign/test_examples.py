"""Every rule about foreign files has two examples, a page and a row; and the examples say exactly what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from foreign_rule_pages import EXAMPLES, FUNCTIONS, PAGE, all_ids, render
from rule_pages import PARTS, page_parts, rule_id
from rule_pages import all_ids as policy_rule_ids

from gpupolicy.admission_rules import ADMISSION_RULES
from gpupolicy.linting import lint
from gpupolicy.reporting.text_format import format_findings

NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


def linted(name: str, file: str) -> str:
    """The text of lint for a file of the current folder: against its own policy, Nodes against the shared one."""
    shared = "../policy.yaml" if name.startswith(("node-", "list-")) else None
    policy = "policy.yaml" if Path("policy.yaml").exists() else shared
    return format_findings(lint(file, policy=policy))


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_example_says_exactly_this(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / name)

    assert linted(name, "bad.yaml") == Path("bad.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_example_breaks_its_rule(name: str) -> None:
    assert f"[{name}]\n" in (EXAMPLES / name / "bad.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_good_example_is_clean(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / name)

    assert linted(name, "good.yaml") == ""


def test_every_rule_has_its_examples_and_every_example_its_rule() -> None:
    assert sorted(all_ids()) == NAMES


def test_no_rule_id_stands_twice() -> None:
    assert sorted(all_ids()) == sorted(set(all_ids()))


def test_no_rule_id_means_something_else_elsewhere() -> None:
    assert set(all_ids()) & {*policy_rule_ids(), *ADMISSION_RULES} == set()


@pytest.mark.parametrize("rule", FUNCTIONS, ids=rule_id)
def test_a_rule_has_a_whole_page(rule: Callable[..., Any]) -> None:
    parts = page_parts(rule)

    assert tuple(parts) == ("", *PARTS)
    assert all(parts.values())


def test_the_page_of_the_rules_is_made_of_their_docstrings() -> None:
    assert PAGE.read_text() == render()
