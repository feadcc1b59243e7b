"""Pairs of measurements in ABBA order: what drifts (clock rate, neighbours on the machine) falls on both alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Medians of a subject and its baseline, and of the ratios within each round, with their range.

    ``least`` is the ratio of the least that each ever took: what neighbours on the machine disturbed least.
    """

    subject: float
    baseline: float
    ratio: float
    lowest: float
    highest: float
    least: float

    def row(self, name: str, unit: str, goal: str) -> str:
        """Returns a line of the table."""
        return (
            f"{name:<42} {self.subject:>10.1f} {self.baseline:>10.1f} {unit:<4} "
            f"{self.ratio:>6.2f} [{self.lowest:.2f}-{self.highest:.2f}] {self.least:>6.2f}  {goal}"
        )


HEADER = f"{'what':<42} {'subject':>10} {'baseline':>10} {'':<4} ratio [range]     of least  goal"


def compare(subject: Callable[[], float], baseline: Callable[[], float], *, rounds: int) -> Pair:
    """Measures both twice a round, subject, baseline, baseline, subject, after one unmeasured run of each."""
    subject(), baseline()
    subjects, baselines = [], []
    for _ in range(rounds):
        subjects.append(subject())
        baselines += baseline(), baseline()
        subjects.append(subject())
    pairs = zip(_by_round(subjects), _by_round(baselines), strict=True)
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    return Pair(
        subject=median(_by_round(subjects)),
        baseline=median(_by_round(baselines)),
        ratio=median(ratios),
        lowest=ratios[0],
        highest=ratios[-1],
        least=min(subjects) / min(baselines),
    )


def _by_round(measured: list[float]) -> list[float]:
    """Returns the mean of the two measurements of each round."""
    return [(first + second) / 2 for first, second in zip(measured[::2], measured[1::2], strict=True)]
