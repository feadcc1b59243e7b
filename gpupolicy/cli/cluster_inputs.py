"""Where a verb reads nodes and pods: dumps that ``--from`` names, else the live cluster."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Collection
from typing import TextIO

from gpupolicy.cli.progress import StatusLine
from gpupolicy.cli.streams import STANDARD_INPUT, Streams, check_read_once
from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.source import Reading
from gpupolicy.errors import UsageError


def cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds ``--from``, ``--context`` and ``--kubeconfig``."""
    parser.add_argument(
        "--from",
        dest="dumps",
        action="append",
        default=[],
        metavar="FILE",
        help="a dump of nodes or pods (kubectl get -o json or yaml, .gz too), a folder, or - for standard input; "
        "may be repeated (default: the live cluster)",
    )
    live_arguments(parser)


def live_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds ``--context`` and ``--kubeconfig``, for verbs that need a live cluster."""
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig (default: its current one)")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="the way to the cluster (default: $KUBECONFIG, ~/.kube/config, or the pod)"
    )


def read_source(args: argparse.Namespace, streams: Streams, *, also: Collection[str] = ()) -> Dumps | LiveCluster:
    """Returns what the arguments name, a ``Source``; nothing of it is read yet.

    Args:
        args: of ``cluster_arguments``.
        streams: standard input may be a dump; standard error shows how far the reading is.
        also: kinds beside Node, Pod and Namespace that a dump will be asked for.

    Raises:
        UsageError: dumps and a cluster are named, or two things are read from standard input.
        InputError: a dump or the kubeconfig cannot be used.
        ClusterError: no way to a cluster is known.
        MissingExtraError: the client is not installed.
    """
    if not args.dumps:
        return read_cluster(args, streams, instead="to read a dump instead: --from FILE")
    for option in ("context", "kubeconfig"):
        if getattr(args, option) is not None:
            raise UsageError(f"--from reads a dump, --{option} names a cluster: give one of them")
    is_given = STANDARD_INPUT in args.dumps
    check_read_once(*args.dumps, getattr(args, "policy", None))
    return Dumps(
        args.dumps,
        streams.stdin.buffer if is_given else b"",
        also=also,
        on_read=ReadingLine(streams.stderr),
        on_note=lambda note: streams.tell(f"warning: {note}"),
    )


def read_cluster(args: argparse.Namespace, streams: Streams, *, instead: str) -> LiveCluster:
    """Returns the live cluster, for verbs that change it, too (``nodes apply``).

    Args:
        args: of ``live_arguments``.
        streams: standard error shows how far the reading is.
        instead: what to do where no way to a cluster is known, for the message.

    Raises:
        InputError: the kubeconfig cannot be used.
        ClusterError: no way to a cluster is known.
        MissingExtraError: the client is not installed.
    """
    return connect(
        kubeconfig=args.kubeconfig,
        context=args.context,
        environ=os.environ,
        on_read=ReadingLine(streams.stderr),
        instead=instead,
    )


class ReadingLine:
    """A line on the terminal that says how far a pass is; a pass that is over within a second shows none."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._line = StatusLine(stream, clock)

    def __call__(self, reading: Reading) -> None:
        """Shows how far it is; clears the line when the pass is over."""
        if reading.is_over:
            self._line.clear()
        else:
            self._line.show(lambda: f"reading {_how_far(reading)}")


def _how_far(reading: Reading) -> str:
    if reading.unit == "bytes":
        total = reading.total or 0
        share = f"{100 * reading.done // total}% of " if total else ""
        return f"{reading.what}: {share}{max(total, reading.done) / 1e6:,.0f} MB"
    of = f" of {reading.total:,}" if reading.total is not None else ""
    return f"{reading.what}: {reading.done:,}{of}"
