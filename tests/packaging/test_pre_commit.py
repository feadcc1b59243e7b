"""The hooks in the hands of the real pre-commit: installed from nothing, run on a repository made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import POLICY

ROOT = Path(__file__).parents[2]
GOOD = Path(POLICY).read_text()
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec:
  containers:
  - name: c
    resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout: the hooks are installed from git"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment without the caller's git and pre-commit: what is installed is installed anew."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    people = {f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    home = str(tmp_path_factory.mktemp("pre-commit-home"))
    return {**kept, **people, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PRE_COMMIT_HOME": home}


def git(folder: Path, environment: dict[str, str], *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, environment: dict[str, str]) -> str:
    """Makes a repository of a folder and returns its commit."""
    git(folder, environment, "init", "--quiet")
    git(folder, environment, "add", "--all", "--force")
    git(folder, environment, "commit", "--quiet", "--no-verify", "--message", "all")
    return git(folder, environment, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> tuple[Path, str]:
    """This checkout as it is, uncommitted changes too, as a repository that hooks are taken from."""
    folder = tmp_path_factory.mktemp("hooks")
    listed = git(ROOT, environment, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in listed:
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder, commit(folder, environment)


@pytest.fixture
def repository(tmp_path: Path, hooks: tuple[Path, str]) -> Path:
    """A repository of manifests beside a policy, a workflow and a chart."""
    folder, revision = hooks
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {folder}\n  rev: {revision}\n  hooks:\n"
        "  - {id: gpupolicy-lint}\n"
        "  - {id: gpupolicy-check, args: [policy.yaml], exclude: ^chart/templates/}\n"
    )
    (tmp_path / "policy.yaml").write_text(GOOD)
    (tmp_path / "pod.yaml").write_text(POD.format(gpus=4))
    (tmp_path / "workflow.yaml").write_text("on: [push]\njobs: {}\n")
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    (tmp_path / "chart" / "templates" / "job.yaml").write_text("{{- if .Values.gpu }}\nkind: Job\n{{- end }}\n")
    return tmp_path


def pre_commit(repository: Path, environment: dict[str, str], *arguments: str) -> tuple[int, list[str]]:
    """Runs the hooks on all files of the repository; returns the status and the lines without the dots."""
    commit(repository, environment)
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never", *arguments]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    return done.returncode, [line for line in lines if line and not line.startswith("[INFO]")]


def outcome(lines: list[str], name: str) -> str:
    (line,) = (line for line in lines if line.startswith(f"{name}."))
    return line.removeprefix(name).strip(".")


def test_manifests_and_policies_that_are_right_pass_beside_other_yaml(
    repository: Path, environment: dict[str, str]
) -> None:
    status, lines = pre_commit(repository, environment)

    assert (status, outcome(lines, "gpupolicy lint"), outcome(lines, "gpupolicy check")) == (0, "Passed", "Passed")


def test_a_denied_pod_stops_the_commit_with_file_and_line(repository: Path, environment: dict[str, str]) -> None:
    (repository / "pod.yaml").write_text(POD.format(gpus=3))

    status, lines = pre_commit(repository, environment)

    assert (status, outcome(lines, "gpupolicy check")) == (1, "Failed")
    assert (
        "pod.yaml:7:42: error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy.yaml:21); ask for 2 or 4 "
        "[request-size-not-admitted]"
    ) in lines


def test_a_wrong_policy_stops_the_commit_with_file_and_line(repository: Path, environment: dict[str, str]) -> None:
    (repository / "policy.yaml").write_text(GOOD.replace("gpusPerNode: 8", "gpusPerNode: 2000"))

    status, lines = pre_commit(repository, environment, "gpupolicy-lint")

    assert (status, outcome(lines, "gpupolicy lint")) == (1, "Failed")
    assert [line.split(": ")[0] for line in lines if line.startswith("policy.yaml")] == ["policy.yaml:7:20"]


def test_the_source_of_a_chart_stops_the_commit_unless_it_is_left_out(
    repository: Path, environment: dict[str, str]
) -> None:
    config = repository / ".pre-commit-config.yaml"
    config.write_text(config.read_text().replace(", exclude: ^chart/templates/", ""))

    status, lines = pre_commit(repository, environment, "gpupolicy-check")

    assert (status, "- exit code: 2" in lines) == (1, True)
    assert [line.split(": ")[0] for line in lines if line.startswith("chart/")] == ["chart/templates/job.yaml:1:1"]


def test_the_hooks_install_the_base_package_alone(
    repository: Path, environment: dict[str, str], hooks: tuple[Path, str]
) -> None:
    pre_commit(repository, environment)

    (packages,) = Path(environment["PRE_COMMIT_HOME"]).glob("repo*/py_env-*/lib/python*/site-packages")
    assert (packages / "yaml").is_dir()
    assert [name for name in ("flask", "kubernetes", "cryptography") if (packages / name).exists()] == []
