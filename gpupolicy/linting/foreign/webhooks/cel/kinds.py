"""What kind of value an expression gives, as far as it shows: a truth value, a text, what may be absent.

Source: k8s.io/apiserver pkg/cel/library and google/cel-go ext; measured on Kubernetes 1.37.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpupolicy.linting.foreign.webhooks.cel.tree import (
    Call,
    Collection,
    Field,
    Item,
    Literal,
    Name,
    Node,
    Operation,
    path_of,
    words,
)

_KIND = ("group", "kind", "version")
_RESOURCE = ("group", "resource", "version")
# the parts of a request whose fields are known, and those fields
REQUEST: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("request",): (
        "dryRun",
        "kind",
        "name",
        "namespace",
        "operation",
        "options",
        "requestKind",
        "requestResource",
        "requestSubResource",
        "resource",
        "subResource",
        "userInfo",
    ),
    ("request", "kind"): _KIND,
    ("request", "requestKind"): _KIND,
    ("request", "resource"): _RESOURCE,
    ("request", "requestResource"): _RESOURCE,
    ("request", "userInfo"): ("extra", "groups", "uid", "username"),
}

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_TRUTHS = COMPARISONS | {"in", "&&", "||", "!"}
OPTIONAL, DYNAMIC = "optional", "dynamic"
# kinds that are never equal to one another, as messages say them
SPOKEN = {
    "bool": "a truth value",
    "list": "a list",
    "map": "a map",
    "number": "a number",
    "text": "a text",
    OPTIONAL: "what may be absent",
}
_TRUE_CALLS = words(
    "all allowed bool contains containsCIDR containsIP endsWith errored exists exists_one existsOne has hasValue"
    " isCIDR isGlobalUnicast isGreaterThan isIP isInteger isLessThan isLinkLocalMulticast isLinkLocalUnicast"
    " isLoopback isQuantity isSemver isSorted isURL isUnspecified matches startsWith"
)
_KINDS = {
    **dict.fromkeys(_TRUE_CALLS, "bool"),
    **dict.fromkeys(("join", "lowerAscii", "replace", "string", "substring", "trim", "upperAscii"), "text"),
    **dict.fromkeys(("double", "int", "size", "uint"), "number"),
    **dict.fromkeys(("filter", "findAll", "map", "split", "transformList"), "list"),
    **dict.fromkeys(("bytes", "duration", "quantity", "timestamp", "transformMap", "type", "url"), "other"),
    "dyn": DYNAMIC,
}
_REQUEST_TEXTS = ("name", "namespace", "operation", "requestSubResource", "subResource")


def kind_of(node: Node) -> str | None:
    """Returns the kind of value that an expression gives, as far as it shows; None where it does not."""
    match node:
        case Literal() | Collection():
            return node.kind
        case Name() | Field() | Item():
            return _kind_of_read(node)
        case Operation():
            if node.sign == "?:":
                kinds = {kind_of(operand) for operand in node.operands[1:]}
                return DYNAMIC if DYNAMIC in kinds else kinds.pop() if len(kinds) == 1 else None
            return "bool" if node.sign in _TRUTHS else "amount"
        case Call():
            if node.name == "orValue" and isinstance(node.of, Field | Item) and _is_optional(node.of):
                return _kind_of_object(node.of)
            return _KINDS.get(node.name)


def _kind_of_read(node: Node) -> str | None:
    if isinstance(node, Field | Item) and _is_optional(node):
        return OPTIONAL
    path = path_of(node)
    if path[:1] == ("request",):
        if path[1:] == ("dryRun",):
            return "bool"
        if path[1:] in {(name,) for name in _REQUEST_TEXTS} or path[1:] == ("userInfo", "username"):
            return "text"
        if path[1:] == ("userInfo", "groups"):
            return "list"
        return "other" if path in REQUEST else None
    return _kind_of_object(node)


def _kind_of_object(node: Node) -> str | None:
    while isinstance(node, Field | Item):
        node = node.of
    return DYNAMIC if isinstance(node, Name) and node.name in ("object", "oldObject") else None


def _is_optional(node: Field | Item) -> bool:
    return node.is_optional or (isinstance(node.of, Field | Item) and _is_optional(node.of))
