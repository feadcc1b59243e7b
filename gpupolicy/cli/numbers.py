"""Numbers on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

_MOST_DIGITS = 12


def whole_number(low: int, high: int, otherwise: str) -> Callable[[str], int]:
    """Returns a type of arguments: whole numbers within bounds; ``otherwise`` is said of what is none, after it."""

    def read(text: str) -> int:
        is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
        if not is_number or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text} {otherwise}")
        return int(text)

    return read


def seconds(low: int, high: int) -> Callable[[str], int]:
    """Returns a type of arguments: whole seconds within bounds."""
    return whole_number(low, high, f"is no time: whole seconds from {low} to {high} are expected")
