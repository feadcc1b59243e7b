"""Reading, assign, capacity and audit on a fleet and on one of ten times its size: CPU seconds, peak memory, growth.

Each is measured from dumps, as a user runs it, in a process of its own; start-up and reading are included.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import fleet

GOAL_MEGABYTES = 1_000
FILES = ("nodes.json", "pods.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run took; CPU time, as nothing waits for anybody and other processes do not count."""

    seconds: float
    megabytes: float


def read(folder: Path) -> None:
    """Reads every node and pod and keeps none: what the others cost at least."""
    from gpupolicy.cluster.dumps import Dumps

    source = Dumps([str(folder / file) for file in FILES])
    for found in (source.nodes(), source.pods()):
        for _ in found:
            pass


def assign(folder: Path) -> None:
    """Assigns the nodes, the GPUs in use considered."""
    import gpupolicy
    from gpupolicy.cluster.dumps import Dumps
    from gpupolicy.inventory.usage import read_usage

    policy = gpupolicy.load(folder / "policy.yaml")
    source = Dumps([str(folder / file) for file in FILES])
    usage = read_usage(policy, source.pods())
    plan = gpupolicy.assign(policy, source.nodes(), used=usage.gpus_by_node)
    assert plan.changes


def verb(*words: str) -> Callable[[Path], None]:
    """Returns a run of the command line on the dumps."""

    def run(folder: Path) -> None:
        from gpupolicy.cli import main
        from gpupolicy.cli.streams import Streams

        files = [word for file in FILES for word in ("--from", str(folder / file))]
        streams = Streams(stdin=io.TextIOWrapper(io.BytesIO()), stdout=io.StringIO(), stderr=io.StringIO())
        status = main([*words, str(folder / "policy.yaml"), *files], streams)
        if status not in (0, 1):
            raise SystemExit(f"{' '.join(words)}: status {status}: {streams.stderr.getvalue()}")  # type: ignore[attr-defined]

    return run


SUBJECTS: Mapping[str, Callable[[Path], None]] = {
    "read": read,
    "assign": assign,
    "capacity": verb("capacity"),
    "audit": verb("audit"),
}


def prepare(folder: Path, nodes: int) -> Path:
    """Writes the dumps of that many nodes and the policy."""
    folder.mkdir(exist_ok=True)
    (folder / "policy.yaml").write_text(fleet.POLICY)
    for file in FILES:
        fleet.write_file(folder / file, file.partition(".")[0], nodes)
    return folder


def measure(subject: str, folder: Path) -> Cost:
    """Runs a subject in a process of its own."""
    command = [sys.executable, __file__, "--child", subject, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{subject}: {run.stderr or run.stdout}")
    return Cost(**json.loads(run.stdout))


def run_child(subject: str, folder: Path) -> None:
    """Runs a subject and prints what it took."""
    begin = time.process_time()
    SUBJECTS[subject](folder)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "megabytes": peak / (1e3 if sys.platform == "linux" else 1e6) * 1.024}))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=fleet.NODES, help="of the small fleet; ten pods each")
    parser.add_argument("--times", type=int, default=10, help="how many times larger the other is")
    parser.add_argument("--only", choices=SUBJECTS, help="one of them")
    parser.add_argument("--child", nargs=2, metavar=("SUBJECT", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        run_child(args.child[0], Path(args.child[1]))
        return
    with tempfile.TemporaryDirectory(prefix="gpupolicy-bench-") as place:
        _print_table(args, Path(place))


def _print_table(args: argparse.Namespace, place: Path) -> None:
    sizes = (args.nodes, args.nodes * args.times)
    folders = [prepare(place / str(size), size) for size in sizes]
    bytes_read = sum((folders[1] / file).stat().st_size for file in FILES)
    print(f"{sizes[0]:,} and {sizes[1]:,} nodes, ten pods each; the larger dumps have {bytes_read / 1e6:,.0f} MB")
    print(
        f"{'what':<12} {'CPU s':>8} {'CPU s':>8} {'growth':>8} {'MB':>8} {'MB':>8}  goal: < {GOAL_MEGABYTES} MB, linear"
    )
    for subject in (args.only,) if args.only else SUBJECTS:
        small, large = (measure(subject, folder) for folder in folders)
        growth = large.seconds / small.seconds
        print(
            f"{subject:<12} {small.seconds:>8.2f} {large.seconds:>8.2f} {growth:>7.1f}x "
            f"{small.megabytes:>8.0f} {large.megabytes:>8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
