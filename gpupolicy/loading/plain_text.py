"""What a line of YAML says beyond doubt: its keys, its scalars, and that nothing but a comment follows."""

from __future__ import annotations

import re

from gpupolicy.loading.scalars import FILE_MODES, HINTS, Scalar, read_plain

BLANK = r"\x00-\x20\x7f"  # and control characters, of which none may stand in a line
KEY = r"[A-Za-z_][A-Za-z0-9_./-]*+"
QUOTED = r"\"[^\x00-\x1f\x7f\"\\]*+\"|'[^\x00-\x1f\x7f']*+'"
END = r" *+(?:(?:(?<= )|(?<!.))#[^\x00-\x08\x0a-\x1f\x7f]*+)?"

# Characters beyond ASCII are letters, but for those that libyaml refuses or takes for a line break.
_ODD_CHARACTER = re.compile("[\x80-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


class OddError(ValueError):
    """A text that is left to libyaml."""


def has_odd_characters(text: str) -> bool:
    """Returns whether a text has characters beyond ASCII that are none of a text."""
    return not text.isascii() and _ODD_CHARACTER.search(text) is not None


def read_key(text: str) -> str:
    """Returns a key that is read as it is written.

    Raises:
        OddError: it is not, such as ``yes``.
    """
    if text[0] in HINTS and read_plain(text) != (text, None):
        raise OddError
    return text


def read_scalar(text: str, key: str = "") -> Scalar:
    """Returns what a scalar stands for, quoted or not.

    Args:
        text: the scalar, without escapes where it is quoted.
        key: the key that it is the value of.

    Raises:
        OddError: people and tools read it differently.
    """
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] not in HINTS:
        return text
    value, surprise = read_plain(text)
    if surprise is not None and not (surprise.rule == "yaml-octal" and key in FILE_MODES):
        raise OddError
    return value
