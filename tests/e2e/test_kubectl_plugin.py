"""``kubectl gpupolicy``: found, run and completed by the real kubectl, without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import POLICY

import gpupolicy

PLUGIN, COMPLETION = "kubectl-gpupolicy", "kubectl_complete-gpupolicy"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: c
    resources: {limits: {nvidia.com/gpu: 3}}
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder of PATH that holds what our package installs for kubectl, and nothing else."""
    for name in (PLUGIN, COMPLETION):
        (tmp_path / name).symlink_to(Path(sys.executable).parent / name)
    return tmp_path


@pytest.fixture
def kubectl(binaries: dict[str, Path], plugins: Path):
    """Runs kubectl with our plugin on its PATH and no cluster to talk to."""
    environment = {**os.environ, "PATH": str(plugins), "KUBECONFIG": os.devnull, "HOME": str(plugins)}

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [binaries["kubectl"], *arguments]
        return subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True)

    return run


def test_kubectl_lists_the_plugin_without_a_warning(kubectl, plugins: Path) -> None:
    listed = kubectl("plugin", "list")

    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout.splitlines()[2:] == [str(plugins / PLUGIN)]


def test_kubectl_runs_it(kubectl) -> None:
    told = kubectl("gpupolicy", "version")

    assert (told.returncode, told.stdout.splitlines()[0]) == (0, f"gpupolicy {gpupolicy.__version__}")


def test_findings_and_exit_status_come_through(kubectl) -> None:
    told = kubectl("gpupolicy", "check", POLICY, "-", stdin=POD)

    assert (told.returncode, told.stdout.partition(" the pod")[0]) == (1, "<stdin>:7:42: error:")


def test_usage_is_told_in_kubectl_s_words(kubectl) -> None:
    assert kubectl("gpupolicy", "--help").stdout.startswith("usage: kubectl gpupolicy ")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param(("comp",), ["compile", "completion", ":4"], id="a-verb"),
        pytest.param(("check", "--format", "j"), ["json", "junit", ":4"], id="a-value"),
        pytest.param(("check", ""), [":0"], id="files"),
    ],
)
def test_kubectl_completes_what_the_plugin_offers(kubectl, words: tuple[str, ...], offered: list[str]) -> None:
    assert kubectl("__complete", "gpupolicy", *words).stdout.splitlines() == offered
