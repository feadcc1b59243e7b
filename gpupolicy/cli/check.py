"""``gpupolicy check``: manifests judged offline, as the webhook would judge their pods."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpupolicy.cli.inputs import Manifests, find_nothing, manifest_arguments, policy_argument, read_policy
from gpupolicy.cli.outcome import Outcome, outcome_arguments, read_outcome
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.progress import Progress
from gpupolicy.cli.streams import Streams, check_read_once
from gpupolicy.cli.surroundings import read_surroundings
from gpupolicy.errors import InputError, LocatedFinding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.manifests.report import CheckReport
from gpupolicy.manifests.rule_ids import UNREADABLE_RULES
from gpupolicy.manifests.running import Task, check_files, count_processes
from gpupolicy.manifests.unrendered import is_template
from gpupolicy.reporting.output import write_check
from gpupolicy.reporting.text_format import format_findings, summarize_check

if TYPE_CHECKING:
    from gpupolicy.manifests.comparing import Earlier


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The arguments of the verb; ``old`` holds what was given with --old or --diff."""

    policy: str
    files: tuple[str, ...]
    namespace: str
    old: tuple[str, ...]
    allow_unreadable: bool
    skip_others: bool
    outcome: Outcome


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "check",
        description="Judge the pods of manifests, and of the workloads that make pods, without a cluster. "
        "Exit status: 0 nothing denied, 1 something denied, 2 something could not be read or nothing was checked.",
    )
    policy_argument(parser)
    manifest_arguments(parser)
    changes = parser.add_mutually_exclusive_group()
    changes.add_argument(
        "--old",
        metavar="FILE",
        action="append",
        help="judge changes only: the manifests as they were, as a file, a folder, a pattern or -; repeatable",
    )
    changes.add_argument("--diff", metavar="DIR", help="judge changes only: the folder of the manifests as they were")
    parser.add_argument(
        "--allow-unreadable",
        action="store_true",
        help="pass over what cannot be read, such as templates of Helm, instead of ending in exit status 2",
    )
    parser.add_argument(
        "--skip-others", action="store_true", help="pass over files without a Kubernetes object, even if all are so"
    )
    outcome_arguments(parser)


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Checks manifests; findings go to standard output, the summary to standard error."""
    options = CheckOptions(
        policy=args.policy,
        files=tuple(args.files),
        namespace=args.namespace,
        old=_old_arguments(args),
        allow_unreadable=args.allow_unreadable,
        skip_others=args.skip_others,
        outcome=read_outcome(args),
    )
    policy = read_policy(options.policy, streams)
    manifests = Manifests(options.files, streams)
    task = Task(
        policy=policy,
        files=manifests.files,
        standard_input=manifests.standard_input,
        surroundings=read_surroundings(policy, manifests, options.namespace),
        earlier=_read_earlier(options, streams) if options.old else None,
        skip_others=options.skip_others,
    )
    processes = count_processes(len(task.files))
    with Progress(streams.stderr, len(task.files)) as progress:
        report = check_files(task, processes=processes, on_file=lambda: progress.advance(processes))
    if options.allow_unreadable:
        report = report.with_findings(_allow)
    _tell(report, options, manifests.files, streams)
    return _status(report, options, streams)


def _old_arguments(args: argparse.Namespace) -> tuple[str, ...]:
    if args.diff is not None and not os.path.isdir(args.diff):
        raise InputError("--diff takes a folder, and there is none", file=args.diff)
    old = tuple(args.old or ()) if args.diff is None else (args.diff,)
    check_read_once(*old, args.policy, *args.files)
    return old


def _read_earlier(options: CheckOptions, streams: Streams) -> Earlier:
    """Reads the manifests as they were; what cannot be read there leaves objects new, and says so."""
    from gpupolicy.manifests.comparing import Earlier

    documents = tuple(Manifests(options.old, streams).documents())
    if not options.outcome.quiet:
        streams.stderr.write(format_findings(_not_compared(documents)))
    return Earlier.from_documents(documents, options.namespace)


def _not_compared(documents: Iterable[Document]) -> Iterable[LocatedFinding]:
    for document in documents:
        if not document.readable and not is_template(document):
            for finding in document.findings:
                message = f"nothing is compared with this: {finding.message}"
                yield replace(finding, severity=Severity.WARNING, message=message)


def _allow(finding: LocatedFinding) -> LocatedFinding:
    """Returns a finding so that one about what cannot be read fails nothing."""
    return replace(finding, severity=Severity.INFO) if finding.rule in UNREADABLE_RULES else finding


def _tell(report: CheckReport, options: CheckOptions, files: tuple[str, ...], streams: Streams) -> None:
    outcome = options.outcome
    told = report
    if outcome.quiet:
        told = report.with_findings(lambda finding: finding if outcome.is_told(finding) else None)
    streams.write(write_check(told, outcome.style, files))
    if not outcome.quiet and not outcome.style.summary_only:
        streams.tell(summarize_check(report))


def _status(report: CheckReport, options: CheckOptions, streams: Streams) -> int:
    """Returns 2 where the answer is not whole: what nobody read may hold anything."""
    if report.unreadable and not options.allow_unreadable:
        return 2
    is_allowed = options.skip_others or (report.unreadable and not report.objects)
    if not is_allowed and (why := find_nothing(report.objects, options.files)):
        streams.tell(f"error: nothing was checked: {why}")
        return 2
    return 1 if options.outcome.fails(report.every_finding) else 0
