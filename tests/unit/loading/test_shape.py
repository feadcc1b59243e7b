from __future__ import annotations

from pathlib import Path

import pytest

from gpupolicy.errors import PolicyError
from gpupolicy.loading import load_text

LEAST = (Path(__file__).parents[2] / "data" / "policies" / "least.yaml").read_text()


def problems(spec: str) -> list[tuple[int | None, int | None, str, str, str | None]]:
    """What is wrong with the least policy when lines are added to its spec (from line 7 on)."""
    with pytest.raises(PolicyError) as caught:
        load_text(LEAST + spec, "p.yaml")
    return [(f.line, f.column, f.rule, f.message, f.hint) for f in caught.value.findings]


CASES = [
    pytest.param(
        "  slotGroup: []\n",
        (7, 3, "unknown-field", "spec has no field slotGroup", "did you mean slotGroups"),
        id="unknown-field-is-told-at-its-key",
    ),
    pytest.param(
        "  labels: {colour: red}\n",
        (7, 12, "unknown-field", "spec.labels has no field colour", "known: guard, prefix"),
        id="nothing-near-lists-the-fields",
    ),
    pytest.param(
        "  scheduler:\n    profiles:\n      - scoringStrategy: {}\n",
        (
            9,
            9,
            "missing-field",
            "spec.scheduler.profiles[0] lacks the field schedulerName",
            "schedulerName: the name that pods put into spec.schedulerName",
        ),
        id="missing-field-is-told-at-its-mapping",
    ),
    pytest.param(
        "  webhook: {replicas: true}\n",
        (7, 23, "wrong-type", "replicas is true; expected is a whole number", None),
        id="a-boolean-is-no-number",
    ),
    pytest.param(
        "  webhook: {name: 8}\n",
        (7, 19, "wrong-type", "name is 8; expected is text", "put it in quotes"),
        id="a-number-is-no-text",
    ),
    pytest.param(
        "  admission:\n    exemptions:\n",
        (8, 16, "wrong-type", "exemptions is empty; expected is a list", None),
        id="nothing-is-no-list",
    ),
    pytest.param(
        "  admission: {enforcement: 8}\n",
        (7, 28, "wrong-type", "enforcement is 8; expected is text or a mapping", None),
        id="two-types-are-told-once",
    ),
    pytest.param(
        "  admission: {enforcement: denny}\n",
        (
            7,
            28,
            "value-not-allowed",
            'enforcement is "denny"; expected is deny, warn or audit',
            "did you mean deny",
        ),
        id="a-slip-in-a-choice",
    ),
    pytest.param(
        "  admission: {routing: {mode: preferred}}\n",
        (
            7,
            24,
            "value-not-allowed",
            "routing is a mapping; expected is required, preferred or off",
            "did you mean preferred",
        ),
        id="a-choice-inside-a-mapping",
    ),
    pytest.param(
        "  admission: {routing: {rule: far}}\n",
        (7, 24, "value-not-allowed", "routing is a mapping; expected is required, preferred or off", None),
        id="a-mapping-for-a-choice",
    ),
    pytest.param(
        "  admission: {routing: [never, required]}\n",
        (
            7,
            24,
            "value-not-allowed",
            "routing is a list; expected is required, preferred or off",
            "did you mean required",
        ),
        id="a-list-for-a-choice",
    ),
    pytest.param(
        "  admission: {routing: null}\n",
        (7, 24, "value-not-allowed", "routing is empty; expected is required, preferred or off", None),
        id="nothing-for-a-choice",
    ),
    pytest.param(
        "  kubernetesVersion: 1.37\n",
        (
            7,
            22,
            "value-not-allowed",
            "kubernetesVersion is 1.37; expected is 1.34, 1.35, 1.36 or 1.37",
            'did you mean "1.37", in quotes',
        ),
        id="a-version-without-quotes",
    ),
    pytest.param(
        "  kubernetesVersion: 1.30\n",
        (
            7,
            22,
            "value-not-allowed",
            "kubernetesVersion is 1.3; expected is 1.34, 1.35, 1.36 or 1.37",
            "put it in quotes: without them 1.30 is the number 1.3",
        ),
        id="a-version-that-lost-its-zero",
    ),
    pytest.param(
        "  kubernetesVersion: v1.35.7-gke.100\n",
        (
            7,
            22,
            "value-not-allowed",
            'kubernetesVersion is "v1.35.7-gke.100"; expected is 1.34, 1.35, 1.36 or 1.37',
            'did you mean "1.35", in quotes',
        ),
        id="a-version-as-kubectl-prints-it",
    ),
    pytest.param(
        '  kubernetesVersion: "1.33"\n',
        (7, 22, "value-not-allowed", 'kubernetesVersion is "1.33"; expected is 1.34, 1.35, 1.36 or 1.37', None),
        id="no-version-is-near-to-another",
    ),
    pytest.param(
        "  admission: {routing: true}\n",
        (7, 24, "value-not-allowed", "routing is true; expected is required, preferred or off", None),
        id="true-is-not-off",
    ),
    pytest.param(
        '  webhook: {replicas: "2"}\n',
        (7, 23, "wrong-type", 'replicas is "2"; expected is a whole number', "write 2, without quotes"),
        id="a-number-in-quotes",
    ),
    pytest.param(
        '  labels: {guard: "no"}\n',
        (7, 19, "wrong-type", 'guard is "no"; expected is true or false', "write false, without quotes"),
        id="a-boolean-in-quotes",
    ),
    pytest.param(
        "  webhook: {replicas: 2.5}\n",
        (7, 23, "wrong-type", "replicas is 2.5; expected is a whole number", None),
        id="half-a-number-is-told-once",
    ),
    pytest.param(
        "  scheduler: {otherSchedulers: volcano}\n",
        (7, 32, "wrong-type", 'otherSchedulers is "volcano"; expected is a list', 'write ["volcano"]'),
        id="one-entry-without-its-list",
    ),
    pytest.param(
        "  admission: {exemptions: [{reason: x, expires: 20270131}]}\n",
        (7, 49, "wrong-type", "expires is 20270131; expected is text", "write a date such as 2027-01-31"),
        id="a-number-for-a-date",
    ),
    pytest.param(
        "  admission: {exemptions: [{reason: x, podSelector: {app: trainer}}]}\n",
        (
            7,
            54,
            "unknown-field",
            "spec.admission.exemptions[0].podSelector has no field app",
            "labels stand below matchLabels",
        ),
        id="labels-without-matchLabels",
    ),
    pytest.param(
        '  webhook: {"re\u200bplicas": 2}\n',
        (7, 13, "unknown-field", "spec.webhook has no field re\\u200bplicas", "did you mean replicas"),
        id="a-character-that-nobody-sees",
    ),
    pytest.param(
        "  workloads: [{kind: Sweep, templates: [spec.template]}]\n",
        (7, 15, "missing-field", "spec.workloads[0] lacks the field group", "group: API group, without a version"),
        id="an-abbreviation-keeps-its-letters",
    ),
    pytest.param(
        "  admission: {requestSizes: [0]}\n",
        (
            7,
            30,
            "value-out-of-range",
            "an entry of requestSizes is 0; expected is a number from 1 to 1024",
            None,
        ),
        id="out-of-range",
    ),
    pytest.param(
        '  admission: {exemptions: [{reason: ""}]}\n',
        (7, 37, "empty-value", "reason is an empty text", None),
        id="empty-text",
    ),
    pytest.param(
        "  admission: {exemptions: [{reason: x, serviceAccounts: [robot]}]}\n",
        (
            7,
            58,
            "wrong-form",
            'an entry of serviceAccounts is "robot"; expected is namespace/name',
            None,
        ),
        id="form",
    ),
    pytest.param(
        "  admission: {exemptions: [{reason: x, expires: 2027-02-30}]}\n",
        (7, 49, "wrong-form", 'expires is "2027-02-30", a day that no calendar has', None),
        id="no-such-day",
    ),
]


