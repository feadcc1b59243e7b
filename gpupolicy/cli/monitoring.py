"""``gpupolicy monitoring``: alert rules and a dashboard for the webhook, as they are shipped."""

from __future__ import annotations

import argparse

from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.resources import read_text

FILES = {
    "rules": "rules.yaml",
    "prometheus-rule": "prometheus-rule.yaml",
    "dashboard": "dashboard.json",
}


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "monitoring",
        description="Print what watches the webhook: alert rules for Prometheus (rules), the same for the Prometheus "
        "operator (prometheus-rule), or a dashboard for Grafana (dashboard).",
    )
    parser.add_argument("what", choices=tuple(FILES), metavar="WHAT", help=", ".join(FILES))


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Prints a file as it is shipped."""
    streams.write(read_text("templates", f"monitoring/{FILES[args.what]}"))
    return 0
