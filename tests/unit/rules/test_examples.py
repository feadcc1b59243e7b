"""Every rule about policies has two examples, a page and a row; and the examples say exactly what they say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rule_pages import EXAMPLES, FUNCTIONS, PAGE, PARTS, all_ids, page_parts, render, rule_id

from gpupolicy.linting import lint
from gpupolicy.reporting.text_format import format_findings

NOW = datetime(2026, 12, 1, tzinfo=UTC)
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
TOO_LARGE_TO_KEEP = "input-too-large"


def linted(file: str) -> str:
    """The text of lint for a file of the current folder, judged against nodes where the folder has some."""
    nodes = "nodes.yaml" if Path("nodes.yaml").exists() else None
    return format_findings(lint(file, nodes=nodes, now=NOW))


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_example_says_exactly_this(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / name)

    assert linted("bad.yaml") == Path("bad.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_example_breaks_its_rule(name: str) -> None:
    assert f"[{name}]\n" in (EXAMPLES / name / "bad.txt").read_text()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"inventory-without-nodes"}))
def test_the_good_example_is_clean(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / name)

    assert linted("good.yaml") == ""


def test_every_rule_has_its_examples_and_every_example_its_rule() -> None:
    assert {*NAMES, TOO_LARGE_TO_KEEP} == set(all_ids())


def test_no_rule_id_stands_twice() -> None:
    assert len(set(all_ids())) == len(all_ids())


@pytest.mark.parametrize("rule", FUNCTIONS, ids=rule_id)
def test_a_rule_has_a_whole_page(rule: Callable[..., Any]) -> None:
    parts = page_parts(rule)

    assert tuple(parts) == ("", *PARTS)
    assert all(parts.values())


def test_the_page_of_the_rules_is_made_of_their_docstrings() -> None:
    assert PAGE.read_text() == render()
