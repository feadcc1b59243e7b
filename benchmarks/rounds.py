"""Pairs of measurements in ABBA order: what drifts (clock rate, neighbours on the machine) falls on both alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Medians of a subject and its baseline, and of the ratios within each round, with their range."""

    subject: float
    baseline: float
    ratio: float
    lowest: float
    highest: float

    def row(self, name: str, unit: str, goal: str) -> str:
        """Returns a line of the table."""
        return (
            f"{name:<42} {self.subject:>10.1f} {self.baseline:>10.1f} {unit:<4} "
            f"{self.ratio:>6.2f} [{self.lowest:.2f}-{self.highest:.2f}]  {goal}"
        )


HEADER = f"{'what':<42} {'subject':>10} {'baseline':>10} {'':<4} ratio [range]        goal"


def compare(subject: Callable[[], float], baseline: Callable[[], float], *, rounds: int) -> Pair:
    """Measures both twice a round, subject, baseline, baseline, subject, after one unmeasured run of each."""
    subject(), baseline()
    subjects, baselines = [], []
    for _ in range(rounds):
        first = subject()
        middle = (baseline() + baseline()) / 2
        subjects.append((first + subject()) / 2)
        baselines.append(middle)
    ratios = sorted(s / b for s, b in zip(subjects, baselines, strict=True))
    return Pair(
        subject=median(subjects),
        baseline=median(baselines),
        ratio=median(ratios),
        lowest=ratios[0],
        highest=ratios[-1],
    )
