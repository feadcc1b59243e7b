"""``gpupolicy test``: runs policy tests."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gpupolicy.cli.parser import Subparsers, format_option
from gpupolicy.cli.streams import Streams
from gpupolicy.errors import UsageError
from gpupolicy.loading import load
from gpupolicy.manifests.files import find_files
from gpupolicy.policytests.report import TestReport
from gpupolicy.policytests.running import run_tests
from gpupolicy.reporting.coverage_format import format_coverage
from gpupolicy.reporting.json_format import tests_to_json, to_text
from gpupolicy.reporting.junit_format import tests_to_junit
from gpupolicy.reporting.text_format import format_tests, summarize_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOptions:
    """The arguments of the verb. ``fail_under``: the least coverage in percent that is fine."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    paths: tuple[str, ...]
    format: str
    coverage: bool
    fail_under: int


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "test",
        description="Run policy tests: documents of kind GPUPolicyTest that say what a policy has to answer. "
        "Exit status: 0 all passed, 1 a case failed or too little is covered, 2 a test could not run or there is none.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a test file, or a folder that is searched for them")
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="also tell which groups, exemptions ... no case has to do with, and which rules fired",
    )
    parser.add_argument(
        "--fail-under", type=int, default=0, metavar="PERCENT", help="exit status 1 where a policy is covered by less"
    )
    format_option(parser, "text", "json", "junit")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Runs the tests; failures go to standard output, the summary to standard error."""
    options = TestOptions(
        paths=tuple(args.paths), format=args.format, coverage=args.coverage, fail_under=args.fail_under
    )
    if not 0 <= options.fail_under <= 100:
        raise UsageError(f"--fail-under is {options.fail_under}; a number from 0 to 100 is expected")
    report = run_tests(find_files(options.paths), load)
    streams.write(_write(report, options))
    streams.tell(summarize_tests(report))
    if report.findings:
        return 2
    if not report.tests:
        streams.tell(f"error: no policy test was found in {', '.join(options.paths)}")
        return 2
    return 1 if report.failed or _is_under(report, options, streams) else 0


def _write(report: TestReport, options: TestOptions) -> str:
    if options.format == "json":
        return to_text(tests_to_json(report))
    if options.format == "junit":
        return tests_to_junit(report)
    return format_tests(report) + (format_coverage(report.coverage) if options.coverage else "")


def _is_under(report: TestReport, options: TestOptions, streams: Streams) -> bool:
    """Returns whether any policy is covered by less than was asked for, and says which."""
    below = [coverage for coverage in report.coverage if coverage.percent < options.fail_under]
    for coverage in below:
        streams.tell(f"{coverage.policy} is covered by {coverage.percent} %, {options.fail_under} % are asked for")
    return bool(below)
