"""Shell completion, asked of the real shells where they are installed."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from commands import run

from gpupolicy.cli import VERBS
from gpupolicy.cli.completion import answer_kubectl
from gpupolicy.cli.streams import Streams


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


CASES = [
    pytest.param("gpupolicy comp", ["compile", "completion"], id="a-verb"),
    pytest.param("gpupolicy check --fo", ["--format"], id="an-option"),
    pytest.param("gpupolicy check --format j", ["json", "junit"], id="a-value"),
    pytest.param("gpupolicy check --format=j", ["json", "junit"], id="a-value-behind-an-equals-sign"),
    pytest.param("gpupolicy check --namespace x policy.yaml --fail-on ", ["error", "warning"], id="later-in-the-line"),
    pytest.param("gpupolicy nodes ", ["apply", "plan", "status"], id="an-action"),
    pytest.param("gpupolicy nodes apply policy.yaml --force", ["--force-conflicts"], id="an-option-of-an-action"),
    pytest.param("gpupolicy completion ", ["bash", "fish", "zsh"], id="a-word"),
    pytest.param("gpupolicy check po", ["pod.yaml", "policy.yaml", "pool/"], id="files"),
    pytest.param("gpupolicy check --strict po", ["pod.yaml", "policy.yaml", "pool/"], id="behind-a-flag"),
    pytest.param("gpupolicy compile policy.yaml --output po", ["pool/"], id="folders"),
    pytest.param("gpupolicy check --namespace po", [], id="nothing-where-only-the-user-knows"),
    pytest.param("gpupolicy version po", [], id="nothing-where-nothing-is-taken"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scripts, two files and a folder in it."""
    for shell in ("bash", "zsh", "fish"):
        (tmp_path / f"script.{shell}").write_text(run("completion", shell).out)
    for name in ("policy.yaml", "pod.yaml"):
        (tmp_path / name).touch()
    (tmp_path / "pool").mkdir()
    return tmp_path


def ask(folder: Path, line: str, *command: str) -> list[str]:
    """What a shell prints when it is asked to complete a line."""
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "LINE": line}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return sorted(done.stdout.split())


# What bash does on TAB: it splits at blanks and =, calls the function, and takes files where that has no answer.
BASH = """
source script.bash
[[ $LINE == *" " ]] && last=yes
read -ra COMP_WORDS <<< "${LINE//=/ = }"
[[ -n $last ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
files=yes
compopt() { files=; }
_gpupolicy
if (( ${#COMPREPLY[@]} == 0 )) && [[ -n $files ]]; then
    COMPREPLY=( $(compgen -f -- "${COMP_WORDS[COMP_CWORD]}") )
fi
for word in "${COMPREPLY[@]}"; do [[ -d $word ]] && echo "$word/" || echo "$word"; done
"""


@needs("bash")
@pytest.mark.parametrize(("line", "words"), CASES)
def test_bash_offers_what_fits(folder: Path, line: str, words: list[str]) -> None:
    assert ask(folder, line, "bash", "--norc", "--noprofile", "-c", BASH) == words


@needs("bash")
def test_bash_knows_the_function_as_the_one_for_gpupolicy(folder: Path) -> None:
    told = ask(folder, "", "bash", "--norc", "-c", "source script.bash; complete -p gpupolicy")

    assert " ".join(told) == "-F -o -o _gpupolicy bashdefault complete default gpupolicy"


@needs("fish")
@pytest.mark.parametrize(("line", "words"), CASES)
def test_fish_offers_what_fits(folder: Path, line: str, words: list[str]) -> None:
    script = "source script.fish; complete -C $LINE | cut -f 1"
    offered = ask(folder, line, "fish", "-c", script)

    assert [word.removeprefix("--format=") for word in offered] == words


ZSH = """
PS1= ; autoload -Uz compinit; compinit -u -D; source script.zsh
tell() { print -r -- "$BUFFER|" > told.new; mv told.new told; }
zle -N tell; bindkey '^X' tell; bindkey '^I' complete-word; touch ready
"""


def type_in_zsh(folder: Path, typed: str) -> str:
    """What stands on the line of an interactive zsh after some keys."""
    terminal, inside = pty.openpty()
    environment = {**os.environ, "HOME": str(folder), "TERM": "dumb"}
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"], cwd=folder, env=environment, stdin=inside, stdout=inside, stderr=inside
    )
    try:
        os.write(terminal, ZSH.replace("\n", "; ").strip("; ").encode() + b"\n")
        wait_for_file(folder / "ready")
        os.write(terminal, typed.encode() + b"\x18")
        return wait_for_file(folder / "told").removesuffix("|\n")
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
        os.close(inside)


def wait_for_file(path: Path) -> str:
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path.read_text()


@needs("zsh")
@pytest.mark.parametrize(
    ("typed", "line"),
    [
        pytest.param("gpupolicy expl\t", "gpupolicy explain ", id="a-verb"),
        pytest.param("gpupolicy check --form\tju\t", "gpupolicy check --format=junit ", id="an-option-and-its-value"),
        pytest.param("gpupolicy completion fi\t", "gpupolicy completion fish ", id="a-word"),
        pytest.param("gpupolicy check pod\t", "gpupolicy check pod.yaml ", id="a-file"),
        pytest.param("gpupolicy compile --output p\t", "gpupolicy compile --output pool/", id="a-folder"),
        pytest.param("gpupolicy version po\t", "gpupolicy version po", id="nothing"),
    ],
)
def test_zsh_completes_what_fits(folder: Path, typed: str, line: str) -> None:
    assert type_in_zsh(folder, typed) == line


def test_zsh_finds_the_script_in_a_folder_of_functions() -> None:
    assert run("completion", "zsh").out.startswith("#compdef gpupolicy\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_every_script(shell: str, verb: str) -> None:
    assert verb in run("completion", shell).out


def test_a_shell_that_is_not_known_is_refused() -> None:
    outcome = run("completion", "tcsh")

    assert (outcome.status, outcome.err.partition(" (")[0]) == (2, "error: argument shell: invalid choice: 'tcsh'")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        pytest.param(["comp"], "compile\ncompletion\n:4\n", id="words-and-no-files"),
        pytest.param(["check", ""], ":0\n", id="files"),
        pytest.param(["compile", "policy.yaml", "-o", ""], ":16\n", id="folders"),
        pytest.param(["version", ""], ":4\n", id="nothing"),
    ],
)
def test_kubectl_is_answered_in_its_own_form(words: list[str], answer: str) -> None:
    assert answer_kubectl(words, Streams.from_process()) == answer
