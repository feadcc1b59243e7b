"""Reads a CEL expression into a tree: the grammar alone, no names, and nothing is worked out.

Source: the CEL language definition and google/cel-go 0.30 parser; measured on Kubernetes 1.37.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpupolicy.linting.foreign.webhooks.cel.tree import (
    Call,
    Collection,
    Field,
    Item,
    Literal,
    Name,
    Node,
    Operation,
    parts_of,
    path_of,
    words,
)

# levels of brackets, and of parts in parts: what is deeper is passed over here, though the API server may take it
DEEPEST_BRACKETS, DEEPEST = 60, 120


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why an expression is none; no reason where it is only not read here: too deep, or a message."""

    reason: str | None


class _StopError(Exception):
    """Reading ends here."""


_ESCAPE = r"\\(?:[abfnrtv\"'`?\\]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_TOKEN = re.compile(
    r"(?P<blank>[\t \r\n\f]+|//[^\n]*)"
    r"|(?P<text>[bB]?[rR](?:'''.*?'''|\"{3}.*?\"{3}|'[^'\n\r]*'|\"[^\"\n\r]*\")"
    rf"|[bB]?(?:'''(?:[^\\]|{_ESCAPE})*?'''|\"{{3}}(?:[^\\]|{_ESCAPE})*?\"{{3}}"
    rf"|'(?:[^'\\\n\r]|{_ESCAPE})*'|\"(?:[^\"\\\n\r]|{_ESCAPE})*\"))"
    r"|(?P<number>0x[0-9a-fA-F]+[uU]?|[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+[uU]?)"
    r"|(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])",
    re.DOTALL,
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_LOGICAL = 2  # the first levels join truth values
_MEANT = {"=": "==", "&": "&&", "|": "||", "and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}
_CONSTANTS = {"true": True, "false": False, "null": None}


# words that cannot be a name by themselves, only a field
_RESERVED = words(
    "as break const continue else for function if import let loop package namespace return var void while"
)


@lru_cache(maxsize=256)
def read_expression(expression: str) -> Node | Unreadable:
    """Returns the tree of an expression, or why there is none."""
    try:
        tree = _Reader(list(_tokens(expression))).read()
    except _StopError as stop:
        return Unreadable(str(stop) or None)
    return tree if _is_flat(tree) else Unreadable(None)


def _is_flat(tree: Node) -> bool:
    """Whether a tree is no deeper than those who walk it can bear."""
    level = [tree]
    for _ in range(DEEPEST):
        level = [part for node in level for part in parts_of(node)]
    return not level


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(expression):
        found = _TOKEN.match(expression, position)
        if found is None:
            sign = expression[position]
            if sign in "'\"":
                raise _StopError("a text in it is not closed, or has a backslash before a letter that needs none")
            raise _StopError(_misplaced(sign))
        position = found.end()
        if found.lastgroup and found.lastgroup != "blank":
            yield found.lastgroup, found.group()


def _misplaced(token: str) -> str:
    meant = _MEANT.get(token)
    return f'it has "{token}", where CEL has "{meant}"' if meant else f'it has "{token}" where that cannot stand'


class _Reader:
    """Goes through the tokens once; the methods are the rules of the grammar."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def read(self) -> Node:
        node = self._expression()
        if self._next < len(self._tokens):
            raise _StopError(_misplaced(self._text))
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else "end"

    @property
    def _text(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        text = self._text
        self._next += 1
        return text

    def _takes(self, sign: str) -> bool:
        """Whether a sign (or the word ``in``) comes next; if so it is passed."""
        if self._kind in ("sign", "word") and self._text == sign:
            self._next += 1
            return True
        return False

    def _needs(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._surprise()

    def _surprise(self) -> _StopError:
        return _StopError("it ends too early" if self._kind == "end" else _misplaced(self._text))

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST_BRACKETS:
            raise _StopError
        node = self._level(0)
        if self._takes("?"):
            chosen = self._level(0)
            self._needs(":")
            node = Operation("?:", (node, chosen, self._expression()))
        self._depth -= 1
        return node

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        node = self._level(level + 1)
        if level < _LOGICAL:
            return self._joined(level, node)
        while self._kind in ("sign", "word") and self._text in _LEVELS[level]:
            node = Operation(self._take(), (node, self._level(level + 1)))
        return node

    def _joined(self, level: int, first: Node) -> Node:
        """Everything that one ``||`` or ``&&`` after another joins is one operation."""
        operands = [first]
        (sign,) = _LEVELS[level]
        while self._takes(sign):
            operands.append(self._level(level + 1))
        return Operation(sign, tuple(operands)) if len(operands) > 1 else first

    def _unary(self) -> Node:
        sign = self._text if self._kind == "sign" and self._text in ("!", "-") else None
        if sign is None:
            return self._member()
        count = 0
        while self._takes(sign):
            count += 1
        if self._kind == "sign" and self._text in ("!", "-"):
            raise self._surprise()
        node = self._member()
        return Operation(sign, (node,)) if count % 2 else Operation(sign, (Operation(sign, (node,)),))

    def _member(self) -> Node:
        node = self._primary()
        while True:
            if self._takes("."):
                node = self._after_dot(node)
            elif self._takes("["):
                is_optional = self._takes("?")
                node = Item(node, self._expression(), is_optional)
                self._needs("]")
            elif self._text == "{" and path_of(node):
                raise _StopError  # a message, google.protobuf.Duration{seconds: 1}: such types are not known here
            else:
                return node

    def _after_dot(self, node: Node) -> Node:
        is_optional = self._takes("?")
        if self._kind == "quoted":
            return Field(node, self._take()[1:-1], is_optional)
        if self._kind != "word" or self._text in (*_CONSTANTS, "in"):
            raise self._surprise()
        name = self._take()
        if not is_optional and self._takes("("):
            return Call(name, self._list(")"), node)
        return Field(node, name, is_optional)

    def _primary(self) -> Node:
        kind = self._kind
        if kind == "text":
            return _text_literal(self._take())
        if kind == "number":
            self._take()
            return Literal("number")
        if self._takes("("):
            node = self._expression()
            self._needs(")")
            return node
        if self._takes("["):
            return Collection("list", self._list("]"))
        if self._takes("{"):
            return Collection("map", self._map())
        self._takes(".")
        if self._kind != "word" or self._text == "in":
            raise self._surprise()
        name = self._take()
        if name in _CONSTANTS:
            return Literal("null" if name == "null" else "bool", _CONSTANTS[name])
        if self._takes("("):
            return Call(name, self._list(")"))
        if name in _RESERVED:
            raise _StopError(f"{name} is a word that CEL keeps for itself")
        return Name(name)

    def _list(self, end: str) -> tuple[Node, ...]:
        """The elements up to a closing bracket; a list may end in a comma, arguments may not."""
        found: list[Node] = []
        while not self._takes(end):
            if found:
                self._needs(",")
                if end == "]" and self._takes(end):
                    break
            if end == "]":
                self._takes("?")
            found.append(self._expression())
        return tuple(found)

    def _map(self) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._takes("}"):
            if found:
                self._needs(",")
                if self._takes("}"):
                    break
            self._takes("?")
            found.append(self._expression())
            self._needs(":")
            found.append(self._expression())
        return tuple(found)


_ESCAPED = re.compile(_ESCAPE)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _text_literal(token: str) -> Literal:
    prefix = token[: re.search(r"['\"]", token).start()].lower()  # type: ignore[union-attr]  # a text has quotes
    quotes = 3 if token[len(prefix) :].startswith(("'''", '"""')) else 1
    text = token[len(prefix) + quotes : -quotes]
    if "r" not in prefix:
        text = _ESCAPED.sub(_unescaped, text)
    return Literal("bytes" if "b" in prefix else "text", text)


def _unescaped(match: re.Match[str]) -> str:
    code = match[0][1:]
    if code[0] in "xXuU":
        return chr(int(code[1:], 16)) if int(code[1:], 16) <= 0x10FFFF else match[0]
    return chr(int(code, 8)) if code.isdigit() else _LETTERS.get(code, code)
