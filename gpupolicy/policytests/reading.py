"""Reads policy tests; whatever is wrong with one is told by its place, and the others still run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any

from gpupolicy.admission.door import OPERATIONS
from gpupolicy.errors import FieldPath, Finding, InputError, LocatedFinding, Part, Severity
from gpupolicy.loading.documents import Document, read_file
from gpupolicy.loading.policy_document import GROUP, TEST_KIND
from gpupolicy.loading.shape import show_value
from gpupolicy.manifests.objects import read_content
from gpupolicy.manifests.report import Verdict
from gpupolicy.model import API_VERSION, KIND
from gpupolicy.policytests.report import Case, Expectation, JSONMap, PolicyTest
from gpupolicy.suggestions import find_nearest, hint_known

RULE = "policy-test-not-readable"

_TEST_KEYS = ("apiVersion", "kind", "metadata", "policy", "cases")
_CASE_KEYS = (
    "name",
    "operation",
    "object",
    "file",
    "oldObject",
    "oldFile",
    "namespace",
    "namespaceLabels",
    "username",
    "now",
    "subresource",
    "final",
    "expect",
)
_EXPECT_KEYS = ("verdict", "rules", "placement", "gpus", "mutated", "mutatedExactly")
_UNCHANGED = "unchanged"
_PLACEMENT_KEYS = ("slotGroups", "gpuTypes", "schedulerName")


class _ShapeError(Exception):
    """A part of a test that cannot be read."""

    def __init__(self, path: FieldPath, message: str, hint: str | None = None, part: Part = Part.VALUE) -> None:
        super().__init__(message)
        self.finding = Finding(rule=RULE, severity=Severity.ERROR, field=path, message=message, hint=hint, part=part)


@dataclass(slots=True)
class TestReading:
    """The tests of a file, and what could not be read."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    tests: list[PolicyTest] = field(default_factory=list)
    findings: list[LocatedFinding] = field(default_factory=list)


def read_tests(path: str) -> TestReading:
    """Reads the policy tests of a file; documents of other kinds are left aside.

    Args:
        path: the file; paths inside of it count from its folder.

    Raises:
        InputError: the file cannot be opened.
    """
    reading = TestReading()
    for document in read_file(path):
        if not document.readable:
            reading.findings.extend(document.findings)
        elif isinstance(document.value, Mapping):
            if document.value.get("kind") == TEST_KIND:
                _read_document(document, document.value, reading)
            elif _is_misspelt(document.value):
                found = _ShapeError(("kind",), f"kind is {document.value['kind']}; expected is {TEST_KIND}").finding
                reading.findings.append(document.locate(found))
    return reading


def _is_misspelt(value: JSONMap) -> bool:
    """Returns whether a document was meant to be a policy test, by its API group and its kind."""
    is_ours = str(value.get("apiVersion")).partition("/")[0] == GROUP
    return is_ours and find_nearest(str(value.get("kind")), (KIND, TEST_KIND)) == TEST_KIND


def _read_document(document: Document, value: JSONMap, reading: TestReading) -> None:
    errors = [finding for finding in document.findings if finding.severity is Severity.ERROR]
    if errors:
        reading.findings.extend(errors)
        return
    try:
        test, problems = _read_test(document, value)
    except _ShapeError as error:
        reading.findings.append(document.locate(error.finding))
        return
    reading.findings.extend(document.locate(problem) for problem in problems)
    reading.tests += [test] if test.cases else []


def _read_test(document: Document, value: JSONMap) -> tuple[PolicyTest, list[Finding]]:
    """Returns the test with the cases that can be read, and what is wrong with the others."""
    _check_keys(value, _TEST_KEYS, ())
    if value.get("apiVersion") != API_VERSION:
        raise _ShapeError(("apiVersion",), f"apiVersion is {value.get('apiVersion')}, {API_VERSION} is expected")
    policy = _text(value, "policy", ())
    cases = _typed(value.get("cases"), list, ("cases",), "a list of cases")
    if policy is None or not cases:
        raise _ShapeError((), "a test names a policy, and has at least one case")
    metadata = _mapping(value.get("metadata", {}), ("metadata",))
    readable: list[Case] = []
    problems: list[Finding] = []
    for index, case in enumerate(cases):
        try:
            readable.append(_read_case(document, case, ("cases", index)))
        except _ShapeError as error:
            problems.append(error.finding)
    test = PolicyTest(
        name=_text(metadata, "name", ("metadata",)) or os.path.basename(document.file),
        file=document.file,
        policy=_beside(document.file, policy),
        cases=tuple(readable),
    )
    return test, problems


def _read_case(document: Document, value: object, path: FieldPath) -> Case:
    case = _mapping(value, path)
    _check_keys(case, _CASE_KEYS, path)
    line, column = document.place(path)
    return Case(
        name=_text(case, "name", path) or f"case {line}",
        line=line,
        column=column,
        object=_read_object(document.file, case, path),
        old_object=_read_old(document.file, case, path),
        expect=_read_expectation(_mapping(case.get("expect"), (*path, "expect")), (*path, "expect")),
        operation=_read_operation(case, path),
        namespace=_text(case, "namespace", path),
        namespace_labels=_labels(case.get("namespaceLabels", {}), (*path, "namespaceLabels")),
        username=_text(case, "username", path),
        now=_moment(case.get("now"), (*path, "now")),
        subresource=_text(case, "subresource", path) or "",
        final=_typed(case.get("final", False), bool, (*path, "final"), "true or false"),
    )


