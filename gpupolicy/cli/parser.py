"""An argument parser that writes to our streams and raises instead of leaving the process."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from gpupolicy.cli.streams import Streams
from gpupolicy.errors import UsageError

Subparsers = Any  # argparse names the type of add_subparsers() only privately


class ParsingEnded(Exception):  # noqa: N818 (nothing went wrong)
    """The arguments asked for help, and have it: nothing is left to run."""


class Parser(argparse.ArgumentParser):
    """``argparse`` for an edge that never calls ``sys.exit``."""

    def __init__(self, *, streams: Streams, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self._streams = streams

    def error(self, message: str) -> NoReturn:
        """Turns wrong usage into an exception that ends in exit status 2."""
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")

    def print_help(self, file: Any = None) -> None:
        """Writes the help to standard output."""
        self._streams.write(self.format_help())

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends the parsing, which argparse asks for only after help."""
        raise ParsingEnded


def format_option(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Adds ``--format`` with the formats that a verb offers, the first being the default."""
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help=f"how the result is written (default: {formats[0]})"
    )
