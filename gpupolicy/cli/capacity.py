"""``gpupolicy capacity``: what the slot groups have, hold and have left; once, again and again, or as metrics."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpupolicy.cli.cluster_inputs import cluster_arguments, read_source
from gpupolicy.cli.cluster_surroundings import garbage_collection_paused, read_known_claims, read_namespace_labels
from gpupolicy.cli.extras import needs_extra
from gpupolicy.cli.inputs import current_time, policy_argument, read_policy
from gpupolicy.cli.interrupts import ended_like_ctrl_c
from gpupolicy.cli.numbers import seconds
from gpupolicy.cli.parser import Subparsers, format_option
from gpupolicy.cli.streams import STANDARD_INPUT, Streams, check_read_once
from gpupolicy.cli.watching import Reading, describe_reading, draw, read_repeatedly, width_of
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.workloads import CLAIM_KINDS
from gpupolicy.errors import UsageError, reason_of
from gpupolicy.inventory import Capacity, capacity
from gpupolicy.inventory.figures import PerGPU
from gpupolicy.inventory.requests import milli, whole
from gpupolicy.inventory.what_if import read_change
from gpupolicy.model import Policy
from gpupolicy.quantity import QuantityError, parse_quantity
from gpupolicy.reporting.capacity_json import capacity_to_json
from gpupolicy.reporting.capacity_text import Page, format_capacity, summarize_capacity
from gpupolicy.reporting.json_format import to_text
from gpupolicy.rollout.planning import as_assigned

_WATCH_SECONDS, _REFRESH_SECONDS = 10, 60
_SECONDS = seconds(1, 24 * 3600)
_NO_GROUPS = (
    "no node is labelled for a slot group yet: --as-planned counts with the groups that the policy would give, and "
    "gpupolicy nodes plan shows the labels that are missing"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOptions:
    """The arguments of the verb beside those of the cluster. ``serve``: address and port."""

    policy: str
    format: str
    what_if: tuple[str, ...]
    per_gpu: PerGPU
    tolerates: tuple[str, ...]
    as_planned: bool
    watch: int | None
    serve: tuple[str, int] | None
    refresh: int


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "capacity",
        description="Count the slots of each GPU type and slot group: total, used, free now and blocked; the largest "
        "request that fits now, stranded GPUs and why, misplaced pods, and what becomes free when. Exit status: 0 "
        "counted, 2 something could not be read or no node is of the policy's GPU types.",
    )
    policy_argument(parser)
    cluster_arguments(parser)
    parser.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="CHANGE",
        help="show the figures after a change as well: 'SLOT-8: +2' (new, empty nodes), 'SLOT-8: -2' (the emptiest "
        "taken away), 'SLOT-8: +2 from SLOT-4' (the emptiest moved); SLOT-8/v100 names the GPU type; repeatable",
    )
    parser.add_argument(
        "--per-gpu",
        type=_per_gpu,
        default=PerGPU(),
        metavar="AMOUNTS",
        help="cpu and memory that a pod is taken to need for each GPU (default: cpu=1,memory=1Gi)",
    )
    parser.add_argument(
        "--tolerates", action="append", default=[], metavar="KEY", help="a taint that GPU pods tolerate; repeatable"
    )
    parser.add_argument(
        "--as-planned", action="store_true", help="count with the groups that the policy would give, not the labels"
    )
    often = parser.add_mutually_exclusive_group()
    often.add_argument(
        "--watch",
        type=_SECONDS,
        nargs="?",
        const=_WATCH_SECONDS,
        metavar="SECONDS",
        help=f"read and show again until Ctrl-C (default: every {_WATCH_SECONDS} s)",
    )
    often.add_argument("--serve", type=_address, metavar="HOST:PORT", help="serve the figures as Prometheus metrics")
    parser.add_argument(
        "--refresh",
        type=_SECONDS,
        default=_REFRESH_SECONDS,
        metavar="SECONDS",
        help=f"how often --serve reads the cluster (default: {_REFRESH_SECONDS})",
    )
    format_option(parser, "text", "json", "prometheus")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Counts; the figures go to standard output, what was read to standard error."""
    options = _options(args)
    policy = read_policy(options.policy, streams)
    for change in options.what_if:
        read_change(policy, change)  # before anything is read

    read = _Reader(policy, args, options, streams).read
    if options.serve is not None:
        return _serve(read, options.serve, options.refresh, streams)
    render = _renderer(options.format, streams)
    if options.watch is not None:
        return _watch(read, render, options, streams)
    counted = read()
    streams.write(render(counted))
    if args.dumps and not counted.pods_read:
        streams.tell(f"note: there is no Pod in {', '.join(args.dumps)}, so nodes count as empty")
    streams.tell(summarize_capacity(counted))
    if counted.nodes and not options.as_planned and not any(group.nodes for group in counted.groups):
        streams.tell(f"hint: {_NO_GROUPS}")
    if not counted.nodes:
        streams.tell(f"error: nothing counted: no node is of a GPU type of policy {policy.name}")
        return 2
    return 0


def _options(args: argparse.Namespace) -> CapacityOptions:
    check_read_once(args.policy, *args.dumps)
    if STANDARD_INPUT in args.dumps and (args.watch is not None or args.serve is not None):
        raise UsageError("--watch and --serve read again and again, which standard input does not allow")
    return CapacityOptions(
        policy=args.policy,
        format=args.format,
        what_if=tuple(args.what_if),
        per_gpu=args.per_gpu,
        tolerates=tuple(args.tolerates),
        as_planned=args.as_planned,
        watch=args.watch,
        serve=args.serve,
        refresh=args.refresh,
    )


