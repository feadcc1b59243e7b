"""``gpupolicy check`` on many manifests and on one, start-up included, against conftest with the same rule."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from corpus import CHECK_POLICY, Manifest, write
from peers.build import HERE, UnavailableError, find_or_build
from rounds import HEADER, compare

from gpupolicy import admit
from gpupolicy.loading import load_text
from gpupolicy.loading.documents import read_documents
from gpupolicy.workloads import find_pod_templates

CHECK = "import sys; from gpupolicy.cli import main; sys.exit(main(['check', *sys.argv[1:]]))"


class Disagreement(RuntimeError):  # noqa: N818 (the benchmark's own end)
    """One side does not deny what it has to, so its time means nothing."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command; both sides end in 1 where something is denied."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Disagreement(f"{command[0]} ended in {done.returncode}: {done.stderr[-1000:]}")
    return done


def wall(command: Sequence[str]) -> float:
    """Returns the milliseconds that a command takes."""
    begin = time.perf_counter()
    run(*command)
    return (time.perf_counter() - begin) * 1e3


def cpu(command: Sequence[str]) -> float:
    """Returns the milliseconds of CPU that a command takes, all its processes: neighbours disturb it less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def verify(ours: Sequence[str], theirs: Sequence[str], manifests: Sequence[Manifest]) -> None:
    """Raises Disagreement unless both sides deny exactly what is wrong."""
    expected = {manifest.name for manifest in manifests if manifest.is_denied}
    objects = json.loads(run(*ours, "--format", "json").stdout)["objects"]
    reports = json.loads(run(*theirs, "--output", "json").stdout)
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
        conftest = find_or_build()
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

    def ours(target: Path) -> tuple[str, ...]:
        return sys.executable, "-c", CHECK, str(policy), str(target)

    def theirs(target: Path) -> tuple[str, ...]:
        return conftest, "test", "--policy", str(HERE / "conftest"), str(target)

    verify(ours(manifests), theirs(manifests), made)
    print(HEADER)
    rows: tuple[tuple[str, Callable[[Sequence[str]], float], Path, str], ...] = (
        (f"wall of check / conftest, {count} files", wall, manifests, "<= 0.7"),
        (f"CPU of check / conftest, {count} files", cpu, manifests, ""),
        ("wall of check / conftest, one file", wall, single, "<= 142 ms"),
        ("CPU of check / conftest, one file", cpu, single, ""),
    )
    for name, measured, target, goal in rows:
        pair = compare(
            lambda m=measured, t=target: m(ours(t)), lambda m=measured, t=target: m(theirs(t)), rounds=rounds
        )
        print(pair.row(name, "ms", goal))
        if target is manifests and measured is wall:
            print(f"{'manifests/s with start-up':<42} {count / pair.subject * 1e3:>10,.0f}")
    print(f"{'pods/s of the decision alone, CPU':<42} {decide(CHECK_POLICY, made):>10,.0f}{'>= 10,000':>38}")


if __name__ == "__main__":
    sys.exit(main())
