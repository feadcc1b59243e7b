"""``gpupolicy test``: runs policy tests."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gpupolicy.cli.parser import Subparsers, format_option
from gpupolicy.cli.streams import Streams
from gpupolicy.loading import load
from gpupolicy.manifests.files import find_files
from gpupolicy.policytests.running import run_tests
from gpupolicy.reporting.json_format import tests_to_json, to_text
from gpupolicy.reporting.text_format import format_tests, summarize_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOptions:
    """The arguments of the verb."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    paths: tuple[str, ...]
    format: str


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "test",
        description="Run policy tests: documents of kind GPUPolicyTest that say what a policy has to answer. "
        "Exit status: 0 all passed, 1 a case failed, 2 a test could not run or there is none.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a test file, or a folder that is searched for them")
    format_option(parser, "text", "json")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Runs the tests; failures go to standard output, the summary to standard error."""
    options = TestOptions(paths=tuple(args.paths), format=args.format)
    report = run_tests(find_files(options.paths), load)
    streams.write(to_text(tests_to_json(report)) if options.format == "json" else format_tests(report))
    streams.tell(summarize_tests(report))
    if report.findings:
        return 2
    if not report.tests:
        streams.tell(f"error: no policy test was found in {', '.join(options.paths)}")
        return 2
    return 1 if report.failed else 0
