"""How much of a policy its tests have to do with, as a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpupolicy.policytests.report import Coverage, Covered

_PLURALS = {"access": "access entries"}
_WIDTH = 16


def format_coverage(coverages: Iterable[Coverage]) -> str:
    """Returns a table for each policy: how many parts of a kind some case touches, and which none does."""
    return "".join(f"{line}\n" for coverage in coverages for line in _table(coverage))


def _table(coverage: Coverage) -> Iterator[str]:
    cases = f"{coverage.cases} case" + ("" if coverage.cases == 1 else "s")
    yield f"{coverage.policy}: {coverage.percent} % covered by {cases}"
    for about, group in groupby(coverage.parts, key=lambda part: part.about):
        parts = tuple(group)
        yield _row(
            _PLURALS.get(about, f"{about}s"), parts, "without", [_told(part) for part in parts if not part.cases]
        )
    yield _row("rules", coverage.rules, "fired:", [rule.name for rule in coverage.rules if rule.cases])


def _row(title: str, parts: Sequence[Covered], word: str, names: Sequence[str]) -> str:
    count = f"{sum(1 for part in parts if part.cases)} of {len(parts)}"
    listed = f"{word} {', '.join(names)}" if names else ""
    return f"  {title:<{_WIDTH}}{count:<9}{listed}".rstrip()


def _told(part: Covered) -> str:
    """Parts that are numbered say where they stand."""
    return str(part.place) if part.name.isdecimal() else f"{part.name} ({part.place})"
