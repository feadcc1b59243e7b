"""``gpupolicy schema``: the JSON Schema of the policy format, with every default."""

from __future__ import annotations

import argparse

from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.resources import read_text


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    subparsers.add_parser(
        "schema", description="Print the JSON Schema (2020-12) of the policy format, for editors and other tools."
    )


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Prints the schema as it is shipped."""
    streams.write(read_text("loading", "policy.schema.json"))
    return 0
