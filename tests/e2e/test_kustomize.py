"""The real kustomize and the real helm call our command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from controlplane.build import UnavailableError
from e2e.conftest import is_required
from e2e.objects import pod, workload
from e2e.product import shipped
from tools.build import find_or_build

SHOWN = "error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8"
GROUP = "my.gpu.cluster/node-group"
LABELS = {"app": "p"}  # kustomize drops empty ones


def program(name: str) -> Path:
    """A program, built if it is not there yet."""
    try:
        return find_or_build(name)
    except UnavailableError as error:
        (pytest.fail if is_required() else pytest.skip)(str(error))


@pytest.fixture(scope="session")
def kustomize() -> Path:
    return program("kustomize")


@pytest.fixture(scope="session")
def helm() -> Path:
    return program("helm")


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """The folder of a kustomization, with our command in it and the classic policy beside it."""
    folder = tmp_path / "app"
    folder.mkdir()
    command = folder / "gpupolicy"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpupolicy "$@"\n')
    command.chmod(0o755)
    (folder / "policy.yaml").write_text(shipped("classic").read_text())
    return folder


def function(*args: str, **data: str) -> dict[str, Any]:
    """A functionConfig that runs our command and names the policy's file."""
    spec = yaml.safe_dump({"exec": {"path": "./gpupolicy", "args": ["fn", *args]}})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "gpus", "annotations": {"config.kubernetes.io/function": spec}},
        "data": {"policy": "policy.yaml", **data},
    }


def inline(*args: str) -> dict[str, Any]:
    """A functionConfig that is the policy itself."""
    policy = yaml.safe_load(shipped("classic").read_text())
    annotations = function(*args)["metadata"]["annotations"]
    return {**policy, "metadata": {**policy["metadata"], "annotations": annotations}}


def build(
    kustomize: Path, folder: Path, kind: str, config: dict[str, Any], *objects: Any
) -> subprocess.CompletedProcess[str]:
    """What ``kustomize build`` says with our function as a transformer or validator."""
    (folder / "function.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "objects.yaml").write_text(yaml.safe_dump_all(objects, sort_keys=False))
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["objects.yaml"], kind: ["function.yaml"]}))
    command = [kustomize, "build", "--enable-alpha-plugins", "--enable-exec", folder]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize("config", [function(), inline()], ids=["policy-in-a-file", "policy-in-place"])
class TestThatJudgesForKustomize:
    """Under transformers: a program under validators is refused by kustomize itself, as the last test here shows."""

    def test_what_is_admitted_comes_out_as_it_was(self, kustomize: Path, ours: Path, config: dict[str, Any]) -> None:
        done = build(
            kustomize, ours, "transformers", config, workload("Deployment", "d", 1, 8), pod("p", 4, labels=LABELS)
        )

        assert (done.returncode, done.stderr) == (0, "")
        assert list(yaml.safe_load_all(done.stdout)) == [workload("Deployment", "d", 1, 8), pod("p", 4, labels=LABELS)]

    def test_what_would_be_denied_fails_the_build_and_says_why(
        self, kustomize: Path, ours: Path, config: dict[str, Any]
    ) -> None:
        done = build(kustomize, ours, "transformers", config, workload("Deployment", "train", 1, 3))

        assert (done.returncode, done.stdout) == (1, "")
        assert f"Deployment train: {SHOWN}" in done.stderr


def test_kustomize_refuses_any_program_under_validators(kustomize: Path, ours: Path) -> None:
    """It writes an annotation into what comes back, and then finds it changed: kubernetes-sigs/kustomize#5036."""
    spec = {"exec": {"path": "/bin/cat"}}
    config = {**function(), "metadata": {"name": "x", "annotations": {"config.kubernetes.io/function": str(spec)}}}

    done = build(kustomize, ours, "validators", config, pod("p", 4))

    assert "validator shouldn't modify the resource map" in done.stderr


@pytest.mark.parametrize(
    "config",
    [function("--mode", "mutate"), function(mode="mutate"), inline("--mode", "mutate")],
    ids=["by-argument", "by-data", "policy-in-place"],
)
def test_as_a_transformer_of_kustomize_pods_are_routed(kustomize: Path, ours: Path, config: dict[str, Any]) -> None:
    done = build(kustomize, ours, "transformers", config, pod("p", 4))

    made = yaml.safe_load(done.stdout)
    assert (done.stderr, group_of_pod(made), made["spec"]["schedulerName"]) == ("", ["SLOT-4"], "gpu-packing")


def test_a_second_transformer_changes_nothing_more(kustomize: Path, ours: Path) -> None:
    once = yaml.safe_load(build(kustomize, ours, "transformers", function(mode="mutate"), pod("p", 4)).stdout)
    twice = yaml.safe_load(build(kustomize, ours, "transformers", function(mode="mutate"), once).stdout)

    assert twice == once


def group_of_pod(made: Any) -> list[str]:
    affinity = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    expressions = affinity["nodeSelectorTerms"][0]["matchExpressions"]
    (values,) = [each["values"] for each in expressions if each["key"] == GROUP]
    return list(values)


POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: app   # of the chart
spec:
  containers:
    - name: c
      image: example.test/a:1
      resources:
        limits: {nvidia.com/gpu: {{ .Values.gpus }}}
"""
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: app\nversion: 0.1.0\n",
    "values.yaml": "gpus: 4\n",
    "templates/pod.yaml": POD,
}


@pytest.fixture
def rendered(helm: Path, ours: Path) -> Any:
    """Runs ``helm template`` with ``gpupolicy mutate`` as its post-renderer."""
    chart = ours / "chart"
    for name, text in CHART.items():
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text(text)
    plugin = ours / "plugins" / "gpupolicy"
    plugin.mkdir(parents=True)
    (plugin / "plugin.yaml").write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "type": "postrenderer/v1",
                "name": "gpupolicy",
                "version": "0.1.0",
                "runtime": "subprocess",
                "runtimeConfig": {
                    "platformCommand": [
                        {"command": str(ours / "gpupolicy"), "args": ["mutate", str(ours / "policy.yaml"), "-"]}
                    ]
                },
            }
        )
    )

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [helm, "template", "release", chart, "--post-renderer", "gpupolicy", *options]
        environment = {**os.environ, "HELM_PLUGINS": str(ours / "plugins")}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


class TestAsAPostRendererOfHelm:
    def test_pods_are_routed_and_comments_stay(self, rendered: Any) -> None:
        done = rendered()

        assert "# of the chart" in done.stdout
        assert group_of_pod(yaml.safe_load(done.stdout)) == ["SLOT-4"]

    def test_what_would_be_denied_fails_the_release(self, rendered: Any) -> None:
        """Why, only `helm template | gpupolicy check` tells: helm 4 drops what a post-renderer writes to stderr."""
        done = rendered("--set", "gpus=3")

        assert (done.returncode, done.stdout) == (1, "")
        assert 'plugin "gpupolicy" exited with error' in done.stderr