class _Reader:
    """Reads and counts, each time anew: the policy and the dumps; a connection is kept as long as it works."""

    def __init__(self, policy: Policy, args: argparse.Namespace, options: CapacityOptions, streams: Streams) -> None:
        self._args, self._options, self._streams = args, options, streams
        self._policy: Policy | None = policy  # read already: for the first time, and for ever where it cannot be again
        self._live: Dumps | LiveCluster | None = None

    def read(self) -> Capacity:
        """Returns the figures of now."""
        policy = self._policy or read_policy(self._options.policy, self._streams)
        self._policy = policy if self._options.policy == STANDARD_INPUT else None
        source = self._live or read_source(self._args, self._streams, also=CLAIM_KINDS)
        self._live = None
        counted = _count(policy, source, self._options, self._streams)
        self._live = None if self._args.dumps else source
        return counted


def _count(policy: Policy, source: Dumps | LiveCluster, options: CapacityOptions, streams: Streams) -> Capacity:
    nodes = source.nodes()
    if options.as_planned:
        nodes = (as_assigned(policy, node) for node in nodes)  # as nodes plan does
    with garbage_collection_paused():
        return capacity(
            policy,
            nodes,
            source.pods(),
            now=current_time(),
            namespace_labels=read_namespace_labels(policy, source, streams),
            what_if=options.what_if,
            per_gpu=options.per_gpu,
            tolerates=options.tolerates,
            as_planned=options.as_planned,
            claims=read_known_claims(policy, source, streams),
        )


def _renderer(name: str, streams: Streams) -> Callable[[Capacity], str]:
    if name == "json":
        return lambda counted: to_text(capacity_to_json(counted))
    if name == "prometheus":
        with needs_extra("webhook"):
            from gpupolicy.reporting.capacity_metrics import capacity_to_metrics
        return capacity_to_metrics
    colour = streams.stdout.isatty() and not os.environ.get("NO_COLOR")
    return lambda counted: format_capacity(counted, Page(width=width_of(streams), colour=colour))


def _watch(
    read: Callable[[], Capacity], render: Callable[[Capacity], str], options: CapacityOptions, streams: Streams
) -> int:
    """Shows every reading until Ctrl-C, which is how a watch ends well."""

    def wait() -> None:
        time.sleep(options.watch or _WATCH_SECONDS)

    try:
        for reading in read_repeatedly(read, current_time, wait):
            if options.format == "text":
                draw(f"{describe_reading(reading)}\n\n{render(reading.result)}", streams)
            else:
                _write_next(reading, render, streams)
    except KeyboardInterrupt:
        streams.tell("")
    return 0


def _write_next(reading: Reading[Capacity], render: Callable[[Capacity], str], streams: Streams) -> None:
    """Writes figures that are new; a failure goes to standard error, so that programs read figures only."""
    if reading.failure is None:
        streams.write(render(reading.result))
    else:
        streams.tell(f"warning: {describe_reading(reading)}")
    streams.flush()


def _serve(read: Callable[[], Capacity], address: tuple[str, int], seconds: int, streams: Streams) -> int:
    """Serves the last reading until Ctrl-C or SIGTERM."""
    with needs_extra("webhook"):
        from prometheus_client import CollectorRegistry, Counter, start_http_server

        from gpupolicy.reporting.capacity_metrics import CapacityCollector
    registry = CollectorRegistry()
    failures = Counter("gpupolicy_capacity_read_failures", "Readings that failed.", registry=registry)
    readings = read_repeatedly(read, current_time, lambda: time.sleep(seconds))
    try:
        with ended_like_ctrl_c():
            current = next(readings)
            registry.register(CapacityCollector(lambda: current.result))
            try:
                server, _ = start_http_server(address[1], address[0], registry)
            except OSError as error:
                raise UsageError(f"cannot listen on {_shown(*address)}: {reason_of(error)}") from error
            streams.tell(f"{summarize_capacity(current.result)}; metrics on {_shown(address[0], server.server_port)}")
            streams.flush()
            for current in readings:
                if current.failure is not None:
                    failures.inc()
                    streams.tell(f"warning: {describe_reading(current)}")
                    streams.flush()
    except KeyboardInterrupt:
        streams.tell("stopped")
    return 0


def _shown(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no address: HOST:PORT is expected, such as 127.0.0.1:9400")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


def _per_gpu(text: str) -> PerGPU:
    parts = [part.partition("=")[::2] for part in text.split(",")]
    amounts = dict(parts)
    if set(amounts) - {"cpu", "memory"} or len(amounts) < len(parts):
        raise argparse.ArgumentTypeError(f"{text} is none: cpu=AMOUNT,memory=AMOUNT is expected")
    try:
        if negative := [amount for amount in amounts.values() if parse_quantity(amount) < 0]:
            raise argparse.ArgumentTypeError(f"{negative[0]} is less than nothing: an amount of at least 0 is expected")
        return PerGPU(cpu_milli=milli(amounts.get("cpu", "1")), memory_bytes=whole(amounts.get("memory", "1Gi")))
    except QuantityError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
