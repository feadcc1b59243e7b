"""Match conditions read as text: enough of CEL to see what an expression leans on. Evaluates nothing."""

from __future__ import annotations

import re

from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression

_STRING = re.compile(
    r"[rR]?(?:"
    r"'''(?:[^\\]|\\.)*?'''|\"{3}(?:[^\\]|\\.)*?\"{3}"
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")",
    re.DOTALL,
)
_COMMENT = re.compile(r"//[^\n]*")
_NAMESPACE_OBJECT = re.compile(r"(?<![\w.])namespaceObject\b")
_OBJECT_PART = re.compile(r"(?<![\w.])object\s*\.\s*(\w+)")
_OLD_PART = re.compile(r"(?<![\w.])oldObject\s*\.\s*(\w+)")
_OLD_GUARD = re.compile(
    r"oldObject\s*[!=]=\s*null|null\s*[!=]=\s*oldObject|request\s*\.\s*operation|has\s*\(\s*oldObject\b"
)
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
    """Returns why an expression cannot be read, brackets and quotes first; None where it can."""
    bare = without_strings(expression).replace("''", "")
    if "'" in bare or '"' in bare:
        return "a text in it is not closed"
    opened: list[str] = []
    for letter in bare:
        if letter in _PAIRS.values():
            opened.append(letter)
        elif letter in _PAIRS and (not opened or opened.pop() != _PAIRS[letter]):
            return f"it closes {letter} without opening it"
    if opened:
        return f"it opens {opened[-1]} without closing it"
    tree = read_expression(expression)
    return tree.reason if isinstance(tree, Unreadable) else None


def uses_namespace_object(expression: str) -> bool:
    """Returns whether an expression reads namespaceObject."""
    return bool(_NAMESPACE_OBJECT.search(without_strings(expression)))


def object_parts(expression: str) -> tuple[str, ...]:
    """Returns the fields of ``object`` that an expression reads without ``?``, sorted."""
    return tuple(sorted(set(_OBJECT_PART.findall(without_strings(expression)))))


def old_object_parts(expression: str) -> tuple[str, ...]:
    """Returns the fields of ``oldObject`` that an expression reads without ``?`` or a look if it is there, sorted."""
    bare = without_strings(expression)
    return () if _OLD_GUARD.search(bare) else tuple(sorted(set(_OLD_PART.findall(bare))))


def guards_null(expression: str) -> bool:
    """Returns whether an expression looks if there is an object at all."""
    return bool(_NULL_GUARD.search(without_strings(expression)))


def guards_kind(expression: str) -> bool:
    """Returns whether an expression looks what kind of object it is given."""
    return bool(_KIND_GUARD.search(without_strings(expression)))
