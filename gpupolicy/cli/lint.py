"""``gpupolicy lint``: policies, and hand-written configurations beside them, judged before anything is applied."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gpupolicy.cli.outcome import Outcome, outcome_arguments, read_outcome
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import STANDARD_INPUT, Streams
from gpupolicy.errors import LocatedFinding, UsageError
from gpupolicy.linting import lint, lint_text
from gpupolicy.loading.documents import Document, read_documents, read_file
from gpupolicy.loading.rule_ids import READING_RULES
from gpupolicy.reporting.output import write_lint
from gpupolicy.reporting.text_format import summarize_lint

_NOT_JUDGED = frozenset({"kind-not-linted", "nothing-to-lint", "wrong-kind"})
_UNREADABLE = frozenset({"input-too-large", "not-utf-8", "yaml-alias-bomb", "yaml-too-deep", "yaml-unreadable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """The arguments of the verb."""

    files: tuple[str, ...]
    policy: str | None
    nodes: str | None
    skip_others: bool
    outcome: Outcome


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "lint",
        description="Judge policies, KubeSchedulerConfigurations, webhook configurations and Nodes, by kind. "
        "Exit status: 0 no error, 1 an error, 2 something could not be read or nothing was judged.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a file, a folder, a pattern, or - for standard input")
    parser.add_argument("--policy", action="append", metavar="POLICY", help="judge the other kinds against this policy")
    parser.add_argument(
        "--nodes", action="append", metavar="FILE", help="judge a policy against the nodes of this file"
    )
    parser.add_argument(
        "--skip-others",
        action="store_true",
        help="pass over documents of other kinds and sources of templates, even if there is nothing else",
    )
    outcome_arguments(parser)


def _single(option: str, given: Sequence[str] | None) -> str | None:
    """Returns the one value of an option; of several all but the last would be lost without a word."""
    if given and len(given) > 1:
        raise UsageError(f"{option} takes one file, {len(given)} are given")
    return given[0] if given else None


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Lints; findings go to standard output, the summary to standard error."""
    options = LintOptions(
        files=tuple(args.files),
        policy=_single("--policy", args.policy),
        nodes=_single("--nodes", args.nodes),
        skip_others=args.skip_others,
        outcome=read_outcome(args),
    )
    files = _find(options.files)
    given = streams.read_bytes() if STANDARD_INPUT in files else b""
    results = [_lint(file, options, given) for file in files]
    findings = tuple(finding for result in results for finding in result)
    _tell(findings, files, options, streams)
    about_nothing = [_is_about_nothing(file, result, given) for file, result in zip(files, results, strict=True)]
    if all(about_nothing) and not options.skip_others:
        streams.tell(f"error: nothing was judged: no policy or configuration in {', '.join(options.files)}")
        return 2
    if any(finding.rule in _UNREADABLE for finding in findings):
        return 2
    return 1 if options.outcome.fails(findings) else 0


def _tell(findings: tuple[LocatedFinding, ...], files: tuple[str, ...], options: LintOptions, streams: Streams) -> None:
    outcome = options.outcome
    is_whole = not any(finding.rule in _UNREADABLE for finding in findings)
    told = tuple(finding for finding in findings if outcome.is_told(finding))
    streams.write(write_lint(told, outcome.style, files, is_whole=is_whole))
    if not outcome.quiet and not outcome.style.summary_only:
        streams.tell(summarize_lint(findings, len(files)))


def _find(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the files; those that are no folder or pattern, the usual case, need no search."""
    if all(argument == STANDARD_INPUT or os.path.isfile(argument) for argument in arguments):
        return tuple(dict.fromkeys(arguments))
    from gpupolicy.manifests.files import find_files

    named = find_files(argument for argument in arguments if argument != STANDARD_INPUT)
    return (*named, STANDARD_INPUT) if STANDARD_INPUT in arguments else named


def _lint(file: str, options: LintOptions, given: bytes) -> tuple[LocatedFinding, ...]:
    """Judges one file; in a folder's files, manifests of other kinds are not worth a remark each."""
    now = datetime.now(UTC)
    if file == STANDARD_INPUT:
        findings = lint_text(given, "<stdin>", nodes=options.nodes, policy=options.policy, now=now)
    else:
        findings = lint(file, nodes=options.nodes, policy=options.policy, now=now)
    if options.skip_others:
        return _about_judged(file, findings, given)
    is_named = file in options.files
    return findings if is_named else tuple(finding for finding in findings if not _is_about_others(finding))


def _is_about_others(finding: LocatedFinding) -> bool:
    """Returns whether a finding says no more than that a document is not for lint; a policy's version is for it."""
    return finding.rule in _NOT_JUDGED and not (finding.rule == "wrong-kind" and finding.field)


def _about_judged(file: str, findings: tuple[LocatedFinding, ...], given: bytes) -> tuple[LocatedFinding, ...]:
    """Leaves out what the reader says of documents that are not for lint."""
    told = [finding for finding in findings if not _is_about_others(finding)]
    if not told:
        return ()
    documents = _read(file, given)
    others = [document.line for document in documents if not _is_for_lint(document)]
    starts = [document.line for document in documents]
    return tuple(f for f in told if f.rule not in READING_RULES or _start_of(f, starts) not in others)


def _is_for_lint(document: Document) -> bool:
    from gpupolicy.linting.foreign import is_foreign
    from gpupolicy.loading.policy_document import is_policy
    from gpupolicy.manifests.unrendered import is_template

    return is_policy(document) or is_foreign(document) if document.readable else not is_template(document)


def _start_of(finding: LocatedFinding, starts: list[int]) -> int | None:
    """Returns the line where the document of a finding starts."""
    return max((start for start in starts if start <= (finding.line or 0)), default=None)


def _is_about_nothing(file: str, findings: tuple[LocatedFinding, ...], given: bytes) -> bool:
    """Returns whether no document of a file is of a kind that lint judges; ``given`` is standard input."""
    if not findings or not all(_is_about_others(finding) for finding in findings):
        return False
    return len(_read(file, given)) <= len(findings)


def _read(file: str, given: bytes) -> tuple[Document, ...]:
    return read_documents(given, "<stdin>") if file == STANDARD_INPUT else read_file(file)
