"""``gpupolicy nodes``: plan, apply and status of the labels and taints that a policy wants on nodes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from gpupolicy.cli.cluster_inputs import cluster_arguments, live_arguments
from gpupolicy.cli.inputs import policy_argument
from gpupolicy.cli.numbers import whole_number
from gpupolicy.cli.parser import Parser, Subparsers, format_option
from gpupolicy.cli.streams import Streams
from gpupolicy.reporting.style import FORMATS

ACTIONS = {
    "plan": "tell what would change, for whom, and what is won and lost",
    "apply": "make it so, batch by batch",
    "status": "tell what has drifted from the policy, and by whom",
}
FIELD_MANAGER = "gpupolicy"


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "nodes",
        description="Put nodes under a policy: their labels and taints, against a cluster or dumps of one. "
        "gpupolicy nodes ACTION --help tells more of one action.",
    )
    streams: Streams = parser._streams
    actions = parser.add_subparsers(
        title="actions",
        metavar="ACTION",
        dest="action",
        required=True,
        parser_class=partial(Parser, streams=streams),
    )
    _add_plan(actions)
    _add_apply(actions)
    _add_status(actions)


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Runs one of the actions."""
    if args.action == "plan":
        from gpupolicy.cli.nodes_plan import run_plan

        return run_plan(args, streams)
    if args.action == "apply":
        from gpupolicy.cli.nodes_apply import run_apply

        return run_apply(args, streams)
    from gpupolicy.cli.nodes_status import run_status

    return run_status(args, streams)


def _add_plan(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "plan",
        help=ACTIONS["plan"],
        description="Tell which node belongs to which slot group, what changes on it and why, which pods would be "
        "misplaced, and which slots are won and lost. Nothing is changed. Exit status: 0, with --exit-code 1 where "
        "there is something to do; 2 something could not be read.",
    )
    _common(parser)
    format_option(parser, "text", "json")
    parser.add_argument("--exit-code", action="store_true", help="end in exit status 1 where there is something to do")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="save the plan, for gpupolicy nodes apply --plan FILE (- is not taken)"
    )


def _add_apply(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "apply",
        help=ACTIONS["apply"],
        description="Set the labels and taints that the policy wants, batch by batch, and look after each whether the "
        "nodes are well. Pods stay where they are unless --drain is given. Exit status: 0 all is as planned, 1 "
        "refused, or not everything was done, 2 wrong usage, or the cluster could not be read.",
    )
    _common(parser, live_arguments)
    parser.add_argument("--from", dest="dumps", action="append", help=argparse.SUPPRESS)  # to say why it is refused
    format_option(parser, "text", "json")
    parser.add_argument("--plan", metavar="FILE", help="a saved plan; refused if nodes have changed since")
    parser.add_argument("--yes", action="store_true", help="do not ask (needed where standard input is no terminal)")
    parser.add_argument(
        "--dry-run", choices=("server",), metavar="server", help="let the API server judge every change and keep none"
    )
    parser.add_argument("--force-conflicts", action="store_true", help="take over labels that other field managers own")
    parser.add_argument(
        "--batch-size",
        type=whole_number(1, 999_999, "is no whole number above 0"),
        metavar="NODES",
        help="nodes at a time (default: a twentieth, at least 10)",
    )
    parser.add_argument(
        "--batch-pause", type=_seconds, default=0.0, metavar="SECONDS", help="wait between batches (default: 0)"
    )
    parser.add_argument(
        "--health-timeout",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long nodes may take to be well after a batch, else the apply stops (default: 30)",
    )
    parser.add_argument(
        "--drain",
        action="store_true",
        help="evict the pods that would be misplaced; PodDisruptionBudgets are honoured",
    )
    parser.add_argument(
        "--drain-timeout",
        type=_seconds,
        default=300.0,
        metavar="SECONDS",
        help="how long the pods of a batch may take to go, else their nodes are left as they are (default: 300)",
    )


def _add_status(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "status",
        help=ACTIONS["status"],
        description="Tell what differs between the nodes and the policy: labels changed by hand or by a kubelet, other "
        "owners, GPUs lost. Exit status: 0 no drift, 1 drift, 2 something could not be read.",
    )
    _common(parser)
    format_option(parser, *FORMATS)


def _common(
    parser: argparse.ArgumentParser, source_arguments: Callable[[argparse.ArgumentParser], None] = cluster_arguments
) -> None:
    policy_argument(parser)
    source_arguments(parser)
    parser.add_argument(
        "--field-manager",
        metavar="NAME",
        default=FIELD_MANAGER,
        help=f"who our apply is to the API server (default: {FIELD_MANAGER})",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 1_000_000:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of seconds')
    return seconds
