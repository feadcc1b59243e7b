"""``gpupolicy mutate``: what it writes where, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import POLICY, Outcome, run

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}  # a pod
spec:
  containers:
  - {name: c, image: x, resources: {limits: {nvidia.com/gpu: 2}}}
"""
ROUTED = """\
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {gpupolicy.dev/routed-to: SLOT-2}}  # a pod
spec:
  containers:
  - {name: c, image: x, resources: {limits: {nvidia.com/gpu: 2}}}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - key: my.gpu.cluster/node-group
            operator: In
            values:
            - SLOT-2
  schedulerName: gpu-binpack
"""
DENIED = POD.replace("gpu: 2", "gpu: 3")
ERROR = (
    f":6:62: error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({POLICY}:21); ask for 2 or 4 "
    "[request-size-not-admitted]\n"
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two pods in a working folder."""
    monkeypatch.chdir(tmp_path)
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(POD)
    second.write_text(POD)
    return first, second


def test_a_stream_is_routed_from_standard_input_to_standard_output() -> None:
    assert run("mutate", POLICY, "-", stdin=POD) == Outcome(status=0, out=ROUTED, err="")


def test_files_become_one_stream(files: tuple[Path, Path]) -> None:
    assert run("mutate", POLICY, *files).out == f"{ROUTED}---\n{ROUTED}"


def test_a_file_that_begins_with_dashes_gets_no_second_ones(files: tuple[Path, Path]) -> None:
    files[1].write_text(f"---\n{POD}")

    assert run("mutate", POLICY, *files).out == f"{ROUTED}---\n{ROUTED}"


def test_a_denied_pod_is_written_as_it_is_and_told(files: tuple[Path, Path]) -> None:
    files[0].write_text(DENIED)

    assert run("mutate", POLICY, "a.yaml", "b.yaml") == Outcome(
        status=1, out=f"{DENIED}---\n{ROUTED}", err=f"a.yaml{ERROR}"
    )


def test_files_are_changed_in_place(files: tuple[Path, Path]) -> None:
    outcome = run("mutate", POLICY, "--in-place", *files)

    assert outcome == Outcome(status=0, out="", err="2 of 2 files changed, 2 pods\n")
    assert [path.read_text() for path in files] == [ROUTED, ROUTED]


def test_no_file_is_changed_where_one_is_denied(files: tuple[Path, Path]) -> None:
    files[0].write_text(DENIED)

    outcome = run("mutate", POLICY, "--in-place", "a.yaml", "b.yaml")

    assert outcome == Outcome(status=1, out="", err=f"a.yaml{ERROR}something is denied, so no file was changed\n")
    assert files[1].read_text() == POD


def test_nothing_is_written_where_something_cannot_be_read(files: tuple[Path, Path]) -> None:
    files[0].write_text("a: [\n")

    outcome = run("mutate", POLICY, *files)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1] == "error: something could not be read, so nothing was written"


def test_standard_input_cannot_be_changed_in_place() -> None:
    outcome = run("mutate", POLICY, "--in-place", "-")

    assert outcome == Outcome(status=2, out="", err="error: --in-place changes files, and - is standard input\n")


def test_a_stream_without_an_object_is_no_success() -> None:
    outcome = run("mutate", POLICY, "-", stdin="# nothing\n")

    assert outcome == Outcome(status=2, out="", err="error: nothing was written: no Kubernetes object in -\n")


def test_templates_are_routed_on_request() -> None:
    job = f"apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    {POD.partition('metadata')[2]}"
    text = job.replace(": {name: a}  # a pod\nspec:\n", "spec:\n    ").replace("\n  -", "\n      -")

    assert run("mutate", POLICY, "-", stdin=text).out == text
    assert "      schedulerName: gpu-binpack\n" in run("mutate", POLICY, "--templates", "-", stdin=text).out


def test_a_policy_in_place_of_manifests_is_no_success() -> None:
    outcome = run("mutate", POLICY, POLICY)

    assert (outcome.status, outcome.err.splitlines()[-1]) == (
        2,
        f"error: nothing was written: {POLICY} is a policy itself; manifests follow POLICY",
    )
