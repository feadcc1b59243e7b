"""Applies RFC 6902 patches to JSON-like documents, in place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence

from gpupolicy.errors import GPUPolicyError

_APPEND = "-"
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


class PatchError(GPUPolicyError):
    """An operation that does not apply to the document."""


def apply_patch(document: object, operations: Iterable[Mapping[str, object]]) -> None:
    """Applies add, replace, remove and test operations, one after the other.

    Args:
        document: nested mutable mappings and sequences; changed in place, also ones that keep comments.
        operations: as RFC 6902 has them; the root cannot be replaced.

    Raises:
        PatchError: a path does not exist, a test fails, or an operation is not known; what came before it stays done.

    Source: RFC 6902 and RFC 6901.
    """
    for operation in operations:
        _apply(document, operation)


def _apply(document: object, operation: Mapping[str, object]) -> None:
    op, path = operation.get("op"), str(operation.get("path", ""))
    if not path.startswith("/"):
        raise PatchError(f"{op} {path or 'of the whole document'}: a path below the root is expected")
    *parents, last = [_unescape(token) for token in path[1:].split("/")]
    parent = document
    for token in parents:
        parent = _child(parent, token, path)
    if op == "test":
        if _child(parent, last, path) != operation.get("value"):
            raise PatchError(f"test {path}: the value differs")
    elif op == "remove":
        _remove(parent, last, path)
    elif op in ("add", "replace"):
        _set(parent, last, path, operation.get("value"), insert=op == "add")
    else:
        raise PatchError(f"{op} {path}: the operation is not known")


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _child(parent: object, token: str, path: str) -> object:
    if isinstance(parent, Mapping) and token in parent:
        return parent[token]
    if isinstance(parent, MutableSequence):
        return parent[_index(parent, token, path, len(parent))]
    raise PatchError(f"{path}: there is no {token}")


def _remove(parent: object, token: str, path: str) -> None:
    _child(parent, token, path)
    if isinstance(parent, MutableSequence):
        del parent[int(token)]
    elif isinstance(parent, MutableMapping):
        del parent[token]


def _set(parent: object, token: str, path: str, value: object, *, insert: bool) -> None:
    if isinstance(parent, MutableMapping):
        if not insert:
            _child(parent, token, path)
        parent[token] = value
    elif isinstance(parent, MutableSequence) and insert:
        parent.insert(len(parent) if token == _APPEND else _index(parent, token, path, len(parent) + 1), value)
    elif isinstance(parent, MutableSequence):
        parent[_index(parent, token, path, len(parent))] = value
    else:
        raise PatchError(f"{path}: the parent is neither a mapping nor a list")


def _index(parent: MutableSequence[object], token: str, path: str, limit: int) -> int:
    if not _INDEX.fullmatch(token) or int(token) >= limit:
        raise PatchError(f"{path}: {token} is no place in a list of {len(parent)}")
    return int(token)
