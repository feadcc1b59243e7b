"""Kubernetes quantities by the API server's grammar. Imports nothing of ours."""

from __future__ import annotations

import re
from fractions import Fraction

MAX = 2**63 - 1

_GRAMMAR = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?")
# What the API server trims from a text in JSON, where tabs and line breaks are escapes: measured on 1.37.2.
_SPACE = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_NANO = Fraction(1, 10**9)
_MOST_DIGITS = 60
_MOST_BEFORE_POINT = 25
_FEWEST_BEFORE_POINT = -30


class QuantityError(ValueError):
    """A text that the API server cannot read as a quantity."""


def parse_quantity(value: object) -> int | Fraction:
    """Reads an amount as the API server does.

    Args:
        value: a string, int or float as JSON or YAML gave it; None counts as zero.

    Returns:
        The exact amount in units (cores, bytes, GPUs): an int where it is whole, else a Fraction. Amounts beyond
        2**63 - 1 are cut to it; amounts finer than a billionth are rounded up, away from zero.

    Raises:
        QuantityError: the API server answers "quantities must match the regular expression ...".

    Source: kubernetes/apimachinery pkg/api/resource/quantity.go.
    """
    if isinstance(value, str):
        return int(value) if len(value) < 19 and value.isascii() and value.isdigit() else _parse_text(value)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise QuantityError(f"{_shown(value)} is not a quantity")
    return max(-MAX, min(MAX, int(value))) if isinstance(value, int) else _parse_text(str(value))


def _parse_text(text: str) -> int | Fraction:
    matched = _GRAMMAR.fullmatch(text.strip(_SPACE))
    if matched is None:
        raise QuantityError(f"{_shown(text)} is not a quantity")
    sign, digits, suffix = matched.groups(default="")
    whole, _, fraction = digits.partition(".")
    power, binary = _scale(suffix)
    amount = _amount((whole + fraction).lstrip("0"), power - len(fraction), binary)
    return -amount if sign == "-" else amount


def _scale(suffix: str) -> tuple[int, int]:
    """Returns the power of ten and the power of 1024 that a suffix stands for."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], 0
    if suffix in _BINARY:
        return 0, _BINARY[suffix]
    exponent = suffix[1:]
    size = exponent.lstrip("+-").lstrip("0")[:10]  # ten digits are beyond any quantity
    return int(f"-{size or 0}" if exponent.startswith("-") else size or 0), 0


def _amount(digits: str, power: int, binary: int) -> int | Fraction:
    """Returns digits * 10**power * 1024**binary, without ever building a number that a long text asks for."""
    if not digits.strip("0"):
        return 0
    before_point = len(digits) + power
    if before_point > _MOST_BEFORE_POINT:
        return MAX
    if before_point < _FEWEST_BEFORE_POINT:
        return _NANO
    kept, rest = digits[:_MOST_DIGITS], digits[_MOST_DIGITS:]
    sticky = "1" if rest.strip("0") else "0"  # too small to count, but it makes the amount round up
    exact = Fraction(int(kept + sticky) * 1024**binary) * Fraction(10) ** (power + len(rest) - 1)
    if exact >= MAX:
        return MAX
    rounded = exact if exact.denominator == 1 else Fraction(-(-exact.numerator * 10**9 // exact.denominator), 10**9)
    return rounded.numerator if rounded.denominator == 1 else rounded


def _shown(value: object) -> str:
    if not isinstance(value, str):
        return {bool: str(value).lower(), dict: "a mapping", list: "a list"}.get(type(value), "this value")
    if len(value) > 60:
        return f"{value[:40]!r}... ({len(value)} characters)"
    return f'"{value}"' if value.isprintable() else repr(value)
