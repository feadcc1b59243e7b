"""Reports as JUnit XML, which CI servers show as tests: a suite for each file, a case for each pod or object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gpupolicy.errors import LocatedFinding, Severity, format_field
from gpupolicy.reporting.style import is_failing
from gpupolicy.reporting.text_format import format_finding

if TYPE_CHECKING:  # lint writes findings without loading the rooms of check
    from gpupolicy.manifests.report import CheckedObject, CheckReport
    from gpupolicy.policytests.report import CaseResult, Difference, TestReport


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A test case; ``skipped`` says why nothing was judged."""

    name: str
    kind: str
    findings: tuple[LocatedFinding, ...]
    skipped: str | None = None
    is_unreadable: bool = False


def check_to_junit(report: CheckReport, *, files: Sequence[str], fail_on: Severity) -> str:
    """Returns a check as XML.

    Args:
        report: the check.
        files: all files that were read, in order; one without anything in it gets a case of its own.
        fail_on: findings that weigh at least this much are failures, others stand in the case's output.
    """
    cases: dict[str, list[_Case]] = {file: [] for file in files}
    for entry in report.objects:
        cases.setdefault(entry.file, []).append(_case_of(entry))
    loose: dict[str, list[LocatedFinding]] = {}
    for finding in report.findings:
        loose.setdefault(finding.file or "", []).append(finding)
    for file, findings in loose.items():
        cases.setdefault(file, []).append(_case_of_file(tuple(findings)))
    for listed in cases.values():
        if not listed:
            listed.append(_Case(name="file", kind="file", findings=(), skipped="nothing in it"))
    return _write(cases, fail_on)


def lint_to_junit(findings: Iterable[LocatedFinding], *, files: Sequence[str], fail_on: Severity) -> str:
    """Returns a lint as XML: a suite with one case for each file. ``files`` and ``fail_on`` as for a check."""
    found: dict[str, list[LocatedFinding]] = {file: [] for file in files}
    for finding in findings:
        found.setdefault(finding.file or "", []).append(finding)
    cases = {file: [_Case(name="lint", kind="lint", findings=tuple(listed))] for file, listed in found.items()}
    return _write(cases, fail_on)


def nodes_to_junit(
    findings: Iterable[LocatedFinding], *, nodes: Iterable[str], names: Sequence[str], suite: str
) -> str:
    """Returns findings about nodes as XML: one suite, a case for each node.

    Args:
        findings: what was found; errors and warnings are failures.
        nodes: the node of each finding.
        names: all nodes, in order.
        suite: where the nodes come from.
    """
    found: dict[str, list[LocatedFinding]] = {name: [] for name in names}
    for node, finding in zip(nodes, findings, strict=True):
        found.setdefault(node, []).append(finding)
    cases = [_Case(name=name, kind="v1 Node", findings=tuple(listed)) for name, listed in found.items()]
    return _write({suite: cases}, Severity.WARNING)


def tests_to_junit(report: TestReport) -> str:
    """Returns a run of policy tests as XML: a suite for each file, a case for each case; differences are failures."""
    cases: dict[str, list[_Case]] = {}
    for result in report.results:
        differences = tuple(_finding_of(result, difference) for difference in result.differences)
        case = _Case(name=result.case.name, kind=result.test, findings=differences)
        cases.setdefault(result.file, []).append(case)
    for finding in report.findings:
        unreadable = _Case(name="file", kind="file", findings=(finding,), is_unreadable=True)
        cases.setdefault(finding.file or "", []).append(unreadable)
    return _write(cases, Severity.ERROR)


def _finding_of(result: CaseResult, difference: Difference) -> LocatedFinding:
    told = f"{difference.what}: expected {difference.expected}, got {difference.got}"
    return LocatedFinding(
        rule="policy-test-failed",
        severity=Severity.ERROR,
        field=(),
        message="\n".join((told, *difference.diff)),
        file=result.file,
        line=result.case.line,
        column=result.case.column,
    )


def _case_of(entry: CheckedObject) -> _Case:
    name = "/".join(part for part in (entry.namespace, entry.name) if part) or "without a name"
    inside = f" {format_field(entry.pod_spec)}" if entry.pod_spec not in (None, ("spec",)) else ""
    return _Case(
        name=f"{entry.kind or 'object'} {name}{inside}",
        kind=f"{entry.api_version or '-'} {entry.kind or '-'}",
        findings=entry.findings,
        skipped=entry.reason if entry.verdict == "skip" else None,
    )


def _case_of_file(findings: tuple[LocatedFinding, ...]) -> _Case:
    is_unreadable = any(finding.severity is Severity.ERROR for finding in findings)
    skipped = None if is_unreadable else findings[0].message
    return _Case(name="file", kind="file", findings=findings, skipped=skipped, is_unreadable=is_unreadable)


def _write(cases: dict[str, list[_Case]], fail_on: Severity) -> str:
    root = ElementTree.Element("testsuites", name="gpupolicy")
    suites = [_add_suite(root, file, listed, fail_on) for file, listed in cases.items()]
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_suite(root: ElementTree.Element, file: str, cases: list[_Case], fail_on: Severity) -> ElementTree.Element:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(file))
    for case in cases:
        _add_case(suite, file, case, fail_on)
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(cases)))
    return suite


def _add_case(suite: ElementTree.Element, file: str, case: _Case, fail_on: Severity) -> None:
    element = ElementTree.SubElement(
        suite, "testcase", name=_clean(case.name), classname=_clean(case.kind), file=_clean(file)
    )
    failing = [finding for finding in case.findings if is_failing(finding, fail_on)]
    others = [finding for finding in case.findings if not is_failing(finding, fail_on)]
    if failing:
        tag = "error" if case.is_unreadable else "failure"
        failure = ElementTree.SubElement(element, tag, message=_clean(failing[0].message), type=failing[0].rule)
        failure.text = _clean("".join(_lines(failing)))
    elif case.skipped is not None:
        ElementTree.SubElement(element, "skipped", message=_clean(case.skipped))
    if others:
        ElementTree.SubElement(element, "system-out").text = _clean("".join(_lines(others)))


def _lines(findings: Iterable[LocatedFinding]) -> Iterator[str]:
    return (f"{format_finding(finding)}\n" for finding in findings)


def _clean(text: str) -> str:
    """Returns a text that XML 1.0 can hold: other characters as Python writes them."""
    return "".join(c if _is_xml(c) else c.encode("unicode_escape").decode("ascii") for c in text)


def _is_xml(character: str) -> bool:
    return (
        character in "\t\n\r"
        or " " <= character <= "\ud7ff"
        or "\ue000" <= character <= "\ufffd"
        or character >= "\U00010000"
    )
