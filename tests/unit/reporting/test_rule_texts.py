"""What rules are about, for formats that explain."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from foreign_rule_pages import all_ids as foreign_ids
from rule_pages import all_ids as lint_ids

import gpupolicy
from gpupolicy.admission_rules import ADMISSION_RULES
from gpupolicy.loading.rule_ids import READING_RULES
from gpupolicy.manifests.rule_ids import MANIFEST_RULES, UNREADABLE_RULES
from gpupolicy.reporting.rule_texts import RuleText, check_rules, lint_rules

MANIFESTS = Path(gpupolicy.__file__).parent / "manifests"
CHECKING_PAGE = Path(__file__).parents[3] / "docs" / "checking-manifests.md"


def text(texts: tuple[RuleText, ...], rule: str) -> RuleText:
    (found,) = (text for text in texts if text.rule == rule)
    return found


def ids_in_source() -> set[str]:
    """The rule ids that the modules of manifests give to findings: rule=, and the first argument of their makers."""
    found = set()
    for path in MANIFESTS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = [k.value for k in node.keywords if k.arg == "rule"] if isinstance(node, ast.Call) else []
            is_maker = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_error", "_warning")
            first = node.args[:1] if is_maker else []  # type: ignore[union-attr]
            found |= {n.value for n in (*named, *first) if isinstance(n, ast.Constant)}
    return found


def test_a_check_explains_the_rules_of_admission_of_the_reader_and_its_own() -> None:
    assert {text.rule for text in check_rules()} == {*ADMISSION_RULES, *READING_RULES, *MANIFEST_RULES}


def test_every_rule_of_the_manifests_is_listed() -> None:
    assert ids_in_source() - {*MANIFEST_RULES, *ADMISSION_RULES} == set()


def test_what_cannot_be_read_is_known_by_rules_that_exist() -> None:
    assert UNREADABLE_RULES - {*MANIFEST_RULES, *READING_RULES} == set()


@pytest.mark.parametrize("rule", MANIFEST_RULES)
def test_every_rule_of_the_manifests_is_in_the_docs(rule: str) -> None:
    assert f"`{rule}`" in CHECKING_PAGE.read_text()


def test_lint_explains_every_rule_of_its_pages() -> None:
    assert {*lint_ids(), *foreign_ids()} - {text.rule for text in lint_rules()} == set()


def test_a_row_of_a_table_becomes_a_sentence() -> None:
    assert text(check_rules(), "request-size-not-admitted") == RuleText(
        rule="request-size-not-admitted",
        summary="A number of GPUs that the policy does not admit",
        help="A number of GPUs that the policy does not admit. "
        "gpupolicy explain POLICY FILE tells how the decision on a pod comes about.",
    )


def test_the_page_of_a_rule_of_lint_is_its_help() -> None:
    found = text(lint_rules(), "slot-size-not-admitted")

    assert [line.partition(":")[0] for line in found.help.splitlines()] == [f"{found.summary}.", "Why", "Bad", "Good"]


@pytest.mark.parametrize("texts", [check_rules, lint_rules], ids=["check", "lint"])
def test_rules_stand_in_the_order_of_their_ids_each_once(texts: object) -> None:
    ids = [text.rule for text in texts()]  # type: ignore[operator]

    assert ids == sorted(set(ids))
