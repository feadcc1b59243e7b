"""``.gpupolicyignore``: which files below a folder are left out, in the notation of .gitignore."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

IGNORE_FILE = ".gpupolicyignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnorePattern:
    """One line of an ignore file; the last pattern that matches a path decides."""

    expression: re.Pattern[str]
    is_negated: bool
    folders_only: bool


def parse_ignore_file(text: str) -> tuple[IgnorePattern, ...]:
    """Reads an ignore file: one pattern a line, ``#`` starts a comment, ``!`` takes files back in."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(_parse(line) for line in lines if line and not line.startswith("#"))


def is_ignored(patterns: Iterable[IgnorePattern], path: str, *, is_folder: bool) -> bool:
    """Returns whether a path, relative to the ignore file's folder and with ``/``, is left out."""
    ignored = False
    for pattern in patterns:
        if (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(path):
            ignored = not pattern.is_negated
    return ignored


def _parse(line: str) -> IgnorePattern:
    is_negated = line.startswith("!")
    glob = line.removeprefix("!")
    folders_only = glob.endswith("/")
    glob = glob.rstrip("/")
    anywhere = "" if "/" in glob else "(?:.*/)?"
    expression = re.compile(anywhere + _translate(glob.lstrip("/")))
    return IgnorePattern(expression=expression, is_negated=is_negated, folders_only=folders_only)


def _translate(glob: str) -> str:
    """Returns a glob as a regular expression: ``*`` and ``?`` stop at slashes, ``**`` does not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]/]+\])", glob)
    return "".join(_translate_part(part) for part in parts)


def _translate_part(part: str) -> str:
    if part.startswith("[") and part.endswith("]"):
        inside = part[1:-1].replace("\\", r"\\")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return known.get(part, re.escape(part))
