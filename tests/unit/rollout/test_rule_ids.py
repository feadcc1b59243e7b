"""The rules of drift and their page."""

from __future__ import annotations

import re
from pathlib import Path

from gpupolicy.reporting.rule_texts import drift_rules
from gpupolicy.rollout.rule_ids import DRIFT_RULES, NO_DRIFT

PAGE = (Path(__file__).parents[3] / "docs" / "nodes.md").read_text()
ROW = re.compile(r"^\| `(node-[\w-]+)` \| \w+ \| (yes|no) \| (.*) \|$", re.MULTILINE)


def test_the_docs_list_every_rule_in_its_words() -> None:
    assert {rule: words for rule, _, words in ROW.findall(PAGE)} == DRIFT_RULES


def test_the_docs_say_what_is_no_drift() -> None:
    assert {rule for rule, drift, _ in ROW.findall(PAGE) if drift == "no"} == NO_DRIFT


def test_machine_formats_know_every_rule() -> None:
    assert [text.rule for text in drift_rules()] == sorted(DRIFT_RULES)
