"""What may come next on a command line."""

from __future__ import annotations

import pytest

from gpupolicy.reporting.completion import Option, Value, Verb, complete

VERBS = (
    Verb(
        name="check",
        summary="judge",
        options=(
            Option(names=("--format",), summary="", value=Value.WORD, words=("text", "json")),
            Option(names=("-o", "--output"), summary="", value=Value.FOLDER),
            Option(names=("--strict",), summary=""),
        ),
        positional=Value.FILE,
    ),
    Verb(name="completion", summary="print", options=(), positional=Value.WORD, words=("bash", "zsh")),
    Verb(name="compile", summary="write", options=()),
)


@pytest.mark.parametrize(
    ("words", "value", "fitting"),
    [
        pytest.param([], Value.WORD, ("check", "completion", "compile"), id="nothing"),
        pytest.param(["comp"], Value.WORD, ("completion", "compile"), id="a-verb"),
        pytest.param(["check", ""], Value.FILE, (), id="a-file"),
        pytest.param(["check", "--st"], Value.WORD, ("--strict",), id="an-option"),
        pytest.param(["check", "-"], Value.WORD, ("--format", "-o", "--output", "--strict"), id="all-options"),
        pytest.param(["check", "--format", ""], Value.WORD, ("text", "json"), id="a-value"),
        pytest.param(["check", "--format=j"], Value.WORD, ("--format=json",), id="a-value-behind-an-equals-sign"),
        pytest.param(["check", "-o", "b"], Value.FOLDER, (), id="a-folder"),
        pytest.param(["check", "--strict", ""], Value.FILE, (), id="behind-an-option-without-a-value"),
        pytest.param(["completion", "z"], Value.WORD, ("zsh",), id="a-word"),
        pytest.param(["compile", ""], Value.NOTHING, (), id="a-verb-without-arguments"),
    ],
)
def test_what_fits_is_offered(words: list[str], value: Value, fitting: tuple[str, ...]) -> None:
    assert complete(VERBS, words) == (value, fitting)
