"""One path that is not there does not hide what is wrong in the others."""

from __future__ import annotations

from pathlib import Path

from commands import POLICY, run


def test_what_could_be_read_is_told_beside_what_is_not_there(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, "
        "spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 3}}}]}}"
    )

    report = run("check", POLICY, pod, tmp_path / "nowhere.yaml", "--format", "json").json

    assert [entry["verdict"] for entry in report["objects"]] == ["deny"]
    assert [finding["rule"] for finding in report["findings"]] == ["unreadable-input"]
