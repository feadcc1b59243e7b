"""What check and lint have in common at their end: how the result is written, and what makes it a failure."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpupolicy.cli.parser import format_option
from gpupolicy.errors import LocatedFinding, Severity, UsageError
from gpupolicy.reporting.style import FORMATS, SUMMARY_FORMATS, Style, is_failing


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The arguments that shape the result. ``quiet``: only what fails, and no summary."""

    style: Style
    quiet: bool

    def is_told(self, finding: LocatedFinding) -> bool:
        """Returns whether a finding is worth telling."""
        return not self.quiet or is_failing(finding, self.style.fail_on)

    def fails(self, findings: Iterable[LocatedFinding]) -> bool:
        """Returns whether any finding makes the run a failure."""
        return any(is_failing(finding, self.style.fail_on) for finding in findings)


def outcome_arguments(parser: argparse.ArgumentParser, *more_formats: str) -> None:
    """Adds --format, --strict, --fail-on, --quiet and --summary."""
    format_option(parser, *FORMATS, *more_formats)
    failing = parser.add_mutually_exclusive_group()
    failing.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        default="error",
        help="the least severity that ends in exit status 1 (default: error)",
    )
    failing.add_argument("--strict", action="store_true", help="the same as --fail-on warning")
    told = parser.add_mutually_exclusive_group()
    told.add_argument("--quiet", action="store_true", help="tell only what fails, without a summary")
    told.add_argument("--summary", action="store_true", help="tell only the summary, on standard output")


def read_outcome(args: argparse.Namespace) -> Outcome:
    """Returns the arguments as one value.

    Raises:
        UsageError: a summary is wanted in a format that has none.
    """
    if args.summary and args.format not in SUMMARY_FORMATS:
        raise UsageError(f"--summary goes with --format {' or '.join(SUMMARY_FORMATS)}, not {args.format}")
    style = Style(
        format=args.format,
        root=Path.cwd(),
        fail_on=Severity.WARNING if args.strict else Severity(args.fail_on),
        summary_only=args.summary,
    )
    return Outcome(style=style, quiet=args.quiet)
