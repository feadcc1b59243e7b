"""``gpupolicy check``: what it prints and how it ends."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import POLICY, Outcome, run


def pod(gpus: int, *, name: str = "a", labels: str = "{}") -> str:
    return (
        "apiVersion: v1\n"
        "kind: Pod\n"
        f"metadata: {{name: {name}, labels: {labels}}}\n"
        "spec:\n"
        "  containers:\n"
        "  - name: c\n"
        f"    resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}\n"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_denied_pod_is_one_line(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(3))

    assert run("check", POLICY, "pod.yaml") == Outcome(
        status=1,
        out=f"pod.yaml:7:42: error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({POLICY}:21); ask for 2 or 4 "
        "[request-size-not-admitted]\n",
        err="1 file, 1 object, 1 pod: 1 denied, 0 with warnings, 0 skipped\n",
    )


def test_an_allowed_pod_is_silent(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(4))

    assert run("check", POLICY, "pod.yaml") == Outcome(
        status=0, out="", err="1 file, 1 object, 1 pod: 0 denied, 0 with warnings, 0 skipped\n"
    )


def test_json_has_the_shape_that_programs_read(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(4))

    assert run("check", POLICY, "pod.yaml", "--format", "json").json == {
        "kind": "CheckReport",
        "objects": [
            {
                "file": "pod.yaml",
                "line": 1,
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": "default",
                "name": "a",
                "podSpec": "spec",
                "gpus": {"nvidia.com/gpu": 4},
                "verdict": "allow",
                "reason": "4 nvidia.com/gpu: slot group SLOT-4, scheduled by gpu-binpack",
                "findings": [],
                "placement": {"gpuTypes": ["V100"], "slotGroups": ["SLOT-4"], "schedulerName": "gpu-binpack"},
            }
        ],
        "findings": [],
        "summary": {"files": 1, "objects": 1, "pods": 1, "denied": 0, "warned": 0, "skipped": 0},
    }


def test_a_finding_in_json_has_its_eight_keys(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(3))

    report = run("check", POLICY, "pod.yaml", "--format", "json").json

    assert report["objects"][0]["findings"] == [
        {
            "rule": "request-size-not-admitted",
            "severity": "error",
            "message": f"the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({POLICY}:21)",
            "hint": "ask for 2 or 4",
            "field": "spec.containers[0].resources.limits[nvidia.com/gpu]",
            "file": "pod.yaml",
            "line": 7,
            "column": 42,
        }
    ]


def test_a_folder_is_checked_in_the_order_of_its_names(folder: Path) -> None:
    (folder / "b.yaml").write_text(pod(3))
    (folder / "a.yaml").write_text(pod(5))

    lines = run("check", POLICY, ".").out.splitlines()

    assert [line.partition(":")[0] for line in lines] == ["a.yaml", "b.yaml"]


def test_standard_input_is_checked() -> None:
    assert run("check", POLICY, "-", stdin=pod(3)).out.startswith("<stdin>:7:42: error: ")


def test_standard_input_is_read_once_only() -> None:
    assert run("check", POLICY, "-", "-").err == "error: - (standard input) can be read once only\n"


def test_the_policy_may_come_from_standard_input(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(3))

    assert run("check", "-", "pod.yaml", stdin=Path(POLICY).read_text()).status == 1


def test_the_namespace_of_objects_without_one_may_be_given() -> None:
    assert run("check", POLICY, "-", "--namespace", "kube-system", stdin=pod(3)).status == 0


@pytest.mark.parametrize(("option", "status"), [((), 0), (("--strict",), 1)], ids=["by-default", "strict"])
def test_warnings_count_only_where_it_is_strict(option: tuple[str, ...], status: int) -> None:
    text = pod(4).replace("spec:\n", "spec:\n  schedulerName: nobody\n")

    assert run("check", POLICY, "-", *option, stdin=text).status == status


@pytest.mark.parametrize("text", ["", "# nothing\n", "replicas: 3\n"], ids=["empty", "comment", "values-of-a-chart"])
def test_nothing_checked_is_no_success(text: str) -> None:
    outcome = run("check", POLICY, "-", stdin=text)

    assert outcome.status == 2
    assert outcome.err.splitlines()[-1] == "error: nothing was checked: no Kubernetes object in -"


def test_an_object_without_a_pod_is_said_aloud_and_is_no_failure() -> None:
    outcome = run("check", POLICY, "-", stdin="{apiVersion: v1, kind: Namespace, metadata: {name: a}}")

    assert outcome == Outcome(status=0, out="", err="1 file, 1 object, 0 pods: 0 denied, 0 with warnings, 1 skipped\n")


@pytest.mark.parametrize("option", [(), ("--strict",)], ids=["plain", "strict"])
def test_a_policy_in_place_of_manifests_is_no_success(option: tuple[str, ...]) -> None:
    outcome = run("check", POLICY, POLICY, *option)

    assert (outcome.status, outcome.err.splitlines()[-1]) == (
        2,
        f"error: nothing was checked: {POLICY} is a policy itself; manifests follow POLICY",
    )


def test_a_policy_beside_manifests_is_passed_over(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(4))

    assert run("check", POLICY, POLICY, "pod.yaml").status == 0


def test_a_manifest_in_place_of_the_policy_is_told_the_order(folder: Path) -> None:
    (folder / "pod.yaml").write_text(pod(4))
    outcome = run("check", "pod.yaml", POLICY)

    assert (outcome.status, "the policy comes first, other files after it [wrong-kind]" in outcome.err) == (2, True)


def test_a_misspelt_resource_is_pointed_at_by_its_key() -> None:
    pod = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    resources:\n"
    outcome = run("check", POLICY, "-", stdin=f"{pod}      limits:\n        nvidia.com/gpus: 4\n")

    assert outcome.out.splitlines()[0].startswith("<stdin>:9:9: ")


def test_what_cannot_be_read_is_told_and_the_rest_is_checked(folder: Path) -> None:
    (folder / "a.yaml").write_text("a: [\n")
    (folder / "b.yaml").write_text(pod(3))

    outcome = run("check", POLICY, ".")

    assert (outcome.status, [line[:6] for line in outcome.out.splitlines()]) == (2, ["a.yaml", "b.yaml"])
    assert outcome.err == "2 files, 1 object, 1 pod: 1 denied, 0 with warnings, 0 skipped, 1 unreadable\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pod(4).encode("utf-16"), id="utf-16"),
        pytest.param(b"\x00\x01\x02", id="binary"),
        pytest.param(b"a: &a [*a]\n", id="an-alias-of-itself"),
        pytest.param(b"[" * 5000, id="nested"),
        pytest.param(b"a: *nobody\n", id="an-alias-of-nothing"),
    ],
)
def test_hostile_input_is_a_finding_and_status_2(data: bytes) -> None:
    outcome = run("check", POLICY, "-", stdin=data)

    assert (outcome.status, outcome.out.startswith("<stdin>:")) == (2, True)


def test_a_key_that_holds_a_line_end_stays_one_line() -> None:
    outcome = run("check", POLICY, "-", stdin=pod(4, labels='{"a\\nb": x}'))

    assert outcome.out.count("\n") == 1


WARNED = pod(4).replace("spec:\n", "spec:\n  schedulerName: nobody\n")
TEMPLATE = "replicas: {{ .Values.replicas }}\n{{- if .Values.gpu }}\n"


@pytest.mark.parametrize(
    ("option", "status"),
    [(("--fail-on", "error"), 0), (("--fail-on", "warning"), 1), (("--strict",), 1)],
    ids=["error", "warning", "strict"],
)
def test_what_fails_may_be_chosen(option: tuple[str, ...], status: int) -> None:
    assert run("check", POLICY, "-", *option, stdin=WARNED).status == status


def test_strict_and_fail_on_exclude_each_other() -> None:
    assert run("check", POLICY, "-", "--strict", "--fail-on", "error").status == 2


def test_quiet_tells_only_what_fails_and_no_summary(folder: Path) -> None:
    (folder / "a.yaml").write_text(WARNED)
    (folder / "b.yaml").write_text(pod(3))

    outcome = run("check", POLICY, ".", "--quiet")

    assert (outcome.status, outcome.out[:7], outcome.out.count("\n"), outcome.err) == (1, "b.yaml:", 1, "")


def test_quiet_and_strict_tell_warnings_too(folder: Path) -> None:
    (folder / "a.yaml").write_text(WARNED)

    assert run("check", POLICY, ".", "--quiet", "--strict").out.startswith("a.yaml:5:18: warning: ")


def test_a_summary_alone_is_the_result(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))

    assert run("check", POLICY, "a.yaml", "--summary") == Outcome(
        status=1, out="1 file, 1 object, 1 pod: 1 denied, 0 with warnings, 0 skipped\n", err=""
    )


def test_a_summary_alone_in_json(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))

    assert run("check", POLICY, "a.yaml", "--summary", "--format", "json").json == {
        "kind": "CheckReport",
        "summary": {"files": 1, "objects": 1, "pods": 1, "denied": 1, "warned": 0, "skipped": 0},
    }


def test_a_format_without_a_summary_refuses_it() -> None:
    outcome = run("check", POLICY, "-", "--summary", "--format", "sarif", stdin=pod(3))

    assert (outcome.status, outcome.err) == (2, "error: --summary goes with --format text or json, not sarif\n")


def test_sarif_names_file_line_and_rule(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))

    (result,) = run("check", POLICY, folder / "a.yaml", "--format", "sarif").json["runs"][0]["results"]

    assert (result["ruleId"], result["locations"][0]["physicalLocation"]) == (
        "request-size-not-admitted",
        {
            "artifactLocation": {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 7, "startColumn": 42},
        },
    )


def test_sarif_of_a_clean_run_has_an_empty_list_of_results(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(4))

    assert run("check", POLICY, "a.yaml", "--format", "sarif").json["runs"][0]["results"] == []


def test_annotations_name_file_line_and_rule(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))

    out = run("check", "-", "a.yaml", "--format", "github", stdin=Path(POLICY).read_text()).out

    assert out == (
        "::error file=a.yaml,line=7,col=42,title=request-size-not-admitted::"
        "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (<stdin>:21); ask for 2 or 4\n"
    )


def test_junit_has_a_case_for_each_pod(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))
    (folder / "b.yaml").write_text("# nothing\n")

    suites = ElementTree.fromstring(run("check", POLICY, ".", "--format", "junit").out)

    assert [(suite.attrib["name"], [case.attrib["name"] for case in suite]) for suite in suites] == [
        ("a.yaml", ["Pod default/a"]),
        ("b.yaml", ["file"]),
    ]


def test_the_source_of_a_template_is_named_and_ends_in_status_2(folder: Path) -> None:
    (folder / "a.yaml").write_text(TEMPLATE)
    (folder / "b.yaml").write_text(pod(4))

    assert run("check", POLICY, ".") == Outcome(
        status=2,
        out="a.yaml:1:11: error: this is the source of a template, not YAML: it was not checked; "
        "render it first, as in: helm template CHART | gpupolicy check POLICY - [template-not-rendered]\n",
        err="2 files, 1 object, 1 pod: 0 denied, 0 with warnings, 0 skipped, 1 unreadable\n",
    )


@pytest.mark.parametrize("text", [TEMPLATE, "a: [\n"], ids=["a-template", "broken-yaml"])
@pytest.mark.parametrize("option", ["--strict", "--quiet"])
def test_what_cannot_be_read_may_be_accepted(text: str, option: str) -> None:
    assert run("check", POLICY, "-", "--allow-unreadable", option, stdin=text).status == 0


def test_accepting_the_unreadable_lets_no_denied_pod_pass(folder: Path) -> None:
    (folder / "a.yaml").write_text(TEMPLATE)
    (folder / "b.yaml").write_text(pod(3))

    assert run("check", POLICY, ".", "--allow-unreadable").status == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("on: [push]\njobs: {}\n", id="a-workflow"),
        pytest.param("- hosts: all\n", id="a-playbook"),
        pytest.param("a: !Ref b\n", id="tags-of-another-tool"),
    ],
)
def test_other_files_may_be_passed_over(text: str) -> None:
    assert run("check", POLICY, "-", "--skip-others", "--strict", stdin=text) == Outcome(
        status=0, out="", err="1 file, 0 objects, 0 pods: 0 denied, 0 with warnings, 0 skipped\n"
    )


def test_passing_over_other_files_hides_no_broken_yaml() -> None:
    assert run("check", POLICY, "-", "--skip-others", stdin="a: [\n").status == 2


@pytest.mark.parametrize("option", ["--old", "--diff"])
def test_only_changes_are_judged_where_the_state_before_is_given(folder: Path, option: str) -> None:
    (folder / "now").mkdir()
    (folder / "before").mkdir()
    (folder / "before" / "a.yaml").write_text(pod(3) + "---\n" + pod(2, name="b"))
    (folder / "now" / "a.yaml").write_text(pod(3) + "---\n" + pod(3, name="b") + "---\n" + pod(5, name="c"))

    outcome = run("check", POLICY, "now", option, "before")

    assert [line.split(":")[1] for line in outcome.out.splitlines()] == ["15", "23"]
    assert outcome.err == "1 file, 3 objects, 3 pods: 2 denied, 0 with warnings, 1 skipped\n"


def test_the_state_before_may_come_from_standard_input(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))

    assert run("check", POLICY, "a.yaml", "--old", "-", stdin=pod(3)).status == 0


def test_standard_input_is_not_read_for_both_states() -> None:
    outcome = run("check", POLICY, "-", "--old", "-", stdin=pod(3))

    assert (outcome.status, outcome.err) == (2, "error: - (standard input) can be read once only\n")


def test_diff_takes_a_folder(folder: Path) -> None:
    (folder / "a.yaml").write_text(pod(3))

    outcome = run("check", POLICY, "a.yaml", "--diff", "a.yaml")

    assert (outcome.status, outcome.err) == (2, "error: a.yaml: --diff takes a folder, and there is none\n")


def test_what_cannot_be_compared_is_told_and_judged_as_new(folder: Path) -> None:
    (folder / "old.yaml").write_text("a: b: c\n")
    (folder / "a.yaml").write_text(pod(3))

    outcome = run("check", POLICY, "a.yaml", "--old", "old.yaml")

    assert (outcome.status, outcome.err.splitlines()[0]) == (
        1,
        "old.yaml:1:5: warning: nothing is compared with this: a second colon stands in the line; quote the text "
        "[yaml-unreadable]",
    )


def test_a_quoted_pattern_stands_for_its_matches(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x" / "a.yaml").write_text(pod(3))
    (folder / "x" / "a.txt").write_text("a: [\n")

    assert run("check", POLICY, "**/*.yaml").err.startswith("1 file, 1 object")


def test_many_files_are_checked_as_few_are(folder: Path) -> None:
    for number in range(120):
        (folder / f"{number:03}.yaml").write_text(pod(3 if number % 7 == 0 else 4, name=f"p{number}"))

    outcome = run("check", POLICY, ".")

    assert [int(line[:3]) for line in outcome.out.splitlines()] == list(range(0, 120, 7))
    assert outcome.err == "120 files, 120 objects, 120 pods: 18 denied, 0 with warnings, 0 skipped\n"
