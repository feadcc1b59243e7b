"""``gpupolicy demo``: the whole story on this machine, without a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    subparsers.add_parser("demo", description="Tell the whole story on this machine, without a cluster.")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Tells the story to standard output, chapter by chapter."""
    from gpupolicy.demo import tell

    with TemporaryDirectory(prefix="gpupolicy-demo-") as folder:
        for chapter in tell(Path(folder)):
            streams.stdout.write(chapter + "\n")
            streams.stdout.flush()
    return 0
