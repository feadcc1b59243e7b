"""Annotations, read back as the runner of GitHub Actions reads them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.reporting.github_format import format_annotations

ROOT = PurePosixPath("/repo")


def annotate(message: str = "m", **fields: object) -> str:
    finding = LocatedFinding(
        rule=str(fields.pop("rule", "r")),
        severity=Severity(fields.pop("severity", "error")),
        field=(),
        message=message,
        **fields,  # type: ignore[arg-type]
    )
    return format_annotations([finding], root=ROOT)


def unescape(text: str, marks: dict[str, str]) -> str:
    for escaped, mark in marks.items():
        text = text.replace(escaped, mark)
    return text.replace("%25", "%")


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Reads a command by the grammar ``::name key=value,key=value::message``, whose escapes the runner undoes."""
    head, _, message = line.removeprefix("::").partition("::")
    name, _, listed = head.partition(" ")
    pairs = (entry.partition("=") for entry in listed.split(","))
    in_messages = {"%0D": "\r", "%0A": "\n"}
    properties = {key: unescape(value, {**in_messages, "%3A": ":", "%2C": ","}) for key, _, value in pairs}
    return name, properties, unescape(message.removesuffix("\n"), in_messages)


def test_a_finding_is_one_command() -> None:
    text = annotate("the pod asks for 3 GPUs", hint="ask for 2", file="apps/pod.yaml", line=7, column=42)

    assert text == "::error file=apps/pod.yaml,line=7,col=42,title=r::the pod asks for 3 GPUs; ask for 2\n"


@pytest.mark.parametrize(
    ("severity", "command"),
    [("error", "error"), ("warning", "warning"), ("info", "notice")],
    ids=["error", "warning", "info"],
)
def test_a_severity_is_a_command(severity: str, command: str) -> None:
    assert read(annotate(severity=severity))[0] == command


def test_what_is_not_known_is_left_out() -> None:
    assert annotate() == "::error title=r::m\n"


@pytest.mark.parametrize(
    ("file", "told"),
    [("/repo/apps/a.yaml", "apps/a.yaml"), ("./a.yaml", "a.yaml"), ("/other/a.yaml", "/other/a.yaml")],
    ids=["inside", "relative", "outside"],
)
def test_files_are_named_from_the_root(file: str, told: str) -> None:
    assert read(annotate(file=file))[1]["file"] == told


@pytest.mark.parametrize("message", ["50%", "%0A", "a\nb", "a\r\nb", "::error::x", "a, b: c"])
def test_a_message_survives_the_way(message: str) -> None:
    assert read(annotate(message))[2] == message


@pytest.mark.parametrize("file", ["a,b.yaml", "c:d.yaml", "50%.yaml", "a%2Cb.yaml", "a\nb.yaml", "größe.yaml"])
def test_the_name_of_a_file_survives_the_way(file: str) -> None:
    assert read(annotate(file=file, line=1))[1] == {"file": file, "line": "1", "title": "r"}


def test_a_command_is_one_line_whatever_it_says() -> None:
    assert annotate("a\nb\rc\n", file="d\ne.yaml").count("\n") == 1
