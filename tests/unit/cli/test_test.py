"""``gpupolicy test``: what it prints and how it ends."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import POLICY, Outcome, run

TEST = f"""\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicyTest
metadata: {{name: sizes}}
policy: {POLICY}
cases:
- name: three GPUs are denied
  object:
    apiVersion: v1
    kind: Pod
    spec: {{containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: 3}}}}}}]}}
  expect: {{verdict: deny}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test file in a working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.yaml"
    path.write_text(TEST)
    return path


@pytest.mark.usefixtures("file")
def test_a_passed_test_is_silent() -> None:
    assert run("test", "t.yaml") == Outcome(status=0, out="", err="1 test, 1 case: 1 passed, 0 failed\n")


def test_a_failed_case_shows_what_was_expected_and_what_came(file: Path) -> None:
    file.write_text(TEST.replace("verdict: deny", "verdict: allow"))

    assert run("test", "t.yaml") == Outcome(
        status=1,
        out="t.yaml:6:3: error: case three GPUs are denied: verdict: expected allow, got deny "
        f"(the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({POLICY}:21) [request-size-not-admitted]) "
        "[policy-test-failed]\n",
        err="1 test, 1 case: 0 passed, 1 failed\n",
    )


@pytest.mark.usefixtures("file")
def test_a_folder_is_searched() -> None:
    assert run("test", ".").status == 0


@pytest.mark.usefixtures("file")
def test_json_has_a_row_for_each_case() -> None:
    report = run("test", "t.yaml", "--format", "json").json

    assert {key: value for key, value in report.items() if key != "coverage"} == {
        "kind": "TestReport",
        "cases": [
            {
                "test": "sizes",
                "case": "three GPUs are denied",
                "file": "t.yaml",
                "line": 6,
                "passed": True,
                "differences": [],
            }
        ],
        "findings": [],
        "summary": {"tests": 1, "cases": 1, "passed": 1, "failed": 0},
    }


def test_a_test_that_cannot_run_is_status_2(file: Path) -> None:
    file.write_text(TEST.replace("verdict", "verdikt"))

    assert run("test", "t.yaml") == Outcome(
        status=2,
        out="t.yaml:11:12: error: there is no field verdikt here; did you mean verdict [policy-test-not-readable]\n",
        err="0 tests, 0 cases: 0 passed, 0 failed\n",
    )


def test_no_test_at_all_is_no_success() -> None:
    outcome = run("test", POLICY)

    assert (outcome.status, outcome.err.splitlines()[-1]) == (2, f"error: no policy test was found in {POLICY}")


def test_coverage_names_the_parts_that_no_case_has_to_do_with(file: Path) -> None:
    out = run("test", "t.yaml", "--coverage").out

    assert out.splitlines()[0] == f"{POLICY}: 0 % covered by 1 case"
    assert f"  slot groups     0 of 4   without SLOT-1 ({POLICY}:10)" in out


def test_coverage_is_in_the_json_whether_it_is_asked_for_or_not(file: Path) -> None:
    (coverage,) = run("test", "t.yaml", "--format", "json").json["coverage"]

    assert (coverage["policy"], coverage["cases"], coverage["percent"], coverage["rules"]) == (
        POLICY,
        1,
        0,
        {"request-size-not-admitted": 1},
    )
    assert coverage["parts"][0] == {"about": "GPU type", "name": "V100", "place": f"{POLICY}:6", "cases": 0}


def test_too_little_coverage_is_exit_status_1(file: Path) -> None:
    outcome = run("test", "t.yaml", "--fail-under", "50")

    assert (outcome.status, outcome.err.splitlines()[1]) == (1, f"{POLICY} is covered by 0 %, 50 % are asked for")


def test_a_percentage_that_cannot_be_is_wrong_usage(file: Path) -> None:
    assert run("test", "t.yaml", "--fail-under", "101").status == 2


def test_a_failing_mutation_shows_its_diff(file: Path) -> None:
    file.write_text(TEST.replace("gpu: 3", "gpu: 4").replace("verdict: deny", "mutated: {spec: {schedulerName: x}}"))

    assert run("test", "t.yaml").out.splitlines()[1:] == [
        "    --- expected",
        "    +++ got",
        "    @@ -1,2 +1,2 @@",
        "     spec:",
        "    -  schedulerName: x",
        "    +  schedulerName: gpu-binpack",
    ]


def test_junit_has_a_case_for_each_case_and_the_diff_of_a_failure(file: Path) -> None:
    file.write_text(TEST.replace("gpu: 3", "gpu: 4").replace("verdict: deny", "mutated: {spec: {schedulerName: x}}"))

    suites = ElementTree.fromstring(run("test", "t.yaml", "--format", "junit").out)

    (failure,) = suites.iterfind("testsuite/testcase[@name='three GPUs are denied']/failure")
    assert (suites.get("tests"), suites.get("failures")) == ("1", "1")
    assert "+  schedulerName: gpu-binpack" in str(failure.text)


def test_junit_tells_a_test_that_cannot_run_as_an_error(file: Path) -> None:
    file.write_text(TEST.replace("verdict: deny", "verdict: no"))

    outcome = run("test", "t.yaml", "--format", "junit")

    assert (outcome.status, ElementTree.fromstring(outcome.out).get("errors")) == (2, "1")
