"""``gpupolicy init``: a starter policy from the nodes of a cluster or a dump."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpupolicy.cli.cluster_inputs import cluster_arguments, read_source
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import STANDARD_INPUT, Streams, output_file
from gpupolicy.cluster.errors import ForbiddenError
from gpupolicy.cluster.source import Source
from gpupolicy.discovery import discover
from gpupolicy.discovery.profiles import read_configuration
from gpupolicy.errors import InputError, UsageError
from gpupolicy.linting import lint, lint_text
from gpupolicy.linting.foreign.shapes import WRONG_TYPE
from gpupolicy.loading.documents import read_file
from gpupolicy.node import JSONMap
from gpupolicy.reporting.text_format import format_findings

_NO_NODE = (
    "the policy has no node yet, because no label tells what their GPUs are: label the nodes as the notes say, or run "
    "feature discovery and then init again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """The arguments of the verb; where nodes come from is read by ``cluster_inputs``."""

    scheduler_config: str | None
    output: str | None
    force: bool


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "init",
        description="Write a starter policy for the nodes of a cluster or a dump: GPU types by their labels, slot "
        "groups as the nodes are labelled or a proposal, with a comment on every part. Remarks go to standard error. "
        "Exit status: 0 written, 1 written but it selects no node yet or lint finds something in it, 2 no GPU node or "
        "something could not be read.",
    )
    cluster_arguments(parser)
    parser.add_argument(
        "--scheduler-config", metavar="FILE", help="a KubeSchedulerConfiguration whose profiles and weights are taken"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="a file to write (default, or -: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite the file if it is there")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Writes a policy; the exit status is 1 where it selects no node, or lint finds something in it."""
    options = InitOptions(scheduler_config=args.scheduler_config, output=output_file(args.output), force=args.force)
    _refuse_overwriting(options)
    configuration = _read_configuration(options)
    source = read_source(args, streams)
    unseen: list[str] = []
    found = discover(
        source.nodes(),
        _pods(source, unseen),
        source=source.name,
        configuration=configuration,
        configuration_name=options.scheduler_config or "",
    )
    for note in (*found.notes, *unseen):
        streams.tell(f"note: {note}")
    _write(found.text, options, streams)
    findings = lint_text(found.text, options.output or "<policy>")
    streams.stderr.write(format_findings(findings))
    if not found.selects_nodes:
        streams.tell(f"error: {_NO_NODE}")
    return 1 if findings or not found.selects_nodes else 0


def _refuse_overwriting(options: InitOptions) -> None:
    if options.output is not None and not options.force and Path(options.output).exists():
        raise UsageError(f"{options.output} is there already: write elsewhere, or --force")


def _read_configuration(options: InitOptions) -> Mapping[str, object] | None:
    file = options.scheduler_config
    if file is None:
        return None
    if file == STANDARD_INPUT:
        raise UsageError("--scheduler-config takes a file, not standard input")
    configuration = read_configuration(read_file(file), file)
    for finding in lint(file):
        if finding.rule == WRONG_TYPE:  # kube-scheduler would not read it, so nobody knows what is meant
            raise InputError(finding.message, file=file, line=finding.line, column=finding.column)
    return configuration


def _pods(source: Source, unseen: list[str]) -> Iterator[JSONMap]:
    """Yields the pods; a policy can do without them, so nobody needs the right to list them."""
    try:
        yield from source.pods()
    except ForbiddenError as error:
        unseen.append(f"pods are not looked at: {error}")


def _write(text: str, options: InitOptions, streams: Streams) -> None:
    if options.output is None:
        streams.write(text)
        return
    with open(options.output, "w" if options.force else "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
    streams.tell(f"{options.output}: written; next: gpupolicy lint {options.output}")
