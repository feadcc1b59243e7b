"""Policy tests: what is compared, and what a difference says."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import POLICY

from gpupolicy.loading import load
from gpupolicy.policytests.report import TestReport
from gpupolicy.policytests.running import run_tests

POD = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: %d}}}]}}"


@pytest.fixture
def judge(tmp_path: Path) -> object:
    """Runs one case, written as YAML."""

    def run(case: str, policy: str = POLICY) -> TestReport:
        path = tmp_path / "t.yaml"
        head = f"apiVersion: gpupolicy.dev/v1alpha1\nkind: GPUPolicyTest\nmetadata: {{name: t}}\npolicy: {policy}\n"
        path.write_text(f"{head}cases:\n- {case}\n")
        return run_tests([str(path)], load)

    return run


def case(gpus: int, expect: str, more: str = "") -> str:
    return f"{{name: c, object: {POD % gpus}, {more}expect: {expect}}}"


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(case(4, "{verdict: allow}"), id="allow"),
        pytest.param(case(3, "{verdict: deny, rules: [request-size-not-admitted]}"), id="deny"),
        pytest.param(case(0, "{verdict: skip}"), id="skip"),
        pytest.param(case(0, "{verdict: allow}"), id="what-is-skipped-is-not-in-the-way"),
        pytest.param(case(3, "{verdict: skip}", "namespace: kube-system, "), id="namespace"),
        pytest.param(case(4, "{gpus: {nvidia.com/gpu: 4}}"), id="gpus"),
        pytest.param(case(4, "{placement: {slotGroups: [SLOT-4], gpuTypes: [V100]}}"), id="placement"),
        pytest.param(case(3, "{placement: null}"), id="no-placement"),
        pytest.param(case(3, "{verdict: skip}", "operation: DELETE, "), id="operation"),
        pytest.param(case(3, "{verdict: skip}", f"operation: UPDATE, oldObject: {POD % 3}, "), id="unchanged"),
        pytest.param(case(4, "{rules: []}"), id="no-rules"),
        pytest.param(case(4, "{mutated: {spec: {schedulerName: gpu-binpack}}}"), id="mutated-in-part"),
        pytest.param(case(4, "{mutated: {spec: {nodeName: null}}}"), id="mutated-without"),
        pytest.param(case(4, "{mutated: {spec: {containers: [{name: c}]}}}"), id="mutated-list"),
        pytest.param(case(0, "{mutated: unchanged}"), id="unchanged"),
        pytest.param(case(0, f"{{mutatedExactly: {POD % 0}}}"), id="mutated-exactly"),
        pytest.param(case(3, "{verdict: skip}", "operation: UPDATE, subresource: resize, "), id="subresource"),
        pytest.param(case(4, "{rules: [pod-not-routed]}", "final: true, "), id="final"),
    ],
)
def test_a_right_answer_passes(judge, question: str) -> None:  # type: ignore[no-untyped-def]
    report = judge(question)

    assert ([result.differences for result in report.results], report.findings) == ([()], ())


@pytest.mark.parametrize(
    ("question", "difference"),
    [
        pytest.param(
            case(4, "{verdict: deny}"),
            ("verdict", "deny", "allow (4 nvidia.com/gpu: slot group SLOT-4, scheduled by gpu-binpack)"),
            id="verdict",
        ),
        pytest.param(case(3, "{rules: []}"), ("rules", "none", "request-size-not-admitted"), id="rules"),
        pytest.param(case(4, "{gpus: {}}"), ("gpus", "none", "4 nvidia.com/gpu"), id="gpus"),
        pytest.param(
            case(4, "{placement: {slotGroups: [SLOT-8]}}"), ("placement.slotGroups", "SLOT-8", "SLOT-4"), id="groups"
        ),
        pytest.param(
            case(3, "{placement: {schedulerName: x}}"), ("placement.schedulerName", "x", "none"), id="scheduler"
        ),
        pytest.param(case(4, "{placement: null}"), ("placement", "none", "SLOT-4"), id="placement"),
        pytest.param(
            "{name: c, object: {kind: Namespace, apiVersion: v1}, expect: {verdict: deny}}",
            ("verdict", "deny", "skip (no pod in the object)"),
            id="no-pod",
        ),
    ],
)
def test_a_wrong_answer_is_told(judge, question: str, difference: tuple[str, str, str]) -> None:  # type: ignore[no-untyped-def]
    (result,) = judge(question).results

    assert [(d.what, d.expected, d.got) for d in result.differences] == [difference]


def test_the_strictest_verdict_of_a_workload_s_pods_counts(judge) -> None:  # type: ignore[no-untyped-def]
    replicas = ", ".join(f"{name}: {{template: {POD % gpus}}}" for name, gpus in (("Master", 8), ("Worker", 3)))
    job = f"{{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {{pytorchReplicaSpecs: {{{replicas}}}}}}}"

    report = judge(f"{{name: c, object: {job}, expect: {{verdict: deny}}}}")

    assert report.failed == 0


def test_an_object_may_stand_in_a_file_beside_the_test(judge, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pod.yaml").write_text(POD % 3)

    assert judge("{name: c, file: pod.yaml, expect: {verdict: deny}}").failed == 0


@pytest.mark.parametrize(
    ("question", "message"),
    [
        pytest.param("{name: c, expect: {verdict: deny}}", "a case has either an object or a file", id="no-object"),
        pytest.param(case(3, "{}"), "the case expects nothing", id="nothing-expected"),
        pytest.param(case(3, "{verdict: no-way}"), 'there is no verdict "no-way"', id="verdict"),
        pytest.param(case(3, "{verdict: deny}", "operatoin: UPDATE, "), "there is no field operatoin here", id="key"),
        pytest.param(case(3, "{gpus: {a: many}}"), "a whole number is expected here", id="type"),
        pytest.param(
            case(3, "{verdict: deny}", "now: soon, "), "now is soon, a day such as 2027-01-31 is expected", id="day"
        ),
        pytest.param("[]", "a mapping is expected here", id="no-mapping"),
        pytest.param(
            case(3, "{verdict: allow}", "operation: create, "), 'there is no operation "create"', id="operation"
        ),
        pytest.param(case(4, "{placement: {slotGroups: SLOT-4}}"), "a list of names is expected here", id="one-group"),
        pytest.param(case(4, "{placement: {gpuTypes: [8]}}"), "a name is expected here", id="number-as-type"),
    ],
)
def test_a_case_that_cannot_be_read_is_a_finding(judge, question: str, message: str) -> None:  # type: ignore[no-untyped-def]
    report = judge(question)

    assert ([finding.message for finding in report.findings], report.results) == ([message], ())


def test_every_case_that_cannot_be_read_is_told_and_the_others_run(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(f"{case(3, '{verdict: denied}')}\n- {case(3, '{verdikt: deny}')}\n- {case(3, '{verdict: deny}')}")

    assert [(finding.message, finding.hint) for finding in report.findings] == [
        ('there is no verdict "denied"', "did you mean deny"),
        ("there is no field verdikt here", "did you mean verdict"),
    ]
    assert (len(report.results), report.failed) == (1, 0)


def test_a_misspelt_kind_of_test_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("apiVersion: gpupolicy.dev/v1alpha1\nkind: GpuPolicyTest\n")

    (finding,) = run_tests([str(path)], load).findings

    assert (finding.line, finding.message) == (2, "kind is GpuPolicyTest; expected is GPUPolicyTest")


def test_a_policy_that_is_not_there_is_a_finding(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(case(3, "{verdict: deny}"), "nowhere.yaml")

    assert (len(report.findings), report.results) == (1, ())


def test_a_policy_with_errors_is_a_finding_for_each(judge, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "p.yaml").write_text(Path(POLICY).read_text().replace("gpusPerNode: 8", "gpusPerNode: 0"))

    (finding,) = judge(case(3, "{verdict: deny}"), "p.yaml").findings

    assert (finding.file, finding.line) == (str(tmp_path / "p.yaml"), 7)


def test_a_file_that_cannot_be_opened_is_a_finding() -> None:
    (finding,) = run_tests(["nowhere.yaml"], load).findings

    assert finding.file == "nowhere.yaml"


def diff_of(report: TestReport) -> list[str]:
    ((difference,),) = [result.differences for result in report.results]
    return list(difference.diff)


def test_a_wrong_mutated_object_shows_a_diff_of_what_was_expected(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(case(4, "{mutated: {spec: {schedulerName: mine, nodeName: gpu-1}}}"))

    assert diff_of(report) == [
        "--- expected",
        "+++ got",
        "@@ -1,3 +1,2 @@",
        " spec:",
        "-  nodeName: gpu-1",
        "-  schedulerName: mine",
        "+  schedulerName: gpu-binpack",
    ]


def test_an_object_that_is_changed_against_expectation_shows_what_came_in(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(case(4, "{mutated: unchanged}"))

    assert "+  schedulerName: gpu-binpack" in diff_of(report)


def test_a_list_of_another_length_is_shown_whole(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(case(0, "{mutated: {spec: {containers: []}}}"))

    assert "+  - name: c" in diff_of(report)


def test_a_denied_object_has_no_mutated_form(judge) -> None:  # type: ignore[no-untyped-def]
    (result,) = judge(case(3, "{mutated: {spec: {}}}")).results

    assert [(d.what, d.expected, d.got) for d in result.differences] == [
        ("mutated", "an object", "none, because it is denied")
    ]


def test_a_workload_is_never_changed(judge) -> None:  # type: ignore[no-untyped-def]
    job = f"{{apiVersion: batch/v1, kind: Job, spec: {{template: {POD % 4}}}}}"

    assert judge(f"{{name: c, object: {job}, expect: {{mutated: unchanged}}}}").failed == 0


def job_set(*gpus: tuple[str, object], more: str = "") -> str:
    """A JobSet with jobs of a name and a number of GPUs."""
    jobs = ", ".join(f"{{name: {name}, template: {{spec: {{template: {POD % 0}}}}}}}" for name, _ in gpus)
    for _, amount in gpus:
        jobs = jobs.replace("gpu: 0", f"gpu: {amount}", 1)
    head = f"apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{name: j{more}}}"
    return f"{{{head}, spec: {{replicatedJobs: [{jobs}]}}}}"


@pytest.mark.parametrize(
    ("now", "before", "verdict"),
    [
        pytest.param(job_set(("a", 4), ("b", 3)), job_set(("a", 4)), "deny", id="one-more-that-is-wrong"),
        pytest.param(job_set(("a", 4), ("b", 3)), job_set(("b", 3)), "allow", id="one-more-before-an-old-wrong-one"),
        pytest.param(job_set(("a", 3)), job_set(("a", 3)), "skip", id="as-it-was"),
        pytest.param(job_set(("a", 5)), job_set(("a", 3)), "deny", id="wrong-in-another-way"),
        pytest.param(job_set(("a", '"0.5"')), job_set(("a", 4)), "deny", id="no-whole-number"),
        pytest.param(job_set(("a", 3)), "null", "deny", id="nothing-before"),
        pytest.param(job_set(("a", 3), more=", deletionTimestamp: now"), job_set(("a", 4)), "skip", id="deleted"),
    ],
)
def test_a_workload_s_change_is_judged_as_the_webhook_does(judge, now: str, before: str, verdict: str) -> None:  # type: ignore[no-untyped-def]
    report = judge(
        f"{{name: c, operation: UPDATE, object: {now}, oldObject: {before}, expect: {{verdict: {verdict}}}}}"
    )

    assert [result.differences for result in report.results] == [()]


def test_the_object_before_may_stand_in_a_file(judge, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "old.yaml").write_text(POD % 3)

    assert judge(case(3, "{verdict: skip}", "operation: UPDATE, oldFile: old.yaml, ")).failed == 0


def test_the_object_before_has_one_source(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(case(3, "{verdict: skip}", f"oldFile: old.yaml, oldObject: {POD % 3}, "))

    assert [finding.message for finding in report.findings] == ["a case has an oldObject or an oldFile, not both"]


def test_a_policy_whose_file_cannot_exist_is_a_finding(judge) -> None:  # type: ignore[no-untyped-def]
    report = judge(case(3, "{verdict: deny}"), policy=r'"a\0b"')

    (finding,) = report.findings
    assert finding.message.endswith("a\\x00b: cannot be read: no file has such a name")
