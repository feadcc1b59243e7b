"""The webhook as a process, asked over TLS by 1, 8, 64 and 256 clients: rate, latency, CPU a review, memory.

Beside it: on the same server a Flask view that parses the body and allows; Gatekeeper and Kyverno with the same rule
(benchmarks/peers). All processes run at once and are asked in turn, so what disturbs the machine disturbs all; the
client shares the processors with them.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # the control plane

from bursts import HEADER, Burst, measure, middle, ratios
from controlplane.build import BuildError, UnavailableError
from e2e.processes import ServerError, WaitError
from e2e.rest import RefusedError
from load.build import find_or_build
from peers.servers import peers
from review import read_bodies
from servers import MUTATE, ROOT, VALIDATE, VIEW, webhook_and_view
from subjects import DisagreementError, Server, prove

from gpupolicy.certificates import TRIAL_NAMES, renew

CLIENTS = (1, 8, 64, 256)


def ask_in_turn(
    subjects: Sequence[Server], args: argparse.Namespace, clients: int, files: Sequence[Path]
) -> Mapping[str, Sequence[Burst]]:
    """Returns the bursts of each subject, one a round; every other round goes backwards."""
    bursts: dict[str, list[Burst]] = {server.name: [] for server in subjects}
    for turn in range(args.rounds):
        for server in subjects if turn % 2 == 0 else reversed(subjects):
            bursts[server.name].append(measure(server, clients, args.seconds, files))
    return bursts


def compare(subjects: Sequence[Server], args: argparse.Namespace, files: Sequence[Path]) -> None:
    """Prints the table, and the ratios at each number of clients."""
    print(HEADER, flush=True)
    found = {}
    for clients in args.clients:
        found[clients] = bursts = ask_in_turn(subjects, args, clients, files)
        for server in subjects:
            print(middle(bursts[server.name]).row(server.name, clients), flush=True)
    print(f"\nCPU of a review, {MUTATE} / {VIEW} (goal <= 1.3):")
    for clients, bursts in found.items():
        print(f"{clients:>7}  {ratios(bursts[MUTATE], bursts[VIEW], 'cpu')}")
    for theirs in (server.name for server in subjects if server.name not in (MUTATE, VALIDATE, VIEW)):
        print(f"\n{VALIDATE} / {theirs}:\nclients  {'reviews/s (64: >= 3)':<20} {'p99 (64: <= 0.33)':<20} CPU")
        for clients, bursts in found.items():
            told = (ratios(bursts[VALIDATE], bursts[theirs], figure) for figure in ("rate", "p99", "cpu"))
            print(f"{clients:>7}  {' '.join(f'{ratio:<20}' for ratio in told)}".rstrip())


def conditions(args: argparse.Namespace, bodies: Sequence[bytes]) -> str:
    """Returns what has to be known of a run."""
    python, sizes = f"{platform.python_implementation()} {platform.python_version()}", sorted(map(len, bodies))
    return (
        f"{time.strftime('%Y-%m-%d')}, {python}, {os.cpu_count()} processors shared with the client, "
        f"load {os.getloadavg()[0]:.1f}; {args.rounds} bursts of {args.seconds:g} s for each row; "
        f"{len(bodies)} bodies of {sizes[0]} to {sizes[-1]} bytes"
    )


def run(args: argparse.Namespace, folder: Path) -> None:
    """Starts everything, proves that all judge alike, and prints the tables."""
    renew(folder, TRIAL_NAMES, now=datetime.now(UTC))
    bodies, files = read_bodies(), []
    for number, body in enumerate(bodies):
        files.append(folder / f"review-{number}.json")
        files[-1].write_bytes(body)
    with ExitStack() as stack:
        subjects = stack.enter_context(webhook_and_view(args.policy, folder))
        try:
            subjects += [] if args.without_peers else stack.enter_context(peers(folder))
        except UnavailableError as error:
            print(f"Gatekeeper and Kyverno skipped: {error}")
        print(conditions(args, bodies))
        print("allowed of them:", ", ".join(f"{server.name} {prove(server)}" for server in subjects))
        compare(subjects, args, files)


def main() -> int:
    """Prints the tables, or says why it cannot; 1 where a subject does not start or judges otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, default=ROOT / "policies/classic.yaml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each burst")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--without-peers", action="store_true", help="neither build nor ask Gatekeeper and Kyverno")
    args = parser.parse_args()
    try:
        find_or_build()
        with TemporaryDirectory(prefix="gpupolicy-benchmark-") as folder:
            run(args, Path(folder))
    except UnavailableError as error:
        print(f"skipped: {error}")
    except (BuildError, DisagreementError, RefusedError, ServerError, WaitError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
