"""What is done when a rule is broken: the default, the first override that fits, and rules that only warn."""

import re
from pathlib import Path

import pytest
from builders import enforcing, override, policy

from gpupolicy.admission.enforcement import action_for
from gpupolicy.admission.scope import Request
from gpupolicy.admission_rules import ADMISSION_RULES, WARNINGS
from gpupolicy.model import Action

SIZE, WARNING = "request-size-not-admitted", "scheduler-not-known"


def action(rule, admission, namespace="team-a"):
    return action_for(policy(admission=admission), rule, Request(namespace=namespace, namespace_labels={}))


@pytest.mark.parametrize(
    ("default", "rule", "result"),
    [
        pytest.param("deny", SIZE, Action.DENY, id="deny"),
        pytest.param("warn", SIZE, Action.WARN, id="warn"),
        pytest.param("audit", SIZE, Action.AUDIT, id="audit"),
        pytest.param("deny", WARNING, Action.WARN, id="a-warning-never-denies-by-default"),
        pytest.param("warn", WARNING, Action.WARN, id="a-warning-warns"),
        pytest.param("audit", WARNING, Action.AUDIT, id="a-warning-is-audited-with-the-rest"),
    ],
)
def test_the_default_decides(default, rule, result):
    assert action(rule, enforcing(default)) is result


@pytest.mark.parametrize(
    ("rule", "overrides", "result"),
    [
        pytest.param(SIZE, (override("warn", SIZE),), Action.WARN, id="by-rule"),
        pytest.param(SIZE, (override("warn", "other-rule"),), Action.DENY, id="of-another-rule"),
        pytest.param(SIZE, (override("audit"),), Action.AUDIT, id="of-all-rules"),
        pytest.param(SIZE, (override("warn", namespaces=("team-*",)),), Action.WARN, id="by-namespace"),
        pytest.param(SIZE, (override("warn", namespaces=("team-b",)),), Action.DENY, id="of-another-namespace"),
        pytest.param(SIZE, (override("warn", SIZE), override("audit")), Action.WARN, id="the-first-that-fits"),
        pytest.param(
            SIZE, (override("audit", namespaces=("x",)), override("warn")), Action.WARN, id="a-later-one-that-fits"
        ),
        pytest.param(WARNING, (override("deny", WARNING),), Action.DENY, id="a-warning-that-is-named-denies"),
        pytest.param(WARNING, (override("deny"),), Action.WARN, id="a-warning-that-is-not-named-does-not"),
        pytest.param(WARNING, (override("audit", WARNING),), Action.AUDIT, id="a-warning-can-be-silenced"),
    ],
)
def test_the_first_override_that_fits_decides(rule, overrides, result):
    assert action(rule, enforcing("deny", *overrides)) is result


def test_every_rule_that_only_warns_is_a_rule():
    assert WARNINGS - set(ADMISSION_RULES) == set()


def test_rules_stand_in_the_order_of_the_alphabet():
    assert list(ADMISSION_RULES) == sorted(ADMISSION_RULES)


PAGE = Path(__file__).parents[3] / "docs" / "admission.md"


def test_the_page_on_admission_lists_every_rule_with_what_is_done_and_when():
    rows = re.findall(r"^\| `([a-z-]+)` \| (deny|warn) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert rows == [(rule, "warn" if rule in WARNINGS else "deny", text) for rule, text in ADMISSION_RULES.items()]
