"""The policies that ship: nothing to remark about them, and tests of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpupolicy.linting import lint_text
from gpupolicy.loading import load, load_text
from gpupolicy.policytests.reading import read_tests
from gpupolicy.policytests.running import run_tests
from gpupolicy.resources import iter_names, read_text

POLICIES = Path(__file__).parents[2] / "policies"
NAMES = tuple(iter_names("policies"))


def test_the_policies_of_the_design_ship() -> None:
    assert NAMES == (
        "classic.yaml",
        "mig.yaml",
        "mixed-fleet.yaml",
        "multi-tenant.yaml",
        "packing.yaml",
        "reserve.yaml",
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_policy_lints_without_a_word(name: str) -> None:
    assert lint_text(read_text("policies", name), name, now=datetime(2026, 12, 1, tzinfo=UTC)) == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_policy_is_called_as_its_file(name: str) -> None:
    assert load_text(read_text("policies", name)).name == name.removesuffix(".yaml")


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_policy_has_at_least_six_cases(name: str) -> None:
    folder = POLICIES / "tests" / name.removesuffix(".yaml")
    readings = [read_tests(str(path)) for path in sorted(folder.glob("*.yaml"))]

    assert [finding for reading in readings for finding in reading.findings] == []
    assert sum(len(test.cases) for reading in readings for test in reading.tests) >= 6


def test_the_shipped_policies_answer_as_their_tests_say() -> None:
    files = [str(path) for path in sorted((POLICIES / "tests").rglob("*.yaml"))]

    report = run_tests(files, load)

    assert [difference for result in report.results for difference in result.differences] == []
    assert report.findings == ()


def test_the_tests_of_the_shipped_policies_leave_no_part_of_them_out() -> None:
    files = [str(path) for path in sorted((POLICIES / "tests").rglob("*.yaml"))]

    assert {coverage.policy: coverage.percent for coverage in run_tests(files, load).coverage} == {
        str(POLICIES / name): 100 for name in NAMES
    }
