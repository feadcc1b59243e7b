"""Findings and reports as lines."""

from __future__ import annotations

import pytest

from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.manifests.report import CheckedObject, CheckReport, Verdict
from gpupolicy.reporting.text_format import format_check, format_finding, summarize_check, summarize_lint


def finding(message: str = "m", **fields: object) -> LocatedFinding:
    return LocatedFinding(rule="r", severity=Severity.ERROR, field=(), message=message, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        pytest.param({"file": "a.yaml", "line": 3, "column": 5}, "a.yaml:3:5: error: m [r]", id="whole"),
        pytest.param({"file": "a.yaml"}, "a.yaml: error: m [r]", id="no-place"),
        pytest.param({}, "error: m [r]", id="no-file"),
        pytest.param({"file": "a.yaml", "hint": "write x"}, "a.yaml: error: m; write x [r]", id="hint"),
    ],
)
def test_a_finding_is_one_line(fields: dict[str, object], line: str) -> None:
    assert format_finding(finding(**fields)) == line


def test_a_message_of_several_lines_becomes_one() -> None:
    assert format_finding(finding("a\nb")) == "error: a b [r]"


def test_what_nobody_sees_or_a_terminal_obeys_is_escaped() -> None:
    assert format_finding(finding("a\x1b[31mb\u200bc é")) == "error: a\\x1b[31mb\\u200bc é [r]"


def test_the_findings_of_a_check_are_sorted_by_place() -> None:
    entry = CheckedObject(
        file="b", line=1, api_version=None, kind=None, namespace=None, name=None, verdict=Verdict.DENY, reason="",
        findings=(finding(file="b", line=2), finding(file="b", line=1)),
    )  # fmt: skip
    report = CheckReport(files=2, object_count=1, objects=(entry,), findings=(finding(file="a", line=9),))

    assert format_check(report) == "a:9: error: m [r]\nb:1: error: m [r]\nb:2: error: m [r]\n"


def test_a_summary_counts_in_singular_and_plural() -> None:
    assert summarize_check(CheckReport(files=1, object_count=0)) == (
        "1 file, 0 objects, 0 pods: 0 denied, 0 with warnings, 0 skipped"
    )


def test_a_summary_tells_what_was_not_read() -> None:
    assert summarize_check(CheckReport(files=1, object_count=0, unreadable=2)).endswith(", 2 unreadable")


def test_a_lint_ends_with_its_counts() -> None:
    assert summarize_lint([finding(), finding()], 1) == "1 file: 2 errors, 0 warnings"
