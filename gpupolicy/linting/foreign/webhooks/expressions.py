"""Match conditions read as text: enough of CEL to see what an expression leans on. Evaluates nothing."""

from __future__ import annotations

import re

_STRING = re.compile(
    r"[rR]?(?:"
    r"'''(?:[^\\]|\\.)*?'''|\"{3}(?:[^\\]|\\.)*?\"{3}"
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")",
    re.DOTALL,
)
_COMMENT = re.compile(r"//[^\n]*")
_NAMESPACE_OBJECT = re.compile(r"(?<![\w.])namespaceObject\b")
_UNDECLARED = re.compile(r"(?<![\w.])(variables|params)\s*[.\[]")
_OBJECT_PART = re.compile(r"(?<![\w.])object\s*\.\s*(\w+)")
_NULL_GUARD = re.compile(r"object\s*[!=]=\s*null|null\s*[!=]=\s*object|request\s*\.\s*operation|object\s*\.\s*\?")
_KIND_GUARD = re.compile(
    r"request\s*\.\s*(?:\?\s*)?(?:kind|resource|subResource|requestKind|requestResource|requestSubResource)\b"
    r"|has\s*\(\s*object\s*\.\s*spec\b|object\s*\.\s*\?\s*spec\b"
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def without_strings(expression: str) -> str:
    """Returns an expression whose texts and comments are emptied, so that words in them are not taken for names."""
    return _COMMENT.sub(" ", _STRING.sub("''", expression))


def find_syntax_problem(expression: str) -> str | None:
    """Returns why an expression cannot be read, as far as brackets and quotes tell; None where they fit."""
    bare = without_strings(expression).replace("''", "")
    if "'" in bare or '"' in bare:
        return "a text in it is not closed"
    opened: list[str] = []
    for letter in bare:
        if letter in _PAIRS.values():
            opened.append(letter)
        elif letter in _PAIRS and (not opened or opened.pop() != _PAIRS[letter]):
            return f"it closes {letter} without opening it"
    return f"it opens {opened[-1]} without closing it" if opened else None


def uses_namespace_object(expression: str) -> bool:
    """Returns whether an expression reads namespaceObject."""
    return bool(_NAMESPACE_OBJECT.search(without_strings(expression)))


def find_undeclared(expression: str) -> str | None:
    """Returns ``variables`` or ``params`` where an expression reads it, else None."""
    found = _UNDECLARED.search(without_strings(expression))
    return found[1] if found else None


def object_parts(expression: str) -> tuple[str, ...]:
    """Returns the fields of ``object`` that an expression reads without ``?``, sorted."""
    return tuple(sorted(set(_OBJECT_PART.findall(without_strings(expression)))))


def guards_null(expression: str) -> bool:
    """Returns whether an expression looks if there is an object at all."""
    return bool(_NULL_GUARD.search(without_strings(expression)))


def guards_kind(expression: str) -> bool:
    """Returns whether an expression looks what kind of object it is given."""
    return bool(_KIND_GUARD.search(without_strings(expression)))
