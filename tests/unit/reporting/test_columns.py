"""Rows as lines of columns."""

from __future__ import annotations

from gpupolicy.reporting.columns import align

ROWS = [("NAME", "GPUS", "NODE"), ("a", "12", "n1"), ("longer", "8", "")]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert align(ROWS) == ["NAME    GPUS  NODE", "a       12    n1", "longer  8"]


def test_numbers_stand_to_the_right() -> None:
    assert align(ROWS, numbers=True) == ["NAME    GPUS  NODE", "a         12    n1", "longer     8"]
