"""What holds for every verb: exit status, one line an error, no traceback."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import POLICY, Outcome, run

import gpupolicy
from gpupolicy.cli import VERBS, main
from gpupolicy.cli.streams import Streams

HELP = run("--help").out


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Outcome]:
    """Runs a verb of ours that raises."""

    def fail(error: BaseException) -> Outcome:
        def raising(args: object, streams: object) -> int:
            raise error

        monkeypatch.setattr(importlib.import_module("gpupolicy.cli.version"), "run", raising)
        return run("version")

    return fail


@pytest.mark.parametrize("argv", [("version",), ("--version",)], ids=["verb", "option"])
def test_the_version_is_told(argv: tuple[str, ...]) -> None:
    outcome = run(*argv)

    assert (outcome.status, outcome.out.splitlines()[0]) == (0, f"gpupolicy {gpupolicy.__version__}")


@pytest.mark.parametrize("verb", VERBS)
def test_the_overview_names_every_verb(verb: str) -> None:
    assert f"    {verb} " in HELP


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"serve", "certs", "demo", "compile"}))
def test_every_verb_has_help(verb: str) -> None:
    outcome = run(verb, "--help")

    assert (outcome.status, outcome.out.splitlines()[0][: len(verb) + 17], outcome.err) == (
        0,
        f"usage: gpupolicy {verb}",
        "",
    )


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        pytest.param((), "error: no verb given: see gpupolicy --help\n", id="no-verb"),
        pytest.param(("chek",), 'error: there is no verb "chek": did you mean check?\n', id="near-verb"),
        pytest.param(("xyz",), 'error: there is no verb "xyz": see gpupolicy --help\n', id="unknown-verb"),
        pytest.param(
            ("version", "--all"),
            "error: unrecognized arguments: --all\nusage: gpupolicy [-h] [--version] VERB ...\n",
            id="unknown-option",
        ),
        pytest.param(
            ("test",),
            "error: the following arguments are required: PATH\n"
            "usage: gpupolicy test [-h] [--coverage] [--fail-under PERCENT]\n"
            "                      [--format {text,json,junit}]\n"
            "                      PATH [PATH ...]\n",
            id="missing-argument",
        ),
    ],
)
def test_wrong_usage_is_exit_status_2(argv: tuple[str, ...], error: str) -> None:
    assert run(*argv) == Outcome(status=2, out="", err=error)


def test_a_missing_file_is_one_line() -> None:
    outcome = run("check", POLICY, "nowhere.yaml", "--quiet")

    told = "nowhere.yaml: error: cannot be read: no such file or directory [unreadable-input]\n"
    assert outcome == Outcome(status=2, out=told, err="")


def test_a_missing_policy_is_one_line() -> None:
    outcome = run("check", "nowhere.yaml", POLICY)

    assert (outcome.status, outcome.out, outcome.err.count("\n"), outcome.err.count("nowhere.yaml")) == (2, "", 1, 1)


def test_a_policy_that_is_a_folder_is_one_line(tmp_path: Path) -> None:
    outcome = run("check", tmp_path, POLICY)

    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)


def test_the_errors_of_a_policy_are_told_line_by_line(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(Path(POLICY).read_text().replace("sizes: [8]", "sizes: [-8]"))

    outcome = run("check", policy, POLICY)

    first, last = outcome.err.splitlines()
    assert (outcome.status, first.startswith(f"{policy}:13:"), last) == (
        2,
        True,
        "error: the policy has errors, so nothing was done",
    )


def test_an_unexpected_error_is_one_line(broken: Callable[[BaseException], Outcome]) -> None:
    assert broken(KeyError("a\nb")) == Outcome(
        status=2,
        out="",
        err="error: internal: KeyError: 'a\\nb' "
        "(a bug in gpupolicy: GPUPOLICY_DEBUG=1 shows where; please report it)\n",
    )


def test_an_unexpected_error_is_let_through_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("gpupolicy.cli.version"), "run", lambda args, streams: {}["a"])

    with pytest.raises(KeyError):
        run("version", debug=True)


def test_an_error_of_the_system_names_the_file(broken: Callable[[BaseException], Outcome]) -> None:
    assert broken(PermissionError(13, "Permission denied", "p.yaml")).err == "error: p.yaml: permission denied\n"


def test_an_interrupt_is_exit_status_130(broken: Callable[[BaseException], Outcome]) -> None:
    assert broken(KeyboardInterrupt()) == Outcome(status=130, out="", err="interrupted\n")


def test_a_reader_that_is_gone_is_no_error(broken: Callable[[BaseException], Outcome]) -> None:
    assert broken(BrokenPipeError(32, "Broken pipe")) == Outcome(status=141, out="", err="")


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    """``gpupolicy schema | head -1``, with a pipe nobody reads from."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from gpupolicy.cli import run_main; run_main()", "schema"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    error = process.stderr.read()
    process.stderr.close()

    assert (process.wait(), error) == (141, b"")


def test_the_plugin_of_kubectl_has_its_name() -> None:
    err = io.StringIO()
    streams = Streams(stdin=io.StringIO(), stdout=io.StringIO(), stderr=err)

    main([], streams, program="kubectl gpupolicy")

    assert err.getvalue() == "error: no verb given: see kubectl gpupolicy --help\n"


def test_version_opens_no_heavy_room() -> None:
    heavy = {"yaml", "jsonschema", "ruamel.yaml", "flask", "gpupolicy.admission", "gpupolicy.linting"}
    code = "import sys; from gpupolicy.cli import main; main(['version']); print(*sys.modules)"

    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert heavy & set(process.stdout.split()) == set()


def test_the_schema_is_json() -> None:
    assert run("schema").json["title"]
