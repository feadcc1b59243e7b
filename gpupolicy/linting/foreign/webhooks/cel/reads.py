"""What an expression reads of a new pod without asking whether it is there; the expression fails where it is not.

Source: measured on Kubernetes 1.37.2, field by field, with a pod that names its containers and images alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupolicy.linting.foreign.webhooks.cel.tree import (
    Call,
    Field,
    Item,
    Literal,
    Name,
    Node,
    Operation,
    parts_of,
    path_of,
    walk,
    words,
)

Path = tuple[str, ...]
Scope = Mapping[str, Path]

_CONTAINER: Path = ("object", "spec", "containers", "*")
_RESOURCES: Path = (*_CONTAINER, "resources")
# what a pod may lack when a webhook is asked, below what it always has
_OPTIONAL: Mapping[Path, frozenset[str]] = {
    ("object", "metadata"): words(
        "annotations deletionGracePeriodSeconds deletionTimestamp finalizers generateName labels ownerReferences"
    ),
    ("object", "spec"): words(
        "activeDeadlineSeconds affinity ephemeralContainers hostIPC hostNetwork hostPID hostUsers hostname"
        " imagePullSecrets initContainers nodeName nodeSelector os overhead priorityClassName resourceClaims"
        " resources runtimeClassName schedulingGates subdomain topologySpreadConstraints volumes"
    ),
    _CONTAINER: words(
        "args command env envFrom lifecycle livenessProbe ports readinessProbe restartPolicy securityContext"
        " startupProbe volumeMounts workingDir"
    ),
    _RESOURCES: frozenset(("claims", "limits", "requests")),
    ("request",): frozenset(("requestSubResource", "subResource")),
}
# a name that is generated is not there yet when mutating webhooks are asked
_UNNAMED: Mapping[Path, frozenset[str]] = {
    ("object", "metadata"): frozenset(("name",)),
    ("request",): frozenset(("name",)),
}
_MAPS = (
    ("object", "metadata", "annotations"),
    ("object", "metadata", "labels"),
    ("object", "spec", "nodeSelector"),
    (*_RESOURCES, "limits"),
    (*_RESOURCES, "requests"),
)


@dataclass(frozen=True, slots=True)
class _Mention:
    """A path that is read, or asked for; ``text`` is how the expression writes it."""

    path: Path
    text: str
    is_question: bool


def find_unguarded(conditions: Sequence[Node], *, mutating: bool) -> Mapping[int, str]:
    """Returns, by the place of a condition, the first thing it reads that a new pod may lack.

    All conditions of a hook are taken together: where one is false for such a pod, it does not matter that others fail.

    Args:
        conditions: the expressions of a hook.
        mutating: whether the hook is asked before names are generated.
    """
    mentions = [list(_mentions(condition, {})) for condition in conditions]
    asked = {mention.path for found in mentions for mention in found if mention.is_question}
    unguarded: dict[int, str] = {}
    for index, found in enumerate(mentions):
        for mention in found:
            if not mention.is_question and mention.path not in asked and _may_lack(mention.path, mutating=mutating):
                unguarded.setdefault(index, mention.text)
    return unguarded


def _may_lack(path: Path, *, mutating: bool) -> bool:
    before, name = path[:-1], path[-1]
    if before in _MAPS or name in _OPTIONAL.get(before, ()):
        return True
    return mutating and name in _UNNAMED.get(before, ())


def _mentions(node: Node, scope: Scope) -> Iterator[_Mention]:
    """Yields what is read, the outermost last, and what is asked for."""
    match node:
        case Field() | Item():
            yield from _mentions(node.of, scope)
            if isinstance(node, Item):
                yield from _mentions(node.key, scope)
            if path := _path(node, scope):
                yield _Mention(path, _text(node), is_question=False)
        case Call(name="has", of=None, arguments=(Field() as asked,)):
            yield from _mentions(asked.of, scope)
            yield from _question(asked, scope)
        case Operation(sign="in", operands=(Literal(kind="text", value=str() as key), table)):
            yield from _mentions(table, scope)
            yield from _question(Field(table, key), scope)
        case Call(of=of, arguments=(Name() as variable, *rest)) if of is not None and rest:
            yield from _mentions(of, scope)
            inner = {**scope, variable.name: _element(of, scope)}
            for argument in rest:
                yield from _mentions(argument, inner)
        case _:
            for part in parts_of(node):
                yield from _mentions(part, scope)


def _question(asked: Field, scope: Scope) -> Iterator[_Mention]:
    if path := _path(asked, scope):
        yield _Mention(path, _text(asked), is_question=True)


def _path(node: Node, scope: Scope) -> Path:
    """The path of a read from the object on; ``()`` where a ``?`` guards it, or where it is none."""
    if isinstance(node, Name):
        return scope.get(node.name, (node.name,))
    if isinstance(node, Field | Item) and not node.is_optional and (before := _path(node.of, scope)):
        if isinstance(node, Field):
            return (*before, node.name)
        if isinstance(node.key, Literal):
            return (*before, str(node.key.value) if node.key.kind == "text" else "*")
    return ()


def _element(of: Node, scope: Scope) -> Path:
    """The path of one element of what a macro goes through: a container where containers are among it."""
    if any(path_of(part)[-1:] in (("containers",), ("initContainers",)) for part in walk(of)):
        return _CONTAINER
    path = _path(of, scope)
    return (*path, "*") if path else ()


def _text(node: Node) -> str:
    match node:
        case Name():
            return node.name
        case Field():
            return f"{_text(node.of)}.{node.name}"
        case Item():
            return f"{_text(node.of)}[{_text(node.key)}]"
        case Literal(kind="text"):
            return f"'{node.value}'"
        case _:
            return "..."
