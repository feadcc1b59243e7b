"""``gpupolicy version``: which release this is, and which Kubernetes releases it knows."""

from __future__ import annotations

import argparse

import gpupolicy
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.model import KUBERNETES_VERSIONS


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    subparsers.add_parser("version", description="Print the version, and the Kubernetes releases that it knows.")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Prints the version."""
    streams.write(f"gpupolicy {gpupolicy.__version__}\n")
    streams.write(f"kubernetes {KUBERNETES_VERSIONS[0]} to {KUBERNETES_VERSIONS[-1]}\n")
    return 0
