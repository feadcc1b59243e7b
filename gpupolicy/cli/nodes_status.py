"""``gpupolicy nodes status``: what has drifted from the policy, and by whom."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpupolicy.cli.cluster_inputs import read_source
from gpupolicy.cli.inputs import read_policy
from gpupolicy.cli.nodes_fleet import NO_OWNERS, PodReader, read_fleet
from gpupolicy.cli.streams import Streams, check_read_once
from gpupolicy.cluster.workloads import CLAIM_KINDS
from gpupolicy.errors import Severity
from gpupolicy.reporting.nodes_output import write_status
from gpupolicy.reporting.nodes_text import summarize_drift
from gpupolicy.reporting.style import Style
from gpupolicy.rollout.drift import find_drift


def run_status(args: argparse.Namespace, streams: Streams) -> int:
    """Tells the drift; findings go to standard output, the summary to standard error."""
    check_read_once(args.policy, *args.dumps)
    policy = read_policy(args.policy, streams)
    source = read_source(args, streams, also=CLAIM_KINDS)
    fleet = read_fleet(policy, source, PodReader.from_source(policy, source, streams), args.field_manager, streams)
    findings = find_drift(policy, fleet.nodes, fleet.plan)
    style = Style(format=args.format, root=Path.cwd(), fail_on=Severity.WARNING)
    streams.write(write_status(fleet.plan, findings, style, source=source.name, names=fleet.names))
    if not fleet.plan.knows_owners:
        streams.tell(f"note: {NO_OWNERS}")
    streams.tell(summarize_drift(findings, fleet.plan.nodes))
    return 1 if any(finding.is_drift for finding in findings) else 0