def _read_operation(case: JSONMap, path: FieldPath) -> str:
    operation = _text(case, "operation", path) or "CREATE"
    if operation not in OPERATIONS:
        hint = hint_known(operation, OPERATIONS)
        raise _ShapeError((*path, "operation"), f'there is no operation "{operation}"', hint)
    return operation


def _read_object(test_file: str, case: JSONMap, path: FieldPath) -> JSONMap:
    if ("object" in case) == ("file" in case):
        raise _ShapeError(path, "a case has either an object or a file")
    if "object" in case:
        return _mapping(case["object"], (*path, "object"))
    return _read_object_file(test_file, case, "file", path)


def _read_old(test_file: str, case: JSONMap, path: FieldPath) -> JSONMap | None:
    if "oldObject" in case and "oldFile" in case:
        raise _ShapeError(path, "a case has an oldObject or an oldFile, not both")
    if case.get("oldFile") is not None:
        return _read_object_file(test_file, case, "oldFile", path)
    return None if case.get("oldObject") is None else _mapping(case["oldObject"], (*path, "oldObject"))


def _read_object_file(test_file: str, case: JSONMap, key: str, path: FieldPath) -> JSONMap:
    file = _beside(test_file, str(_text(case, key, path)))
    try:
        objects = [item for document in read_file(file) for item in read_content(document).objects]
    except InputError as error:
        raise _ShapeError((*path, key), error.message) from error
    if len(objects) != 1:
        raise _ShapeError((*path, key), f"{file} has {len(objects)} objects, one is expected")
    return objects[0].value


def _read_expectation(value: JSONMap, path: FieldPath) -> Expectation:
    _check_keys(value, _EXPECT_KEYS, path)
    if not value:
        raise _ShapeError(path, "the case expects nothing", f"known are {', '.join(_EXPECT_KEYS)}")
    verdict = value.get("verdict")
    if verdict is not None and verdict not in list(Verdict):
        hint = hint_known(str(verdict), Verdict)
        raise _ShapeError((*path, "verdict"), f"there is no verdict {show_value(verdict)}", hint)
    rules = value.get("rules")
    placement = value.get("placement")
    if placement is not None:
        _check_placement(_mapping(placement, (*path, "placement")), (*path, "placement"))
    mutated, exactly = value.get("mutated"), value.get("mutatedExactly")
    return Expectation(
        verdict=Verdict(verdict) if isinstance(verdict, str) else None,
        rules=None if rules is None else tuple(map(str, _typed(rules, list, (*path, "rules"), "a list of rule ids"))),
        placement=None if placement is None else _mapping(placement, path),
        is_unplaced="placement" in value and placement is None,
        gpus=_amounts(value.get("gpus"), (*path, "gpus")),
        mutated=None if mutated in (None, _UNCHANGED) else _mapping(mutated, (*path, "mutated")),
        mutated_exactly=None if exactly is None else _mapping(exactly, (*path, "mutatedExactly")),
        is_unchanged=mutated == _UNCHANGED,
    )


def _check_placement(value: JSONMap, path: FieldPath) -> None:
    _check_keys(value, _PLACEMENT_KEYS, path)
    for key in (key for key in ("gpuTypes", "slotGroups") if key in value):
        for index, name in enumerate(_typed(value[key], list, (*path, key), "a list of names")):
            _typed(name, str, (*path, key, index), "a name")


def _check_keys(value: JSONMap, known: tuple[str, ...], path: FieldPath) -> None:
    for key in value:
        if key not in known:
            raise _ShapeError((*path, key), f"there is no field {key} here", hint_known(key, known), Part.KEY)


def _mapping(value: object, path: FieldPath) -> JSONMap:
    found: JSONMap = _typed(value, dict, path, "a mapping")
    return found


def _text(value: JSONMap, key: str, path: FieldPath) -> str | None:
    if value.get(key) is None:
        return None
    found: str = _typed(value[key], str, (*path, key), "a text")
    return found


def _labels(value: object, path: FieldPath) -> Mapping[str, str]:
    return {key: _typed(entry, str, (*path, key), "a text") for key, entry in _mapping(value, path).items()}


def _amounts(value: object, path: FieldPath) -> Mapping[str, int] | None:
    if value is None:
        return None
    return {key: _typed(entry, int, (*path, key), "a whole number") for key, entry in _mapping(value, path).items()}


def _moment(value: object, path: FieldPath) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.combine(date.fromisoformat(str(value)), time(12), UTC)
    except ValueError:
        raise _ShapeError(path, f"now is {value}, a day such as 2027-01-31 is expected") from None


def _typed(value: object, kind: type, path: FieldPath, expected: str) -> Any:
    if type(value) is not kind:
        raise _ShapeError(path, f"{expected} is expected here")
    return value


def _beside(file: str, path: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(file), path))
