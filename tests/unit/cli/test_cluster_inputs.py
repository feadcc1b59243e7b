"""``--from``, ``--context`` and ``--kubeconfig``: which source they stand for, and what the terminal shows of it."""

from __future__ import annotations

import argparse
import io

import pytest
from fake_cluster import kubeconfig

from gpupolicy.cli.cluster_inputs import ReadingLine, cluster_arguments, read_source
from gpupolicy.cli.streams import Streams
from gpupolicy.cluster.source import Reading
from gpupolicy.errors import UsageError

NODE = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'


def streams(text: str = "") -> Streams:
    return Streams(
        stdin=io.TextIOWrapper(io.BytesIO(text.encode())), stdout=io.TextIOWrapper(io.BytesIO()), stderr=io.StringIO()
    )


def arguments(*words: str, policy: str = "policy.yaml") -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("policy")
    cluster_arguments(parser)
    return parser.parse_args([policy, *words])


def test_dumps_are_read_where_they_are_named(tmp_path):
    (tmp_path / "nodes.json").write_text(NODE)

    source = read_source(
        arguments("--from", str(tmp_path / "nodes.json"), "--from", "-"), streams(NODE.replace('"a"', '"b"'))
    )

    assert (source.name, len(list(source.nodes()))) == (f"{tmp_path}/nodes.json, <stdin>", 2)


def test_what_is_passed_over_is_warned_of():
    given = streams(NODE + '{"kind": "Service", "metadata": {"name": "s"}}')
    list(read_source(arguments("--from", "-"), given).nodes())

    assert given.stderr.getvalue() == (  # type: ignore[attr-defined]
        "warning: <stdin>: passed over what is no Node, Pod or Namespace: 1 Service\n"
    )


def test_without_dumps_the_cluster_is_asked(tmp_path):
    file = kubeconfig(tmp_path, "http://127.0.0.1:1")

    assert read_source(arguments("--kubeconfig", file, "--context", "test"), streams()).name == "context test"


@pytest.mark.parametrize("option", ["context", "kubeconfig"])
def test_a_dump_and_a_cluster_are_one_too_many(option):
    with pytest.raises(UsageError) as caught:
        read_source(arguments("--from", "x", f"--{option}", "y"), streams())
    assert str(caught.value) == f"--from reads a dump, --{option} names a cluster: give one of them"


def test_standard_input_is_one_thing_only():
    with pytest.raises(UsageError, match=r"can be read once only$"):
        read_source(arguments("--from", "-", policy="-"), streams())
    with pytest.raises(UsageError, match=r"can be read once only$"):
        read_source(arguments("--from", "-", "--from", "-", policy="p.yaml"), streams())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Goes on by a second at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def reading(done: int, total: int | None = None, *, unit: str = "objects", is_over: bool = False) -> Reading:
    return Reading(what="pods", unit=unit, done=done, total=total, is_over=is_over)


@pytest.mark.parametrize(
    ("second", "shown"),
    [
        pytest.param(reading(2500, 15_000), "pods: 2,500 of 15,000", id="objects"),
        pytest.param(reading(2500), "pods: 2,500", id="objects-nobody-knows-how-many"),
        pytest.param(reading(5 * 10**8, 10**9, unit="bytes"), "pods: 50% of 1,000 MB", id="bytes"),
        pytest.param(reading(5 * 10**8, 0, unit="bytes"), "pods: 500 MB", id="bytes-nobody-knows-how-many"),
    ],
)
def test_a_long_pass_is_shown_and_cleared_in_the_end(second, shown):
    terminal = Terminal()
    line = ReadingLine(terminal, Clock())
    line(reading(1))
    line(second)
    line(reading(0, is_over=True))

    assert terminal.getvalue() == f"\r\x1b[Kreading {shown}\r\x1b[K"


def test_a_short_pass_is_not_shown():
    terminal = Terminal()
    line = ReadingLine(terminal, Clock())
    line(reading(1))
    line(reading(0, is_over=True))

    assert terminal.getvalue() == ""


def test_a_file_gets_no_line():
    file = io.StringIO()
    line = ReadingLine(file, Clock())
    line(reading(1)), line(reading(2)), line(reading(3))

    assert file.getvalue() == ""
