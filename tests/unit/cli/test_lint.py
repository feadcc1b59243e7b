"""``gpupolicy lint``: what it prints and how it ends; the rules have tests of their own."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import POLICY, run

GOOD = Path(POLICY).read_text()


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A policy with one error."""
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("gpusPerNode: 8", "gpusPerNode: 2000"))
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


def test_a_policy_of_another_version_is_told_in_a_folder_too(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(GOOD.replace("v1alpha1", "v9"))
    (tmp_path / "q.yaml").write_text(GOOD)

    outcome = run("lint", tmp_path)

    assert (outcome.status, outcome.out) == (
        1,
        f"{tmp_path}/p.yaml:1:13: error: apiVersion is gpupolicy.dev/v9; expected is gpupolicy.dev/v1alpha1 "
        "[wrong-kind]\n",
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("kind: Deployment\napiVersion: apps/v1\n", id="a-manifest"),
        pytest.param("on: [push]\njobs: {a: !Ref b}\n", id="a-workflow"),
        pytest.param("- hosts: all\n", id="a-playbook"),
        pytest.param("a: {{ .Values.a }}\n", id="the-source-of-a-template"),
    ],
)
def test_other_files_may_be_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)

    outcome = run("lint", tmp_path / "a.yaml", "--skip-others", "--strict")

    assert (outcome.status, outcome.out) == (0, "")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("a: [\n", 2, id="broken-yaml"),
        pytest.param(GOOD.replace("v1alpha1", "v9"), 1, id="a-policy-of-another-version"),
        pytest.param(GOOD.replace("gpusPerNode: 8", "gpusPerNode: 2000"), 1, id="a-policy-with-an-error"),
        pytest.param(f"{GOOD}---\non: [push]\n", 1, id="a-policy-in-bad-company"),
    ],
)
def test_passing_over_other_files_hides_nothing_that_is_for_lint(tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "a.yaml").write_text(text)

    assert run("lint", tmp_path / "a.yaml", "--skip-others").status == status


def test_quiet_tells_only_what_fails_and_no_summary(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("spec:\n", "spec:\n  labels: {guard: false}\n", 1))

    outcome = run("lint", path, "--quiet")

    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


def test_a_summary_alone_is_the_result(bad: Path) -> None:
    outcome = run("lint", bad, "--summary")

    assert (outcome.status, outcome.out, outcome.err) == (1, "1 file: 1 error, 0 warnings\n", "")


def test_sarif_names_file_line_and_rule(bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bad.parent)

    run_of_sarif = run("lint", "p.yaml", "--format", "sarif").json["runs"][0]

    (result,) = run_of_sarif["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 20}
    assert run_of_sarif["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_annotations_name_file_and_line(bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bad.parent)

    assert run("lint", "p.yaml", "--format", "github").out.startswith("::error file=p.yaml,line=7,col=20,title=")


def test_junit_has_a_case_for_each_file(bad: Path) -> None:
    suites = ElementTree.fromstring(run("lint", bad, POLICY, "--format", "junit").out)

    assert [(suite.attrib["name"], suite.attrib["failures"]) for suite in suites] == [(str(bad), "1"), (POLICY, "0")]


def test_a_good_configuration_beside_another_kind_on_standard_input_counts_as_judged() -> None:
    folder = Path(__file__).parents[2] / "rules-foreign" / "webhook-wait-long"
    other = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n"

    outcome = run("lint", "-", stdin=other + (folder / "good.yaml").read_text())

    assert (outcome.status, outcome.err) == (0, "1 file: 0 errors, 1 warning\n")


@pytest.mark.parametrize("option", ["--nodes", "--policy"])
def test_a_second_file_of_an_option_that_takes_one_is_refused_and_not_lost(option: str) -> None:
    outcome = run("lint", POLICY, option, "a.yaml", option, "b.yaml")

    assert (outcome.status, outcome.err) == (2, f"error: {option} takes one file, 2 are given\n")
