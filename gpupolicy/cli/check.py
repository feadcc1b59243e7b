"""``gpupolicy check``: manifests judged offline, as the webhook would judge their pods."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gpupolicy.cli.inputs import Manifests, current_time, manifest_arguments, policy_argument, read_policy
from gpupolicy.cli.parser import Subparsers, format_option
from gpupolicy.cli.streams import Streams
from gpupolicy.errors import Severity
from gpupolicy.manifests.checking import check_documents
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.report import CheckReport
from gpupolicy.reporting.json_format import check_to_json, to_text
from gpupolicy.reporting.text_format import format_check, summarize_check

FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The arguments of the verb."""

    policy: str
    files: tuple[str, ...]
    namespace: str
    format: str
    strict: bool


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "check",
        description="Judge the pods of manifests, and of the workloads that make pods, without a cluster. "
        "Exit status: 0 nothing denied, 1 something denied, 2 something could not be read or nothing was checked.",
    )
    policy_argument(parser)
    manifest_arguments(parser)
    parser.add_argument("--strict", action="store_true", help="warnings count as denied: exit status 1")
    format_option(parser, *FORMATS)


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Checks manifests; findings go to standard output, the summary to standard error."""
    options = CheckOptions(
        policy=args.policy,
        files=tuple(args.files),
        namespace=args.namespace,
        format=args.format,
        strict=args.strict,
    )
    policy = read_policy(options.policy, streams)
    manifests = Manifests(options.files, streams)
    surroundings = Surroundings(namespace=options.namespace, now=current_time())
    report = check_documents(policy, manifests.documents(), files=len(manifests.files), surroundings=surroundings)
    streams.write(to_text(check_to_json(report)) if options.format == "json" else format_check(report))
    streams.tell(summarize_check(report))
    return _status(report, options, streams)


def _status(report: CheckReport, options: CheckOptions, streams: Streams) -> int:
    """Returns 2 where the answer is not whole: what nobody read may hold anything."""
    if report.unreadable:
        return 2
    if not report.objects:
        streams.tell(f"error: nothing was checked: no Kubernetes object in {', '.join(options.files)}")
        return 2
    if report.has(Severity.ERROR):
        return 1
    return 1 if options.strict and report.has(Severity.WARNING) else 0
