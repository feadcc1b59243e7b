"""``gpupolicy monitoring``: alert rules and a dashboard for webhook and slots, as they are shipped."""

from __future__ import annotations

import argparse
import re

from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.errors import UsageError, shown
from gpupolicy.resources import read_text

FILES = {
    "rules": "rules.yaml",
    "prometheus-rule": "prometheus-rule.yaml",
    "dashboard": "dashboard.json",
    "capacity-exporter": "capacity-exporter.yaml",
}
_WITH_RUNBOOK = ("rules", "prometheus-rule")
_RUNBOOK = "runbook: docs/"
_ADDRESS = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?&=%@+-]*")  # plain text in YAML, and no template


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "monitoring",
        description="Print what watches the webhook and the slots: alert rules for Prometheus (rules), the same for "
        "the Prometheus operator (prometheus-rule), a dashboard for Grafana (dashboard), or the Deployment and rights "
        "of gpupolicy capacity --serve (capacity-exporter).",
    )
    parser.add_argument("what", choices=tuple(FILES), metavar="WHAT", help=", ".join(FILES))
    parser.add_argument(
        "--runbook-base",
        metavar="URL",
        help="where runbook.md is published, for the links of the alerts (default: the path in the repository)",
    )


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Prints a file as it is shipped, but for the address of the runbook."""
    text = read_text("templates", f"monitoring/{FILES[args.what]}")
    streams.write(text if args.runbook_base is None else _link(text, args.what, args.runbook_base))
    return 0


def _link(text: str, what: str, base: str) -> str:
    if what not in _WITH_RUNBOOK:
        raise UsageError("--runbook-base goes with rules or prometheus-rule")
    if not _ADDRESS.fullmatch(base):
        raise UsageError(
            f"--runbook-base is {shown(base)}; expected is an address such as https://git.example.com/docs"
        )
    return text.replace(_RUNBOOK, f"runbook: {base.rstrip('/')}/")
