"""``gpupolicy test``: what it prints and how it ends."""

from __future__ import annotations

from pathlib import Path

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
    assert run("test", "t.yaml", "--format", "json").json == {
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
