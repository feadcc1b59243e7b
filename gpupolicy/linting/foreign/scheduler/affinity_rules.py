"""Rules about addedAffinity, the node affinity that NodeAffinity adds to every pod of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import OPERATORS, find_label_key_problem, find_label_value_problem
from gpupolicy.linting.foreign.findings import error, listed, show, warning
from gpupolicy.linting.foreign.reading import items, objects, text, texts
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def added_affinity_refused(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """An addedAffinity that kube-scheduler cannot read.

    Why: it is parsed at the start; a wrong operator, key or number of values ends kube-scheduler.
    Bad:  matchExpressions: [{key: my.gpu.cluster/node-group, operator: in, values: [SLOT-8]}]
    Good: matchExpressions: [{key: my.gpu.cluster/node-group, operator: In, values: [SLOT-8]}]
    Source: component-helpers scheduling/corev1/nodeaffinity; measured on kube-scheduler 1.37.2.
    """
    for path, term in _affinity_terms(configuration):
        for part, problems in (("matchExpressions", _label_problem), ("matchFields", _field_problem)):
            for index, requirement in objects(term.get(part)):
                if problem := problems(requirement):
                    yield error("added-affinity-refused", (*path, part, index), problem)


def added_affinity_matches_nothing(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A required addedAffinity that no node can meet.

    Why: an empty term matches no node, and no terms match none either: every pod of the profile waits for ever.
    kube-scheduler says nothing.
    Bad:  nodeSelectorTerms: [{}]
    Good: nodeSelectorTerms: [{matchExpressions: [{key: my.gpu.cluster/node-group, operator: Exists}]}]
    Source: component-helpers scheduling/corev1/nodeaffinity; measured on kube-scheduler 1.37.2.
    """
    for _, path, arguments in configuration.plugin_arguments("NodeAffinity"):
        affinity = arguments.get("addedAffinity")
        required = affinity.get(_REQUIRED) if isinstance(affinity, dict) else None
        if not isinstance(required, dict):
            continue
        terms = [term for _, term in objects(required.get("nodeSelectorTerms"))]
        if not any(term.get("matchExpressions") or term.get("matchFields") for term in terms):
            yield warning(
                "added-affinity-matches-nothing",
                (*path, "addedAffinity", _REQUIRED),
                "no term of the required affinity has an expression, so no node matches and every pod waits",
            )


def _affinity_terms(configuration: SchedulerConfiguration) -> Iterator[tuple[FieldPath, Any]]:
    for _, path, arguments in configuration.plugin_arguments("NodeAffinity"):
        affinity = arguments.get("addedAffinity")
        if not isinstance(affinity, dict):
            continue
        here: FieldPath = (*path, "addedAffinity")
        required = affinity.get(_REQUIRED)
        for index, term in objects(required.get("nodeSelectorTerms") if isinstance(required, dict) else None):
            yield (*here, _REQUIRED, "nodeSelectorTerms", index), term
        for index, entry in objects(affinity.get(_PREFERRED)):
            if entry.get("weight") and isinstance(entry.get("preference"), dict):
                yield (*here, _PREFERRED, index, "preference"), entry["preference"]


_OPERATORS = tuple(sorted(OPERATORS))


def _label_problem(requirement: Any) -> str | None:
    key, operator = text(requirement.get("key")), text(requirement.get("operator"))
    values = texts(requirement.get("values"))
    if operator not in _OPERATORS:
        return f"operator is {show(operator)}; kube-scheduler takes {listed(_OPERATORS)}"
    if problem := find_label_key_problem(key):
        return f"key {show(key)} {problem}"
    if operator in ("In", "NotIn") and not values:
        return f"{operator} needs values"
    if operator in ("Exists", "DoesNotExist") and values:
        return f"{operator} takes no values"
    if operator in ("Gt", "Lt") and not (len(values) == 1 and _is_int64(values[0])):
        return f"{operator} takes exactly one value, a whole number as text"
    problems = ((value, find_label_value_problem(value)) for value in values)
    return next((f"value {show(value)} {problem}" for value, problem in problems if problem), None)


def _is_int64(value: str) -> bool:
    """Whether a text is a whole number as kube-scheduler takes it: without a sign, in 64 bits."""
    return value.isascii() and value.isdigit() and int(value) < 2**63


def _field_problem(requirement: Any) -> str | None:
    operator = text(requirement.get("operator"))
    if operator not in ("In", "NotIn"):
        return f"operator is {show(operator)}; matchFields takes In, NotIn"
    return None if len(list(items(requirement.get("values")))) == 1 else f"{operator} takes exactly one value here"
