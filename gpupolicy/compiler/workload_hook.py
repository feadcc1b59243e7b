"""The hook for objects that make pods: which kinds, and in CEL which of them are worth a call.

It has failurePolicy Ignore, so an expression that fails on an object of an unforeseen shape only costs the early word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpupolicy.compiler.manifest import Document
from gpupolicy.model import Policy
from gpupolicy.workloads import rows_of
from gpupolicy.workloads.kinds import KindRow, PodPath, Shape, Steps
from gpupolicy.workloads.paths import EVERY

_BUILT_IN = ("", "apps", "batch")
_LINE = "\n   "
# Source: the CEL specification, Syntax: what no field may be called without brackets.
_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("namespace", "null", "package", "return", "true", "var", "void", "while"),
    }
)
_SPEC_BELOW: Mapping[Shape, tuple[Steps, ...]] = {
    Shape.TEMPLATE: (("spec",),),
    Shape.SPEC: ((),),
    Shape.EITHER: (("spec",), ()),
}


def workload_rules(policy: Policy) -> list[Document]:
    """Returns one rule for each group of kinds; those that a cluster does not have do no harm in them."""
    resources: dict[str, set[str]] = {}
    for row in _rows(policy):
        resources.setdefault(row.group, set()).add(row.resource)
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["v1" if group in _BUILT_IN else "*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": sorted(resources[group]),
            "scope": "Namespaced",
        }
        for group in sorted(resources)
    ]


def workload_conditions(policy: Policy, prefixes: list[str]) -> list[dict[str, str]]:
    """Returns the CEL conditions of the hook: all must hold for an object to reach us.

    Args:
        policy: the policy.
        prefixes: how the resource names begin that make a pod worth a call.
    """
    return [
        {"name": "has-no-controller", "expression": _NO_CONTROLLER},
        {"name": "created-or-changed", "expression": _CHANGED},
        {"name": "makes-gpu-pods", "expression": _makes_gpu_pods(_rows(policy), prefixes)},
    ]


def _rows(policy: Policy) -> list[KindRow]:
    """Returns the kinds in namespaces whose pods can be seen."""
    return [row for row in rows_of(policy.workloads) if row.pods and row.namespaced and row.kind != "Pod"]


@dataclass(frozen=True, slots=True)
class _Places:
    """CEL for what makes pods, each once: one pod spec, lists of them, lone resources, lists of Argo's templates."""

    specs: dict[str, None] = field(default_factory=dict)
    lists: dict[str, None] = field(default_factory=dict)
    stanzas: dict[str, None] = field(default_factory=dict)
    workflows: dict[str, None] = field(default_factory=dict)
    shown: dict[str, None] = field(default_factory=dict)  # kinds whose pods CEL finds only at a price

    def add(self, row: KindRow, pods: PodPath) -> None:
        """Adds one path of the table."""
        if pods.shape is Shape.ARGO:
            if pods.path.count(EVERY) == 1:  # templates inside of other steps are not looked for
                self.workflows[_optional("object", pods.path[:-1])] = None
        elif pods.path.count(EVERY) > 1 or pods.shape not in (*_SPEC_BELOW, Shape.RESOURCES):
            self.shown[f"'{row.kind}'"] = None
        elif pods.shape is Shape.RESOURCES:
            self.stanzas[_optional("object", pods.path)] = None
        elif EVERY in pods.path:
            self.lists.update((_listed(pods.path, below), None) for below in _SPEC_BELOW[pods.shape])
        else:
            self.specs.update((_optional("object", (*pods.path, *b)), None) for b in _SPEC_BELOW[pods.shape])


def _makes_gpu_pods(rows: list[KindRow], prefixes: list[str]) -> str:
    """Finds pod specs and lone resources by the paths of the table; what CEL cannot find so is always shown."""
    places = _Places()
    for row in rows:
        for pods in row.pods:
            places.add(row, pods)
    names = ", ".join(f"'{prefix}'" for prefix in prefixes)
    is_named = f"[{names}].exists(n, k.lowerAscii().startsWith(n))"
    specs = f" +{_LINE}".join([f"[{_wrapped(places.specs)}]", *places.lists])
    of_container = _asks("c.?resources", is_named)
    asks = [
        f"request.kind.kind in [{_wrapped(sorted(places.shown))}]",
        f"({specs}).exists(s,\n"
        "    s.?resourceClaims.orValue([]).size() > 0 ||\n"
        f"    (s.?containers.orValue([]) + s.?initContainers.orValue([])).exists(c,{of_container}))",
        f"[{_wrapped(places.stanzas)}].exists(r,{_asks('r', is_named)})",
        f"[{_wrapped(places.workflows)}].exists(w, w.orValue([]).exists(t,\n"
        f"    'containerSet' in t || 'sidecars' in t || [t.?container, t.?script].exists(c,{of_container})))",
    ]
    return "object != null && (\n  " + " ||\n  ".join(asks) + ")"


def _asks(resources: str, is_named: str) -> str:
    """A name as a key is enough, whatever the amount."""
    sides = f"[{resources}.?limits, {resources}.?requests]"
    return f"\n      {sides}.exists(a, a.orValue({{}}).exists(k,\n        {is_named}))"


def _listed(path: Steps, below: Steps) -> str:
    """Returns a CEL list with what stands below every entry of a map or list."""
    position = path.index(EVERY)
    inner = _optional("v", (*path[position + 1 :], *below))
    return f"{_optional('object', path[:position])}.orValue([]).transformList(k, v, {inner})"


def _optional(root: str, steps: Steps) -> str:
    """Returns an optional value; a step that the object lacks ends in none. ``v`` alone is made optional, too."""
    if not steps:
        return f"optional.of({root})"
    return root + "".join(f".?{step}" if _is_word(step) else f"[?'{step}']" for step in steps)


def _is_word(step: str) -> bool:
    return step.isidentifier() and step not in _RESERVED


def _wrapped(parts: Iterable[str]) -> str:
    """Returns a list's entries on lines of a readable length."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > 110:
            lines.append("")
        lines[-1] += f"{part}, "
    return _LINE.join(line.strip() for line in lines).removesuffix(",")


_NO_CONTROLLER = (
    "object == null || !object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
)

# Status and scale are subresources of most kinds and are not asked for; where they are not, spec stays as it was.
_CHANGED = (
    "request.operation == 'CREATE' || (object != null && oldObject != null && "
    "!has(object.metadata.deletionTimestamp) && (\n"
    "  request.kind.group in ['', 'apps', 'batch'] ?\n"
    "    object.?template != oldObject.?template || object.?spec.?template != oldObject.?spec.?template ||\n"
    "    object.?spec.?jobTemplate != oldObject.?spec.?jobTemplate :\n"
    "    object.?spec != oldObject.?spec))"
)
