"""``gpupolicy init``: where the policy goes, what is told beside it, and what stops it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from commands import run
from fleets import FLEETS, PRODUCT, V100, Object, node, pod, two_types

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: bin-packing-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources: [{name: nvidia.com/gpu, weight: 80}, {name: cpu, weight: 1}]
"""


def dump(*objects: Object) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects]})


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.json"
    path.write_text(dump(*two_types()))
    return path


def test_the_policy_goes_to_standard_output(nodes: Path) -> None:
    outcome = run("init", "--from", nodes)

    assert (outcome.status, "\nkind: GPUPolicy\n" in outcome.out, outcome.err) == (0, True, "")


@pytest.mark.parametrize("fleet", FLEETS)
def test_lint_finds_nothing_in_the_policy(fleet: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    dumped = tmp_path / "nodes.json"
    dumped.write_text(dump(*FLEETS[fleet]()))
    written = run("init", "--from", dumped, "-o", path)

    assert (written.status, run("lint", "--strict", path).status) == (0, 0)


def test_a_dash_is_standard_output(nodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("init", "--from", nodes, "-o", "-")

    assert (outcome, [path.name for path in tmp_path.iterdir()]) == (run("init", "--from", nodes), [nodes.name])


def test_the_policy_names_an_image_that_compile_calls_a_placeholder(nodes: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    run("init", "--from", nodes, "-o", path)

    assert "note: the image gpupolicy:latest is a placeholder " in run("compile", path, "--target", "webhook").err


def test_a_file_is_written_and_the_next_step_is_told(nodes: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    outcome = run("init", "--from", nodes, "-o", path)

    assert (outcome.out, outcome.err, path.read_text()) == (
        "",
        f"{path}: written; next: gpupolicy lint {path}\n",
        run("init", "--from", nodes).out,
    )


def test_a_policy_that_selects_no_node_yet_is_no_success(tmp_path: Path) -> None:
    dumped = tmp_path / "nodes.json"
    bare = [node("a", 8), node("b", 8), node("c", None)]
    for each in bare:
        each["metadata"]["labels"] = {"role": "worker"}  # no host name, as in a dump that somebody made by hand
    dumped.write_text(dump(*bare))

    outcome = run("init", "--from", dumped)

    assert (outcome.status, "\nkind: GPUPolicy\n" in outcome.out) == (1, True)
    assert "\nerror: the policy has no node yet, because no label tells what their GPUs are: " in outcome.err


def test_a_file_that_is_there_is_left_alone(nodes: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("mine")
    outcome = run("init", "--from", nodes, "-o", path)

    assert (outcome.status, outcome.err, path.read_text()) == (
        2,
        f"error: {path} is there already: write elsewhere, or --force\n",
        "mine",
    )


def test_force_overwrites_it(nodes: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("mine")

    assert (run("init", "--from", nodes, "-o", path, "--force").status, path.read_text() == "mine") == (0, False)


def test_profiles_are_taken_from_a_scheduler_configuration(nodes: Path, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(CONFIGURATION)
    outcome = run("init", "--from", nodes, "--scheduler-config", path)

    assert (outcome.status, "- schedulerName: bin-packing-scheduler" in outcome.out, outcome.err) == (0, True, "")


@pytest.mark.parametrize(
    ("profiles", "told"),
    [
        ("7", "4:11: profiles is 7; a list is expected"),
        ("[{schedulerName: 5}]", "4:28: schedulerName is 5; text is expected"),
    ],
)
def test_a_scheduler_configuration_of_another_shape_is_refused(
    profiles: str, told: str, nodes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(f"{CONFIGURATION.partition('profiles:')[0]}profiles: {profiles}\n")

    outcome = run("init", "--from", nodes, "--scheduler-config", path)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f"error: {path}:{told}\n"


def test_nodes_and_pods_come_from_several_dumps(nodes: Path, tmp_path: Path) -> None:
    pods = tmp_path / "pods.json.gz"
    plugin = pod("nvidia-device-plugin-daemonset-x7k2p", 0, namespace="accelerators", owner="DaemonSet")
    pods.write_bytes(gzip.compress(dump(plugin).encode()))
    outcome = run("init", "--from", nodes, "--from", pods)

    assert "- namespaces: [kube-system, gpu-system, accelerators]" in outcome.out


def test_what_is_odd_is_told_beside_the_policy(nodes: Path) -> None:
    nodes.write_text(dump(*two_types(), node("sick", 7, {PRODUCT: V100}, capacity=8)))
    outcome = run("init", "--from", nodes)

    assert (outcome.status, outcome.err) == (
        0,
        f"note: sick: 7 of 8 nvidia.com/gpu allocatable ({V100}); a GPU lost, or the device plugin is not there\n",
    )


def test_without_a_gpu_node_the_status_is_2(nodes: Path) -> None:
    nodes.write_text(dump(node("web", None)))
    outcome = run("init", "--from", nodes)

    assert (outcome.status, outcome.out, outcome.err.split(": looked")[0]) == (
        2,
        "",
        f"error: {nodes}: no GPU node among 1 node",
    )


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (("--from", "missing.json"), "missing.json"),
        (("--from", "-", "--scheduler-config", "-"), "--scheduler-config takes a file, not standard input"),
        (("--from", "-", "--scheduler-config", "missing.yaml"), "missing.yaml"),
        (("--from", "-", "--context", "prod"), "--from reads a dump"),
    ],
    ids=["no-dump", "two-standard-inputs", "no-configuration", "dump-and-cluster"],
)
def test_input_that_cannot_be_had_is_status_2(argv: tuple[str, ...], error: str) -> None:
    outcome = run("init", *argv, stdin=dump(node("gpu-1")))

    assert (outcome.status, outcome.out, error in outcome.err) == (2, "", True)
