"""``gpupolicy check`` on many manifests and on one, start-up included, against conftest with the same rule."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from corpus import CHECK_POLICY, Manifest, write
from installed import environment
from peers.build import HERE, UnavailableError, find_or_build
from rounds import HEADER, compare

from gpupolicy import admit
from gpupolicy.loading import load_text
from gpupolicy.loading.documents import read_documents
from gpupolicy.workloads import find_pod_templates

CHECK = "from gpupolicy.cli import run_main; run_main()"


class Disagreement(RuntimeError):  # noqa: N818 (the benchmark's own end)
    """One side does not deny what it has to, so its time means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One side: its command, to which the manifests are added, and the variables that it runs with."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        """Returns what it writes; both sides end in 1 where something is denied."""
        command = (*self.command, *arguments)
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise Disagreement(f"{command[0]} ended in {done.returncode}: {done.stderr[-1000:]}")
        return done.stdout


def wall(program: Program, target: Path) -> float:
    """Returns the milliseconds that a program takes for a file or folder."""
    begin = time.perf_counter()
    program.run(str(target))
    return (time.perf_counter() - begin) * 1e3


def cpu(program: Program, target: Path) -> float:
    """Returns the milliseconds of CPU that a program takes, all its processes: neighbours disturb it less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program.run(str(target))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def verify(ours: Program, theirs: Program, folder: Path, manifests: Sequence[Manifest]) -> None:
    """Raises Disagreement unless both sides deny exactly what is wrong."""
    expected = {manifest.name for manifest in manifests if manifest.is_denied}
    objects = json.loads(ours.run(str(folder), "--format", "json"))["objects"]
    reports = json.loads(theirs.run(str(folder), "--output", "json"))
    denied = {
        "gpupolicy": {Path(entry["file"]).name for entry in objects if entry["verdict"] == "deny"},
        "conftest": {Path(report["filename"]).name for report in reports if report.get("failures")},
    }
    for tool, names in denied.items():
        if names != expected:
            raise Disagreement(f"{tool} denies {len(names)} manifests, {len(expected)} are wrong")


def decide(policy_text: str, manifests: Sequence[Manifest], *, times: int = 10) -> float:
    """Returns how many pods a second of CPU the decision alone takes: nothing is read, found or located."""
    policy = load_text(policy_text)
    objects = [read_documents(manifest.text, manifest.name)[0].value for manifest in manifests]
    pods = [template for found in objects for template in find_pod_templates(found).templates]
    now = datetime.now(UTC)
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        for template in pods:
            admit(policy, template.pod, namespace="team-a", owner_kind=template.owner_kind, now=now)
        best = min(best, time.process_time() - begin)
    return len(pods) / best


def main() -> int:
    """Prints the table, or says why it cannot; 1 where the two sides disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifests", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    try:
        conftest = find_or_build("conftest")
        with TemporaryDirectory(prefix="gpupolicy-benchmark-") as folder:
            measure(Path(folder), str(conftest), args.manifests, args.rounds)
    except UnavailableError as error:
        print(f"skipped: {error}")
    except Disagreement as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def measure(folder: Path, conftest: str, count: int, rounds: int) -> None:
    """Writes the manifests, verifies both sides, and prints a line for each comparison."""
    policy, manifests, single = folder / "policy.yaml", folder / "manifests", folder / "one.yaml"
    policy.write_text(CHECK_POLICY)
    manifests.mkdir()
    made = write(manifests, count)
    single.write_text(made[0].text)
    lines = sorted(manifest.text.count("\n") for manifest in made)
    denied = sum(manifest.is_denied for manifest in made)
    print(f"{count} manifests, median {lines[count // 2]} lines, {denied} to deny")

    compiled = environment(str(folder / "compiled"))
    ours = Program(command=(sys.executable, "-c", CHECK, "check", str(policy)), environment=compiled)
    theirs = Program(command=(conftest, "test", "--policy", str(HERE / "conftest")), environment=os.environ)
    verify(ours, theirs, manifests, made)
    print(HEADER)
    rows: tuple[tuple[str, Callable[[Program, Path], float], Path, str], ...] = (
        (f"wall of check / conftest, {count} files", wall, manifests, "<= 0.7"),
        (f"CPU of check / conftest, {count} files", cpu, manifests, ""),
        ("wall of check / conftest, one file", wall, single, "<= 142 ms"),
        ("CPU of check / conftest, one file", cpu, single, ""),
    )
    for name, measured, target, goal in rows:
        load = os.getloadavg()[0]
        pair = compare(partial(measured, ours, target), partial(measured, theirs, target), rounds=rounds)
        print(pair.row(name, "ms", f"{goal:<10} load {load:.1f}"))
        if target is manifests and measured is wall:
            print(f"{'manifests/s with start-up':<42} {count / pair.subject * 1e3:>10,.0f}")
    print(f"{'pods/s of the decision alone, CPU':<42} {decide(CHECK_POLICY, made):>10,.0f}{'>= 10,000':>47}")


if __name__ == "__main__":
    sys.exit(main())
