"""JUnit XML, read back by a parser."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.manifests.report import CheckedObject, CheckReport, Verdict
from gpupolicy.reporting.junit_format import check_to_junit, lint_to_junit


def finding(severity: Severity = Severity.ERROR, message: str = "m", **fields: Any) -> LocatedFinding:
    return LocatedFinding(rule="r", severity=severity, field=(), message=message, **{"file": "a.yaml", **fields})


def entry(*findings: LocatedFinding, **fields: Any) -> CheckedObject:
    defaults: dict[str, Any] = {
        "file": "a.yaml",
        "line": 1,
        "api_version": "apps/v1",
        "kind": "Deployment",
        "namespace": "team",
        "name": "serve",
        "verdict": Verdict.ALLOW,
        "reason": "why",
        "pod_spec": ("spec", "template", "spec"),
    }
    return CheckedObject(**{**defaults, **fields}, findings=findings)


def check(
    *entries: CheckedObject, findings: tuple[LocatedFinding, ...] = (), fail_on: Severity = Severity.ERROR
) -> ElementTree.Element:
    report = CheckReport(files=1, object_count=len(entries), objects=entries, findings=findings)
    return ElementTree.fromstring(check_to_junit(report, files=("a.yaml",), fail_on=fail_on))


def outline(element: ElementTree.Element) -> tuple[Any, ...]:
    """An element's tag, attributes, text and children, without the blanks of the layout."""
    text = (element.text or "").strip()
    return element.tag, element.attrib, text, [outline(child) for child in element]


CASE = {"name": "Deployment team/serve spec.template.spec", "classname": "apps/v1 Deployment", "file": "a.yaml"}


def test_a_file_is_a_suite_and_a_pod_is_a_case() -> None:
    (suite,) = check(entry())

    assert outline(suite) == (
        "testsuite",
        {"name": "a.yaml", "failures": "0", "errors": "0", "skipped": "0", "tests": "1"},
        "",
        [("testcase", CASE, "", [])],
    )


def test_a_denial_is_a_failure() -> None:
    (suite,) = check(entry(finding(line=3, column=5), finding(message="n"), verdict=Verdict.DENY))

    text = "a.yaml:3:5: error: m [r]\na.yaml: error: n [r]"
    assert outline(suite[0])[3] == [("failure", {"message": "m", "type": "r"}, text, [])]


@pytest.mark.parametrize(
    ("fail_on", "tag"), [(Severity.ERROR, "system-out"), (Severity.WARNING, "failure")], ids=["error", "warning"]
)
def test_a_warning_fails_only_where_it_is_told_to(fail_on: Severity, tag: str) -> None:
    (suite,) = check(entry(finding(Severity.WARNING), verdict=Verdict.WARN), fail_on=fail_on)

    assert [child.tag for child in suite[0]] == [tag]


def test_what_is_not_judged_is_skipped_and_says_why() -> None:
    (suite,) = check(entry(verdict=Verdict.SKIP, reason="no pod in it"))

    assert outline(suite[0])[3] == [("skipped", {"message": "no pod in it"}, "", [])]


def test_what_cannot_be_read_is_an_error_of_its_file() -> None:
    (suite,) = check(findings=(finding(message="no YAML"),))

    case = {"name": "file", "classname": "file", "file": "a.yaml"}
    error = ("error", {"message": "no YAML", "type": "r"}, "a.yaml: error: no YAML [r]", [])
    assert outline(suite[0]) == ("testcase", case, "", [error])


def test_a_file_with_nothing_in_it_is_a_skipped_case() -> None:
    (suite,) = check()

    assert outline(suite[0])[3] == [("skipped", {"message": "nothing in it"}, "", [])]


def test_the_counts_add_up() -> None:
    root = check(
        entry(finding(), verdict=Verdict.DENY),
        entry(verdict=Verdict.SKIP),
        entry(),
        findings=(finding(file="b.yaml"),),
    )

    assert root.attrib == {"name": "gpupolicy", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("<a> & \"b\" 'c' ]]>", "<a> & \"b\" 'c' ]]>", id="marks-of-xml"),
        pytest.param("größe \U0001f600", "größe \U0001f600", id="beyond-ascii"),
        pytest.param("a\x00b\x1b[31mc", r"a\x00b\x1b[31mc", id="control-characters"),
        pytest.param("a\udcffb\ufffe", r"a\udcffb\ufffe", id="no-characters"),
    ],
)
def test_a_text_survives_the_way_or_is_escaped(text: str, read: str) -> None:
    (suite,) = check(entry(finding(message=text), name=text, verdict=Verdict.DENY))

    assert suite[0].attrib["name"] == f"Deployment team/{read} spec.template.spec"
    assert suite[0][0].attrib["message"] == read


def test_the_text_is_ascii_so_that_no_terminal_spoils_it() -> None:
    report = CheckReport(files=1, object_count=1, objects=(entry(name="größe"),))

    assert "gr&#246;&#223;e" in check_to_junit(report, files=(), fail_on=Severity.ERROR)


def test_a_lint_has_a_suite_with_one_case_for_each_file() -> None:
    text = lint_to_junit([finding(file="b.yaml")], files=("a.yaml", "b.yaml"), fail_on=Severity.ERROR)

    suites = ElementTree.fromstring(text)
    assert [(suite.attrib["name"], suite.attrib["failures"], len(suite)) for suite in suites] == [
        ("a.yaml", "0", 1),
        ("b.yaml", "1", 1),
    ]