@pytest.mark.parametrize(("spec", "problem"), CASES)
def test_a_wrong_shape_is_told_with_its_place(spec: str, problem: tuple[int, int, str, str, str | None]) -> None:
    assert problems(spec) == [problem]


def test_off_without_quotes_says_what_to_write() -> None:
    """YAML reads it as false."""
    assert problems("  admission: {routing: off}\n") == [
        (
            7,
            24,
            "value-not-allowed",
            "routing is false; expected is required, preferred or off",
            'put "off" in quotes',
        ),
        (7, 24, "yaml-boolean-word", "off is read as false, not as text", 'write false, or "off" for the text'),
    ]


def test_a_claim_says_which_nodes() -> None:
    text = LEAST.replace("sizes: [1, 2, 4, 8]}", "sizes: [1, 2, 4, 8], nodes: [{gpuType: V100}]}")

    with pytest.raises(PolicyError) as caught:
        load_text(text)

    assert [f.message for f in caught.value.findings] == [
        "spec.slotGroups[0].nodes[0] says no nodes; expected is at least one of names, nodeSelector, count, weight"
    ]


def test_a_very_long_value_is_cut() -> None:
    (problem,) = problems(f"  admission: {{routing: {'x' * 500}}}\n")

    assert problem[3] == f'routing is "{"x" * 39}... (502 characters); expected is required, preferred or off'


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    found = problems("  webhook: {replicas: 0, nam: x}\n  labels: {guard: yes-please}\n")

    assert [(line, rule) for line, _, rule, _, _ in found] == [
        (7, "value-out-of-range"),
        (7, "unknown-field"),
        (8, "wrong-type"),
    ]
