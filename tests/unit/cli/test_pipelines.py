"""What pipelines take from here: the action, run by a real bash, and the examples of the page about them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import POLICY

from gpupolicy.cli import VERBS, _build_parser
from gpupolicy.cli.streams import Streams

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
PAGE = (ROOT / "docs" / "pipelines.md").read_text()
EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
COMMANDS = [
    line.strip() for line in re.findall(r"\bgpupolicy (?:[a-z]+ [^\n|<>&#]*)", PAGE) if line.split()[1] in VERBS
]
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: c
    resources: {limits: {nvidia.com/gpu: 3}}
"""


def walk(value: Any) -> list[dict[str, Any]]:
    """All mappings inside of a value."""
    if isinstance(value, list):
        return [found for entry in value for found in walk(entry)]
    return [value, *walk(list(value.values()))] if isinstance(value, dict) else []


def judge(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the last step of the action as the runner does, with the inputs' defaults."""
    step = ACTION["runs"]["steps"][-1]
    values = {name: str(given["default"]) for name, given in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {name: values[re.search(r"inputs\.([\w-]+)", text)[1]] for name, text in step["env"].items()}  # type: ignore[index]
    binaries = folder / "runner" / "gpupolicy" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "gpupolicy").symlink_to(Path(sys.executable).parent / "gpupolicy")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={**os.environ, **environment, "RUNNER_TEMP": str(folder / "runner")},
        capture_output=True,
        text=True,
    )


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a policy, and a denied pod in a folder whose name has no blanks."""
    (tmp_path / "policy.yaml").write_text(Path(POLICY).read_text())
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "pod.yaml").write_text(POD)
    return tmp_path


@needs_bash
def test_the_action_annotates_a_denied_pod_and_fails(folder: Path) -> None:
    done = judge(folder, policy="policy.yaml", files="apps")

    assert (done.returncode, done.stdout) == (
        1,
        "::error file=apps/pod.yaml,line=7,col=42,title=request-size-not-admitted::"
        "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy.yaml:21); ask for 2 or 4\n",
    )


@needs_bash
def test_the_action_writes_its_result_to_a_file(folder: Path) -> None:
    done = judge(folder, policy="policy.yaml", files="apps", format="sarif", output="out.sarif")

    assert (done.returncode, done.stdout, (folder / "out.sarif").read_text()[:14]) == (1, "", '{\n  "$schema":')


@needs_bash
def test_the_action_leaves_patterns_and_several_files_to_gpupolicy(folder: Path) -> None:
    done = judge(folder, policy="policy.yaml", files="apps/*.yaml\npolicy.yaml")

    assert done.stderr.startswith("2 files, 2 objects")


@needs_bash
def test_the_action_judges_changes_only_where_it_is_told_to(folder: Path) -> None:
    shutil.copytree(folder / "apps", folder / "before")

    assert judge(folder, policy="policy.yaml", files="apps", diff="before").returncode == 0


@needs_bash
def test_the_action_lints(folder: Path) -> None:
    (folder / "policy.yaml").write_text(Path(POLICY).read_text().replace("gpusPerNode: 8", "gpusPerNode: 2000"))

    done = judge(folder, verb="lint", files="policy.yaml", arguments="--strict --quiet")

    assert (done.returncode, done.stdout.partition(",title")[0]) == (1, "::error file=policy.yaml,line=7,col=20")


@needs_bash
def test_the_action_says_that_the_policy_is_missing(folder: Path) -> None:
    done = judge(folder)

    assert (done.returncode, done.stdout) == (2, "::error title=gpupolicy::the input policy is missing\n")


def test_the_action_uses_each_of_its_inputs_and_no_other() -> None:
    used = set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", (ROOT / "action.yml").read_text()))

    assert used == set(ACTION["inputs"])


def test_no_input_of_the_action_is_pasted_into_a_script() -> None:
    """An input is a stranger's text: in a script it would be run, in the environment it is not."""
    assert [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")] == []


def test_the_page_names_the_inputs_of_the_action() -> None:
    given = [step["with"] for step in walk(EXAMPLES) if str(step.get("uses", "")).startswith("example/gpupolicy@")]

    assert {name for inputs in given for name in inputs} - set(ACTION["inputs"]) == set()
    assert [name for name in ACTION["inputs"] if f"`{name}`" not in PAGE] == []


def test_the_page_names_the_hooks() -> None:
    named = {entry["id"] for entry in walk(EXAMPLES) if str(entry.get("id", "")).startswith("gpupolicy")}

    assert named == {hook["id"] for hook in HOOKS}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_are_well_formed(command: str) -> None:
    words = shlex.split(command)[1:]

    assert _build_parser(words[0], Streams.from_process(), "gpupolicy").parse_args(words).verb == words[0]
