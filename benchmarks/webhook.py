"""The webhook as a process, asked over TLS by 1, 8, 64 and 256 clients: rate, latency, CPU a review, memory.

Beside it, on the same server, a Flask view that parses the body and allows. Both processes run at once and are asked in
turn, so what disturbs the machine disturbs both; the client shares the processors with them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from load.build import UnavailableError, find_or_build
from review import read_bodies

from gpupolicy.certificates import TRIAL_NAMES, renew

ROOT = Path(__file__).resolve().parents[1]
CLIENTS = (1, 8, 64, 256)
GOAL = 1.3
HEADER = (
    f"{'clients':>7}  {'subject':<28} {'reviews/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'p99.9 ms':>8} {'CPU us':>7} "
    f"{'RSS MB':>7} {'failed':>6} {'load':>5}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A process that is asked, and what of it."""

    name: str
    pid: int
    url: str
    authority: Path

    def cpu(self) -> float:
        """Returns the CPU seconds that it has used, all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self) -> float:
        """Returns its resident megabytes."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What one run of the load client saw, and what it cost the server."""

    rate: float
    p50: float
    p99: float
    p999: float
    cpu: float
    rss: float
    failed: int


def measure(server: Server, clients: int, seconds: float, files: Sequence[Path]) -> Burst:
    """Asks a server for reviews for some seconds, after one that is not counted."""
    command = [str(find_or_build()), f"-url={server.url}", f"-ca={server.authority}", f"-workers={clients}"]
    process = subprocess.Popen(
        [*command, f"-seconds={seconds}", "-warm=1", *map(str, files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    if (line := process.stderr.readline()) != "started\n":
        raise RuntimeError(line + process.stderr.read())
    before = server.cpu()
    out, _ = process.communicate()
    spent, said = server.cpu() - before, json.loads(out)
    names = ("rate", "p50", "p99", "p999", "failed")
    cpu = spent / max(1, said["reviews"]) * 1e6
    return Burst(**{name: said[name] for name in names}, cpu=cpu, rss=server.rss())


def middle(bursts: Sequence[Burst]) -> Burst:
    """Returns the median of each figure; of the memory the most, of failed reviews all."""
    chosen: dict[str, Callable[[list[float]], float]] = {"rss": max, "failed": sum}
    return Burst(
        **{name: chosen.get(name, median)([getattr(burst, name) for burst in bursts]) for name in Burst.__slots__}
    )


def row(name: str, clients: int, burst: Burst, load: float) -> str:
    """Returns a line of the table."""
    return (
        f"{clients:>7}  {name:<28} {burst.rate:>9,.0f} {burst.p50:>8.2f} {burst.p99:>8.2f} {burst.p999:>8.2f} "
        f"{burst.cpu:>7.0f} {burst.rss:>7.0f} {burst.failed:>6} {load:>5.1f}"
    )


@contextmanager
def started(command: Sequence[str], pattern: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a server and gives its process and what it says first of its address; ends it afterwards."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout
        for line in process.stdout:
            if found := re.search(pattern, line):
                yield process, found[1]
                return
        raise RuntimeError(f"{command} ended in {process.wait()}")
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def servers(policy: Path, pki: Path) -> Iterator[list[Server]]:
    """Runs the webhook, and the server with the view that allows."""
    authority, pair = pki / "ca.crt", (str(pki / "tls.crt"), str(pki / "tls.key"))
    serve = [sys.executable, "-m", "gpupolicy", "serve", str(policy), "--host", "127.0.0.1", "--port", "0"]
    serve += ["--metrics-port", "0", "--cert", pair[0], "--key", pair[1], "--drain-seconds", "0"]
    with ExitStack() as stack:
        ours, port = stack.enter_context(started([*serve, "--log-format", "json"], r"serving https://\S+?:(\d+) "))
        url = f"https://127.0.0.1:{port}"
        script = str(ROOT / "benchmarks/review_server.py")
        other, port = stack.enter_context(started([sys.executable, script, str(policy), *pair], r"^(\d+)$"))
        allow = f"https://127.0.0.1:{port}/allow"
        yield [
            Server(name="gpupolicy serve /mutate", pid=ours.pid, url=f"{url}/mutate", authority=authority),
            Server(name="gpupolicy serve /validate", pid=ours.pid, url=f"{url}/validate", authority=authority),
            Server(name="Flask view: parses, allows", pid=other.pid, url=allow, authority=authority),
        ]


def compare(subjects: Sequence[Server], args: argparse.Namespace, files: Sequence[Path]) -> None:
    """Prints the table and the ratio of CPU at each number of clients."""
    print(HEADER, flush=True)
    ratios = []
    for clients in args.clients:
        bursts: dict[str, list[Burst]] = {server.name: [] for server in subjects}
        for turn in range(args.rounds):
            for server in subjects if turn % 2 == 0 else reversed(subjects):
                bursts[server.name].append(measure(server, clients, args.seconds, files))
        load = os.getloadavg()[0]
        for server in subjects:
            print(row(server.name, clients, middle(bursts[server.name]), load), flush=True)
        pairs = zip(bursts[subjects[0].name], bursts[subjects[-1].name], strict=True)
        ratios.append((clients, median(ours.cpu / theirs.cpu for ours, theirs in pairs)))
    told = ", ".join(f"{ratio:.2f} at {clients}" for clients, ratio in ratios)
    print(f"CPU of a review on /mutate / the Flask view: {told} clients (goal <= {GOAL})")


def main() -> int:
    """Prints the table, or says why it cannot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, default=ROOT / "policies/classic.yaml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each burst")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    args = parser.parse_args()
    try:
        find_or_build()
    except UnavailableError as error:
        print(f"skipped: {error}")
        return 0
    with TemporaryDirectory(prefix="gpupolicy-benchmark-") as folder:
        pki = Path(folder)
        renew(pki, TRIAL_NAMES, now=datetime.now(UTC))
        files = []
        for number, body in enumerate(read_bodies()):
            files.append(pki / f"review-{number}.json")
            files[-1].write_bytes(body)
        print(f"{time.strftime('%Y-%m-%d')}, {platform.python_implementation()} {platform.python_version()}, ", end="")
        print(f"{os.cpu_count()} processors shared with the client; {len(files)} bodies", end="")
        print(f" of {min(map(len, read_bodies()))} to {max(map(len, read_bodies()))} bytes")
        with servers(args.policy, pki) as subjects:
            compare(subjects, args, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
