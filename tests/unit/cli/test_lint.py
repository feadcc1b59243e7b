"""``gpupolicy lint``: what it prints and how it ends; the rules have tests of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import POLICY, run

GOOD = Path(POLICY).read_text()


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A policy with one error."""
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("gpusPerNode: 8", "gpusPerNode: 0"))
    return path


def test_a_finding_is_one_line_and_ends_in_status_1(bad: Path) -> None:
    outcome = run("lint", bad)

    assert (outcome.status, outcome.out.startswith(f"{bad}:7:20: error: ")) == (1, True)


def test_the_summary_goes_to_standard_error(bad: Path) -> None:
    assert run("lint", bad).err == "1 file: 1 error, 0 warnings\n"


def test_json_has_the_shape_that_programs_read(bad: Path) -> None:
    report = run("lint", bad, "--format", "json").json

    (finding,) = report.pop("findings")
    assert report == {"kind": "LintReport", "summary": {"files": 1, "errors": 1, "warnings": 0}}
    assert sorted(finding) == ["column", "field", "file", "hint", "line", "message", "rule", "severity"]
    assert (finding["field"], finding["line"], finding["column"]) == ("spec.gpuTypes[0].gpusPerNode", 7, 20)


def test_standard_input_is_read(bad: Path) -> None:
    assert run("lint", "-", stdin=bad.read_text()).out.startswith("<stdin>:7:20: error: ")


def test_several_files_are_judged_and_counted(bad: Path) -> None:
    outcome = run("lint", POLICY, bad)

    assert (outcome.status, outcome.err.split(":")[0]) == (1, "2 files")


def test_a_text_that_is_no_yaml_is_unreadable_input(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("a: [\n")

    assert run("lint", tmp_path / "p.yaml").status == 2


@pytest.mark.parametrize("text", ["", "kind: Deployment\napiVersion: apps/v1\n"], ids=["empty", "another-kind"])
def test_nothing_judged_is_no_success(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)

    outcome = run("lint", path)

    assert outcome.status == 2
    assert outcome.err.splitlines()[-1] == f"error: nothing was judged: no policy or configuration in {path}"


def test_manifests_beside_the_policies_of_a_folder_are_not_remarked_on(bad: Path) -> None:
    (bad.parent / "m.yaml").write_text("kind: Deployment\napiVersion: apps/v1\n")

    outcome = run("lint", bad.parent)

    assert (outcome.status, outcome.out.count("\n")) == (1, 1)


def test_strict_makes_warnings_count(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("spec:\n", "spec:\n  labels: {guard: false}\n", 1))

    assert (run("lint", path).status, run("lint", path, "--strict").status) == (0, 1)
