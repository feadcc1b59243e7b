"""``gpupolicy nodes plan``: what would change, for whom, and what is won and lost."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpupolicy.cli.cluster_inputs import read_source
from gpupolicy.cli.inputs import read_policy
from gpupolicy.cli.nodes_fleet import NO_OWNERS, PodReader, read_fleet
from gpupolicy.cli.streams import STANDARD_INPUT, Streams, check_read_once
from gpupolicy.cluster.workloads import CLAIM_KINDS
from gpupolicy.errors import UsageError
from gpupolicy.reporting.json_format import to_text
from gpupolicy.reporting.nodes_json import plan_to_json
from gpupolicy.reporting.nodes_text import format_plan, summarize_plan


def run_plan(args: argparse.Namespace, streams: Streams) -> int:
    """Makes the plan, tells it, and saves it where that is asked for."""
    if args.output == STANDARD_INPUT:
        raise UsageError("-o takes a file; --format json writes the plan to standard output")
    check_read_once(args.policy, *args.dumps)
    policy = read_policy(args.policy, streams)
    source = read_source(args, streams, also=CLAIM_KINDS)
    plan = read_fleet(policy, source, PodReader.from_source(policy, source, streams), args.field_manager, streams).plan
    is_json = args.format == "json"
    written = to_text(plan_to_json(plan, source.name)) if is_json or args.output is not None else ""
    if args.output is not None:
        Path(args.output).write_text(written, encoding="ascii")
    streams.write(written if is_json else format_plan(plan))
    if not plan.knows_owners:
        streams.tell(f"note: {NO_OWNERS}")
    streams.tell(summarize_plan(plan))
    return 1 if args.exit_code and not plan.is_empty else 0
