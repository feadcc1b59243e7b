"""``gpupolicy check``: what it prints and how it ends."""

from __future__ import annotations

from pathlib import Path

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
