"""Plain values to YAML, the same bytes everywhere: block style, keys as Kubernetes prints them, no guessing left.

Written here rather than with a library, because their emitters differ between versions and builds, fold long lines and
give up block style for text with trailing spaces; what this one needs to know is small.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_FIRST = ("apiVersion", "kind", "metadata")
_WORDS = r"(?:--)?[A-Za-z_/](?:[\w .,/()=@+-]|:(?=[^\s:]))*"
_AMOUNT = r"[1-9][0-9]*(?:m|[KMGT]i)"
_PLAIN = re.compile(f"{_WORDS}|{_AMOUNT}", re.ASCII)
_GUESSED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_BLOCK = re.compile(r"[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]*\Z")
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def to_yaml(document: Mapping[str, object]) -> str:
    """Writes one document.

    ``apiVersion``, ``kind`` and ``metadata`` come first, all other keys in alphabetical order. Text that YAML 1.1 or
    1.2 would take for something else is quoted; text of several lines stands as a ``|`` block.

    Args:
        document: mappings, lists, strings, whole numbers, booleans.

    Returns:
        The text, ending in a line break.

    Raises:
        TypeError: a value is of another type.
    """
    keys = [key for key in _FIRST if key in document] + sorted(key for key in document if key not in _FIRST)
    return "".join(f"{line}\n" for key in keys for line in _entry(key, document[key]))


def _entry(key: str, value: object) -> Iterator[str]:
    """Yields the lines of one entry of a mapping; lists stand at the depth of their key."""
    name = _text(key, single_line=True)
    if isinstance(value, Mapping) and value:
        yield f"{name}:"
        yield from _indented(_mapping(value))
    elif isinstance(value, (list, tuple)) and value:
        yield f"{name}:"
        yield from _items(value)
    else:
        first, *rest = _scalar(value)
        yield f"{name}: {first}"
        yield from _indented(rest)


def _mapping(value: Mapping[str, object]) -> Iterator[str]:
    for key in sorted(value):
        yield from _entry(key, value[key])


def _items(values: list[object] | tuple[object, ...]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping) and value:
            first, *rest = _mapping(value)
        elif isinstance(value, (list, tuple)) and value:
            first, *rest = _items(value)
        else:
            first, *rest = _scalar(value)
        yield f"- {first}"
        yield from _indented(rest)


def _indented(lines: Iterator[str] | list[str]) -> Iterator[str]:
    """An empty line of a block stays empty: it is one at any depth."""
    return (f"  {line}" if line else line for line in lines)


def _scalar(value: object) -> list[str]:
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, int):
        return [str(value)]
    if isinstance(value, str):
        return _block(value) if "\n" in value and _BLOCK.match(value) else [_text(value)]
    if isinstance(value, Mapping):
        return ["{}"]
    if isinstance(value, (list, tuple)):
        return ["[]"]
    raise TypeError(f"{type(value).__name__} has no place in a manifest")


def _block(text: str) -> list[str]:
    """Returns a literal block; the indicator says how many line breaks end it."""
    body = text.rstrip("\n")
    breaks = len(text) - len(body)
    header = {0: "|-", 1: "|"}.get(breaks, "|+")
    return [header, *body.split("\n"), *[""] * (breaks - 1)]


def _text(text: str, *, single_line: bool = False) -> str:
    """Returns a string on one line, quoted unless every reader takes the plain form for the same string."""
    if _PLAIN.fullmatch(text) and not text.endswith((" ", ":")) and text.lower() not in _GUESSED:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
