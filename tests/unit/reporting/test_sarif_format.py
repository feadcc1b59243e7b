"""SARIF logs: judged by the published schema, and by what code scanning needs."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema
import pytest

import gpupolicy
from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.reporting.rule_texts import RuleText, check_rules, lint_rules
from gpupolicy.reporting.sarif_format import findings_to_sarif

SCHEMA = json.loads((Path(__file__).parents[2] / "data" / "sarif" / "sarif-2.1.0-rtm.5.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)
ROOT = PurePosixPath("/repo")
FINDING = LocatedFinding(
    rule="request-size-not-admitted",
    severity=Severity.ERROR,
    field=("spec", "containers", 0),
    message="the pod asks for 3 GPUs",
    hint="ask for 2 or 4",
    file="apps/pod.yaml",
    line=7,
    column=42,
)
BARE = LocatedFinding(rule="r", severity=Severity.INFO, field=(), message="m")
RULES = (RuleText(rule="request-size-not-admitted", summary="A number", help="A number. Help"),)


def log(*findings: LocatedFinding, **options: Any) -> dict[str, Any]:
    return dict(findings_to_sarif(findings, options.pop("rules", RULES), root=ROOT, **options))


def result(finding: LocatedFinding) -> dict[str, Any]:
    (only,) = log(finding)["runs"][0]["results"]
    return dict(only)


@pytest.mark.parametrize(
    "findings",
    [
        pytest.param((), id="nothing"),
        pytest.param((FINDING,), id="whole"),
        pytest.param((BARE,), id="bare"),
    ],
)
@pytest.mark.parametrize("rules", [check_rules, lint_rules], ids=["check", "lint"])
def test_a_log_is_valid_by_the_published_schema(findings: tuple[LocatedFinding, ...], rules: Any) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(log(*findings, rules=rules()))] == []


def test_the_schema_refuses_what_is_wrong() -> None:
    broken = log(FINDING)
    broken["runs"][0]["results"][0]["level"] = "fatal"

    assert [error.message for error in VALIDATOR.iter_errors(broken)] == [
        "'fatal' is not one of ['none', 'note', 'warning', 'error']"
    ]


def test_a_result_has_all_that_a_finding_has() -> None:
    found = result(FINDING)

    assert found.pop("partialFingerprints").keys() == {"placeInObject/v1"}
    assert found == {
        "ruleId": "request-size-not-admitted",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "the pod asks for 3 GPUs; ask for 2 or 4"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "apps/pod.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7, "startColumn": 42},
                },
                "logicalLocations": [{"fullyQualifiedName": "spec.containers[0]"}],
            }
        ],
    }


def test_a_finding_without_a_place_has_none() -> None:
    assert result(BARE) == {"ruleId": "r", "level": "note", "message": {"text": "m"}}


def test_results_are_there_and_empty_where_nothing_is_found() -> None:
    assert log()["runs"][0]["results"] == []


def test_the_run_says_who_made_it_and_whether_it_is_whole() -> None:
    run = log(is_whole=False)["runs"][0]

    assert (run["tool"]["driver"]["name"], run["tool"]["driver"]["version"]) == ("gpupolicy", gpupolicy.__version__)
    assert (run["invocations"], run["columnKind"]) == ([{"executionSuccessful": False}], "unicodeCodePoints")


def test_a_rule_is_told_with_its_help() -> None:
    assert log()["runs"][0]["tool"]["driver"]["rules"] == [
        {
            "id": "request-size-not-admitted",
            "shortDescription": {"text": "A number"},
            "fullDescription": {"text": "A number."},
            "help": {"text": "A number. Help"},
        }
    ]


@pytest.mark.parametrize(
    ("severity", "level"),
    [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note")],
    ids=["error", "warning", "info"],
)
def test_a_severity_is_a_level(severity: Severity, level: str) -> None:
    assert result(LocatedFinding(rule="r", severity=severity, field=(), message="m"))["level"] == level


def test_a_file_outside_of_the_root_is_absolute_and_has_no_base() -> None:
    finding = LocatedFinding(rule="r", severity=Severity.ERROR, field=(), message="m", file="/other/a.yaml", line=1)

    (location,) = result(finding)["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///other/a.yaml"},
        "region": {"startLine": 1},
    }


def test_a_fingerprint_stays_when_lines_move() -> None:
    def moved(line: int, message: str) -> LocatedFinding:
        return LocatedFinding(
            rule="r", severity=Severity.ERROR, field=("a",), message=message, file="a.yaml", line=line
        )

    first, below, other = (result(moved(*place))["partialFingerprints"] for place in ((1, "m"), (9, "m"), (1, "n")))

    assert (first == below, first == other) == (True, False)


@pytest.mark.parametrize(
    ("message", "text"),
    [("{0} stands here", "{{0}} stands here"), ("{a: 1} stands here", "{a: 1} stands here")],
    ids=["a-placeholder", "other-braces"],
)
def test_what_looks_like_a_placeholder_is_escaped(message: str, text: str) -> None:
    finding = LocatedFinding(rule="r", severity=Severity.ERROR, field=(), message=message)

    assert result(finding)["message"] == {"text": text}
