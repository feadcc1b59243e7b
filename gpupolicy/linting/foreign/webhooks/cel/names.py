"""What an expression may call and read in a match condition, and whether it gives a truth value.

Source: k8s.io/apiserver pkg/cel/library, pkg/cel/environment and google/cel-go ext; measured on Kubernetes 1.37.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.linting.foreign.findings import did_you_mean
from gpupolicy.linting.foreign.webhooks.cel.kinds import COMPARISONS, DYNAMIC, OPTIONAL, REQUEST, SPOKEN, kind_of
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

Problem = tuple[str, str | None]  # what it does, and what to write instead
Scope = frozenset[str]

_DECLARED = ("authorizer", "namespaceObject", "object", "oldObject", "request")
_TYPES = words("bool bytes double google int kubernetes list map net null_type optional_type string type uint")
_MEANT = {"True": "true", "False": "false", "TRUE": "true", "FALSE": "false", "None": "null", "nil": "null"}
_MEANT |= dict.fromkeys(("pod", "self", "resource", "obj"), "object")
_MEANT_CALLS = {"any": "exists", "some": "exists", "every": "all", "len": "size", "length": "size", "count": "size"}

_FUNCTIONS = words(
    "bool bytes cidr contains double duration dyn endsWith ip int isCIDR isIP isQuantity isSemver isURL matches"
    " quantity semver size startsWith string timestamp type uint url max min sum isSorted"
)
_QUALIFIED = ("format", "ip", "lists", "optional", "sets", "strings")
_METHODS = words(
    "add allowed asApproximateFloat asInteger charAt check compareTo contains containsCIDR containsIP distinct"
    " endsWith error errored family fieldSelector find findAll first flatten format getDate getDayOfMonth"
    " getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost getHostname getHours getMilliseconds getMinutes"
    " getMonth getPort getQuery getScheme getSeconds group hasValue includes indexOf ip isGlobalUnicast"
    " isGreaterThan isInteger isLessThan isLinkLocalMulticast isLinkLocalUnicast isLoopback isSorted isUnspecified"
    " join labelSelector last lastIndexOf lowerAscii major masked matches max min minor name namespace or orValue"
    " patch path prefixLength reason replace resource reverse serviceAccount sign size slice sort split startsWith"
    " sub subresource substring sum trim upperAscii validate value"
)
# macros: how many arguments they take, and how many of those name what the others speak of
_MACROS: Mapping[str, Mapping[int, int]] = {
    "all": {2: 1, 3: 2},
    "exists": {2: 1, 3: 2},
    "exists_one": {2: 1, 3: 2},
    "existsOne": {2: 1, 3: 2},
    "filter": {2: 1},
    "map": {2: 1, 3: 1},
    "optFlatMap": {2: 1},
    "optMap": {2: 1},
    "sortBy": {2: 1},
    "transformList": {3: 2, 4: 2},
    "transformMap": {3: 2, 4: 2},
    "transformMapEntry": {3: 2, 4: 2},
}


def find_problem(node: Node) -> Problem | None:
    """Returns the first thing in an expression that the API server does not compile, None where all seems well."""
    return next(_problems(node, frozenset()), None) or _result_problem(node)


def _problems(node: Node, scope: Scope) -> Iterator[Problem]:
    match node:
        case Name():
            if node.name not in scope and node.name not in _DECLARED and node.name not in _TYPES:
                meant = _MEANT.get(node.name)
                hint = f"write {meant}" if meant else did_you_mean(node.name, (*_DECLARED, *sorted(scope)))
                yield f"reads {node.name}, which match conditions do not have", hint
        case Field():
            yield from _problems(node.of, scope)
            yield from _field_problems(node, scope)
        case Call():
            yield from _call_problems(node, scope)
        case Operation():
            for operand in node.operands:
                yield from _problems(operand, scope)
            yield from _operation_problems(node, scope)
        case _:
            for part in parts_of(node):
                yield from _problems(part, scope)


def _field_problems(node: Field, scope: Scope) -> Iterator[Problem]:
    before = path_of(node.of)
    known = REQUEST.get(before, ()) if "request" not in scope else ()
    if known and node.name not in known:
        elsewhere = "write object" if node.name in ("object", "oldObject") else did_you_mean(node.name, known)
        yield f"reads {'.'.join(before)}.{node.name}, which there is not", elsewhere


def _operation_problems(node: Operation, scope: Scope) -> Iterator[Problem]:
    if "request" in scope:
        return
    kinds = [kind_of(operand) for operand in node.operands]
    if node.sign in ("!", "&&", "||"):
        if any(kind not in (None, "bool", DYNAMIC) for kind in kinds):
            hint = "write !(value in [...])" if node.sign == "!" else None
            yield f'has "{node.sign}" beside what is no truth value', hint
    elif node.sign == "in":
        if kinds[1] == "text":
            yield 'looks with "in" into a text', "write [...], or contains()"
        if kinds[1] == OPTIONAL:
            yield f'looks with "in" into {SPOKEN[OPTIONAL]}', "write .orValue({}) behind it"
    elif node.sign in COMPARISONS:
        yield from _comparison_problems(node, kinds)


def _comparison_problems(node: Operation, kinds: list[str | None]) -> Iterator[Problem]:
    if node.sign not in ("==", "!=") and any(_is_quantity(operand) for operand in node.operands):
        yield f'compares quantities by "{node.sign}"', "write isGreaterThan(quantity(...)), isLessThan or compareTo"
        return
    for one, other in (node.operands, node.operands[::-1]):
        path = path_of(one)
        fields = REQUEST.get(path, ())
        if fields and isinstance(other, Literal) and other.kind != "null":
            name = ".".join(path)
            meant = f"write {name}.{path[-1]}" if path[-1] in fields else None
            yield f"compares {name}, which has {', '.join(fields)}, with one value", meant
            return
    left, right = (SPOKEN.get(kind or "") for kind in kinds)
    if left and right and left != right:
        yield f"compares {left} with {right}", "write .orValue(...) behind it" if OPTIONAL in kinds else None


def _is_quantity(node: Node) -> bool:
    return isinstance(node, Call) and node.of is None and node.name == "quantity"


def _call_problems(node: Call, scope: Scope) -> Iterator[Problem]:
    if node.of is None:
        if node.name == "has" and len(node.arguments) == 1:
            yield from _has_problems(node.arguments[0], scope)
            return
        if node.name == "has":
            yield f"calls has() with {_counted(node)}", "write has(object.spec)"
        elif node.name not in _FUNCTIONS:
            yield _unknown(node, tuple(_FUNCTIONS))
    elif isinstance(node.of, Name) and node.of.name in _QUALIFIED and node.of.name not in scope:
        pass
    else:
        yield from _problems(node.of, scope)
        if node.name in _MACROS:
            yield from _macro_problems(node, scope)
            return
        if node.name not in _METHODS:
            yield _unknown(node, (*_METHODS, *_MACROS))
        elif node.name == "contains" and isinstance(node.of, Collection):
            yield "calls contains() on a list", "write value in [...]"
    for argument in node.arguments:
        yield from _problems(argument, scope)


def _counted(node: Call) -> str:
    return f"{len(node.arguments)} argument{'' if len(node.arguments) == 1 else 's'}"


def _unknown(node: Call, known: tuple[str, ...]) -> Problem:
    meant = _MEANT_CALLS.get(node.name)
    hint = f"write {meant}()" if meant else did_you_mean(node.name, sorted(known))
    return f"calls {node.name}(), which there is not", hint


def _has_problems(argument: Node, scope: Scope) -> Iterator[Problem]:
    if isinstance(argument, Field) and not argument.is_optional:
        yield from _problems(argument, scope)
        return
    hint = "write has(object.spec)"
    if isinstance(argument, Item | Field):
        hint = "write key in map, or object.?spec.hasValue()"
    yield "asks has() for something that is no field", hint


def _macro_problems(node: Call, scope: Scope) -> Iterator[Problem]:
    names = _MACROS[node.name].get(len(node.arguments))
    if names is None:
        yield f"calls {node.name}() with {_counted(node)}", "it takes a name and what is to hold for it"
        return
    if node.name not in ("optMap", "optFlatMap") and node.of is not None and kind_of(node.of) == OPTIONAL:
        yield f"goes through {SPOKEN[OPTIONAL]}", "write .orValue([]) behind it"
        return
    bound = [argument.name for argument in node.arguments[:names] if isinstance(argument, Name)]
    if len(bound) < names:
        yield f"calls {node.name}() with something else than a name at first", None
        return
    for argument in node.arguments[names:]:
        yield from _problems(argument, scope.union(bound))


def _result_problem(node: Node) -> Problem | None:
    kind = kind_of(node)
    if kind == DYNAMIC:
        return "gives what the object holds there, which may be anything", "compare it: == true"
    if kind not in (None, "bool"):
        return "gives no truth value", "compare it with something"
    return None
