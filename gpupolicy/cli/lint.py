"""``gpupolicy lint``: policies, and hand-written configurations beside them, judged before anything is applied."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from datetime import UTC, datetime

from gpupolicy.cli.parser import Subparsers, format_option
from gpupolicy.cli.streams import STANDARD_INPUT, Streams
from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.linting import lint, lint_text
from gpupolicy.loading.documents import read_file
from gpupolicy.reporting.json_format import lint_to_json, to_text
from gpupolicy.reporting.text_format import format_findings, summarize_lint

_NOT_JUDGED = frozenset({"kind-not-linted", "nothing-to-lint", "wrong-kind"})
_UNREADABLE = frozenset({"input-too-large", "not-utf-8", "yaml-alias-bomb", "yaml-too-deep", "yaml-unreadable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """The arguments of the verb."""

    files: tuple[str, ...]
    policy: str | None
    nodes: str | None
    format: str
    strict: bool


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "lint",
        description="Judge policies, KubeSchedulerConfigurations, webhook configurations and Nodes, by kind. "
        "Exit status: 0 no error, 1 an error, 2 something could not be read or nothing was judged.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a file, a folder, a pattern, or - for standard input")
    parser.add_argument("--policy", metavar="POLICY", help="judge the other kinds against this policy")
    parser.add_argument("--nodes", metavar="FILE", help="judge a policy against the nodes of this file")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors: exit status 1")
    format_option(parser, "text", "json")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Lints; findings go to standard output, the summary to standard error."""
    options = LintOptions(
        files=tuple(args.files), policy=args.policy, nodes=args.nodes, format=args.format, strict=args.strict
    )
    files = _find(options.files)
    results = [_lint(file, options, streams) for file in files]
    findings = tuple(finding for result in results for finding in result)
    is_json = options.format == "json"
    streams.write(to_text(lint_to_json(findings, len(files))) if is_json else format_findings(findings))
    streams.tell(summarize_lint(findings, len(files)))
    if all(_is_about_nothing(file, result) for file, result in zip(files, results, strict=True)):
        streams.tell(f"error: nothing was judged: no policy or configuration in {', '.join(options.files)}")
        return 2
    return _status(findings, options)


def _find(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the files; those that are no folder or pattern, the usual case, need no search."""
    if all(argument == STANDARD_INPUT or os.path.isfile(argument) for argument in arguments):
        return tuple(dict.fromkeys(arguments))
    from gpupolicy.manifests.files import find_files

    named = find_files(argument for argument in arguments if argument != STANDARD_INPUT)
    return (*named, STANDARD_INPUT) if STANDARD_INPUT in arguments else named


def _lint(file: str, options: LintOptions, streams: Streams) -> tuple[LocatedFinding, ...]:
    """Judges one file; in a folder's files, manifests of other kinds are not worth a remark each."""
    now = datetime.now(UTC)
    if file == STANDARD_INPUT:
        return lint_text(streams.read_bytes(), "<stdin>", nodes=options.nodes, policy=options.policy, now=now)
    findings = lint(file, nodes=options.nodes, policy=options.policy, now=now)
    return findings if file in options.files else tuple(f for f in findings if f.rule not in _NOT_JUDGED)


def _is_about_nothing(file: str, findings: tuple[LocatedFinding, ...]) -> bool:
    """Returns whether no document of a file is of a kind that lint judges."""
    rules = [finding.rule for finding in findings]
    if not rules or not _NOT_JUDGED.issuperset(rules):
        return False
    return file == STANDARD_INPUT or len(read_file(file)) <= len(rules)


def _status(findings: tuple[LocatedFinding, ...], options: LintOptions) -> int:
    if any(finding.rule in _UNREADABLE for finding in findings):
        return 2
    severities = {finding.severity for finding in findings}
    return 1 if Severity.ERROR in severities or (options.strict and Severity.WARNING in severities) else 0
