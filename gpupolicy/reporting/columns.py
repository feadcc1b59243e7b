"""Rows as lines of columns."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """Returns a line for each row, with columns as wide as their widest cell and two blanks between.

    Args:
        rows: cells, of each row as many.
        numbers: every column but the first is put to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        placed = (
            cell.rjust(width) if numbers and index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(placed).rstrip()

    return [line(row) for row in rows]
