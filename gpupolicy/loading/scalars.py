"""Plain YAML scalars as the cluster reads them: the words and numbers of YAML 1.1, and what surprises people there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import isinf

from gpupolicy.errors import Severity

Scalar = str | int | float | bool | None

HINTS = frozenset("0123456789+-.~yYnNtTfFoO<")  # a plain scalar that starts otherwise is text
FILE_MODES = ("mode", "defaultMode")  # keys whose values are octal on purpose

_WORDS: dict[str, Scalar] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BOOLEAN_WORDS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMERIC = re.compile(r"(?:[-+]_*)?(?:\._*)?[0-9][0-9A-Fa-f_xXoObB.:+-]*")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]{1,4000}")
_SEXAGESIMAL = re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_LONGEST_INTEGER = 4300  # Python refuses to convert more digits than that
_WHOLE = 1e21  # encoding/json of Go writes whole floats below this without an exponent


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """A scalar that people and tools read differently."""

    rule: str
    message: str
    hint: str
    severity: Severity = Severity.WARNING


@lru_cache(maxsize=4096)
def read_plain(text: str) -> tuple[Scalar, Surprise | None]:
    """Reads an unquoted scalar as kubectl and the API server do.

    Dates stay text, ``010`` is 8, ``1e1`` is 10, ``1:30`` is text, ``y`` is true; whole floats become integers, as they
    do on their way through JSON; numbers beyond a float stay text.

    Args:
        text: the scalar as libyaml hands it over.

    Returns:
        The value, and what is surprising about it or None.

    Source: sigs.k8s.io/yaml 1.6.0, as kubectl 1.37.2 has it; compared with it on 6,500 spellings. What differs: keys
        that are floats or beyond 64 bits, which it prints with fewer digits.
    """
    if text in _WORDS:
        return _WORDS[text], None
    if text in _BOOLEAN_WORDS:
        value = _BOOLEAN_WORDS[text]
        return value, _boolean_word(text, value)
    if not _NUMERIC.fullmatch(text):
        return text, _infinite(text) if _INFINITE.fullmatch(text) else None
    number = _read_number(_BETWEEN_DIGITS.sub("", text) if text.startswith(".") else text.replace("_", ""))
    if number is None:
        return text, _sexagesimal(text) if _SEXAGESIMAL.fullmatch(text) else None
    if "_" in text:
        return number, _underscore(text, number)
    return number, _leading_zero(text, number) if _LEADING_ZERO.fullmatch(text) and number != int(text) else None


def _read_number(text: str) -> int | float | str | None:
    """Returns the number that a text without underscores is; None where it is none, text where it is too large."""
    matched = _INTEGER.fullmatch(text)
    if matched and (number := _read_integer(matched.group(1), matched.group(2))) is not None:
        return number
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    if isinf(value):
        return text
    return int(value) if value.is_integer() and abs(value) < _WHOLE else value


def _read_integer(sign: str, digits: str) -> int | None:
    """Returns an integer of any base; None beyond 64 bits, where decimal ones are floats for the cluster."""
    prefix = digits[:2].lower()
    base = {"0x": 16, "0b": 2, "0o": 8}.get(prefix)
    if base is None and len(digits) > 1 and digits[0] == "0":
        base, prefix = 8, "0"
    if len(digits) > _LONGEST_INTEGER:
        return None
    number = int(sign + digits, 10) if base is None else int(sign + digits[len(prefix) :], base)
    return number if -(2**63) <= number < (2**63 if sign else 2**64) else None


def _boolean_word(text: str, value: bool) -> Surprise:
    word = "true" if value else "false"
    return Surprise(
        rule="yaml-boolean-word",
        message=f"{text} is read as {word}, not as text",
        hint=f'write {word}, or "{text}" for the text',
    )


def _infinite(text: str) -> Surprise:
    return Surprise(
        rule="yaml-infinity",
        message=f"{text} is a number that JSON does not have, so the cluster refuses the file",
        hint=f'write "{text}" for the text',
        severity=Severity.ERROR,
    )


def _leading_zero(text: str, number: object) -> Surprise:
    return Surprise(
        rule="yaml-octal",
        message=f"{text} is read as {number} by the cluster and as {int(text)} by YAML 1.2 tools",
        hint=f'write {number}, or "{text}" for the text',
    )


def _underscore(text: str, number: object) -> Surprise:
    return Surprise(
        rule="yaml-underscore-number",
        message=f"{text} is read as {number} by the cluster and as text by YAML 1.2 tools",
        hint=f'write {number}, or "{text}" for the text',
    )


def _sexagesimal(text: str) -> Surprise:
    return Surprise(
        rule="yaml-sexagesimal",
        message=f"{text} is text for the cluster and a number of base 60 for YAML 1.1 tools",
        hint=f'write "{text}"',
    )
