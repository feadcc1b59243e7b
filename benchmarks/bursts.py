"""Bursts of reviews from the load client: what it saw, and what they cost the server."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from load.build import find_or_build
from subjects import Server

HEADER = (
    f"{'clients':>7}  {'subject':<28} {'reviews/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'p99.9 ms':>8} {'CPU us':>7} "
    f"{'RSS MB':>7} {'failed':>6} {'other':>6}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What one run of the load client saw; ``other`` is the processors that neither it nor the server used."""

    rate: float
    p50: float
    p99: float
    p999: float
    cpu: float
    rss: float
    failed: int
    other: float

    def row(self, name: str, clients: int) -> str:
        """Returns a line of the table."""
        return (
            f"{clients:>7}  {name:<28} {self.rate:>9,.0f} {self.p50:>8.2f} {self.p99:>8.2f} {self.p999:>8.2f} "
            f"{self.cpu:>7.0f} {self.rss:>7.0f} {self.failed:>6} {self.other:>6.2f}"
        )


def measure(server: Server, clients: int, seconds: float, files: Sequence[Path]) -> Burst:
    """Asks a server for reviews for some seconds, after one that is not counted."""
    command = [str(find_or_build()), f"-url={server.url}", f"-ca={server.authority}", "-name=127.0.0.1"]
    process = subprocess.Popen(
        [*command, f"-workers={clients}", f"-seconds={seconds}", "-warm=1", *map(str, files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    if (line := process.stderr.readline()) != "started\n":
        raise RuntimeError(line + process.stderr.read())
    began, before, all_before = time.monotonic(), server.cpu(), machine_cpu()
    out, _ = process.communicate()
    took, spent, said = time.monotonic() - began, server.cpu() - before, json.loads(out)
    return Burst(
        **{name: said[name] for name in ("rate", "p50", "p99", "p999", "failed")},
        cpu=spent / max(1, said["reviews"]) * 1e6,
        rss=server.rss(),
        other=max(0.0, machine_cpu() - all_before - spent - said["cpu"]) / took,
    )


def machine_cpu() -> float:
    """Returns the CPU seconds that all processes and the kernel have used, those that other machines took included."""
    user, nice, system, _idle, _waiting, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def middle(bursts: Sequence[Burst]) -> Burst:
    """Returns the median of each figure; of the memory the most, of failed reviews all."""
    chosen: dict[str, Callable[[list[float]], float]] = {"rss": max, "failed": sum}
    return Burst(
        **{name: chosen.get(name, median)([getattr(burst, name) for burst in bursts]) for name in Burst.__slots__}
    )


def ratios(ours: Sequence[Burst], theirs: Sequence[Burst], name: str) -> str:
    """Returns the median of the ratios of a figure within each round, and their range."""
    found = sorted(getattr(first, name) / getattr(second, name) for first, second in zip(ours, theirs, strict=True))
    return f"{median(found):.2f} [{found[0]:.2f}-{found[-1]:.2f}]"
