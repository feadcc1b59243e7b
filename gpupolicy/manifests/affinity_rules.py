"""What the API server would refuse in the node affinity of a pod: unknown fields, operators, values, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpupolicy.errors import FieldPath, Finding, Part, Severity, shown
from gpupolicy.labels import OPERATORS
from gpupolicy.manifests.label_problems import find_key_problem, find_value_problem
from gpupolicy.pod import NODE_AFFINITY, PREFERRED, REQUIRED, JSONMap
from gpupolicy.suggestions import hint_known

_UNKNOWN = "affinity-field-unknown"
_REFUSED = "affinity-refused"
_VALUE = "label-value-refused"
_PARTS = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_FIELD_OPERATORS = ("In", "NotIn")
_NODE_NAME = "metadata.name"  # the only field of nodes that matchFields may name
_LABELS = "labels stand in matchExpressions"
_ENTRIES = {"nodeSelectorTerms": "a node selector term", PREFERRED: "a preferred term"}


def find_affinity_problems(spec: JSONMap) -> Iterator[Finding]:
    """Yields what is wrong with the node affinity of a pod's spec; parts of another type are for others to tell.

    Source: kubernetes pkg/apis/core/validation; measured on 1.37.2.
    """
    affinity = spec.get("affinity")
    if not isinstance(affinity, Mapping):
        return
    yield from _find_unknown(affinity, NODE_AFFINITY[:-1], _PARTS)
    node_affinity = affinity.get("nodeAffinity")
    if not isinstance(node_affinity, Mapping):
        return
    yield from _find_unknown(node_affinity, NODE_AFFINITY, (REQUIRED, PREFERRED))
    required = node_affinity.get(REQUIRED)
    if isinstance(required, Mapping):
        yield from _find_unknown(required, (*NODE_AFFINITY, REQUIRED), ("nodeSelectorTerms",))
        for term, field in _mappings(required, "nodeSelectorTerms", (*NODE_AFFINITY, REQUIRED)):
            yield from _find_in_term(term, field)
    for preferred, field in _mappings(node_affinity, PREFERRED, NODE_AFFINITY):
        yield from _find_in_preferred(preferred, field)


def _find_in_preferred(preferred: JSONMap, field: FieldPath) -> Iterator[Finding]:
    yield from _find_unknown(preferred, field, ("weight", "preference"))
    weight = preferred.get("weight")
    if weight is None:
        yield _error(_REFUSED, field, "a preferred term has no weight; 1 to 100 is expected")
    elif not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight <= 100:
        yield _error(_REFUSED, (*field, "weight"), f"the weight is {shown(str(weight), 63)}, 1 to 100 is expected")
    preference = preferred.get("preference")
    if isinstance(preference, Mapping):
        yield from _find_in_term(preference, (*field, "preference"), Severity.WARNING)


def _find_in_term(term: JSONMap, field: FieldPath, of_values: Severity = Severity.ERROR) -> Iterator[Finding]:
    """``of_values``: of a value that no label may have; in a preferred term the API server only warns of it."""
    yield from _find_unknown(term, field, ("matchExpressions", "matchFields"))
    for expression, place in _mappings(term, "matchExpressions", field):
        yield from _find_unknown(expression, place, ("key", "operator", "values"))
        for problem in _find_in_expression(expression, place):
            yield replace(problem, severity=of_values) if problem.rule == _VALUE else problem
    for expression, place in _mappings(term, "matchFields", field):
        yield from _find_unknown(expression, place, ("key", "operator", "values"))
        yield from _find_in_field(expression, place)


def _find_in_expression(expression: JSONMap, field: FieldPath) -> Iterator[Finding]:
    key, operator, values = expression.get("key"), expression.get("operator"), expression.get("values")
    if isinstance(key, str) and (problem := find_key_problem(key)):
        yield _error("label-key-refused", (*field, "key"), f'node affinity key "{shown(key, 80)}" {problem}')
    if not isinstance(operator, str):
        return
    if operator not in OPERATORS:
        yield _unknown_operator(operator, field, OPERATORS)
        return
    listed = [] if values is None else values
    if not isinstance(listed, list):
        return
    if problem := _find_count_problem(operator, len(listed)):
        yield _error(_REFUSED, field, problem)
    for index, value in enumerate(listed):
        if isinstance(value, str) and (problem := find_value_problem(value)):
            message = f'the value "{shown(value, 80)}" of node affinity {shown(str(key), 80)} {problem}'
            yield _error(_VALUE, (*field, "values", index), message)


def _find_in_field(expression: JSONMap, field: FieldPath) -> Iterator[Finding]:
    key, operator, values = expression.get("key"), expression.get("operator"), expression.get("values")
    if isinstance(key, str) and key != _NODE_NAME:
        message = f"matchFields knows {_NODE_NAME} alone, not {shown(key, 63)}"
        yield _error(_REFUSED, (*field, "key"), message, hint=_LABELS)
    if isinstance(operator, str) and operator not in _FIELD_OPERATORS:
        yield _unknown_operator(operator, field, _FIELD_OPERATORS)
    elif values is None or (isinstance(values, list) and len(values) != 1):
        message = f"matchFields takes one value, not {len(values or ())}"
        yield _error(_REFUSED, field, message, hint="write a term for each node")


def _find_count_problem(operator: str, count: int) -> str | None:
    if operator in ("In", "NotIn"):
        return None if count else f"{operator} needs values"
    if operator in ("Exists", "DoesNotExist"):
        return f"{operator} takes no values" if count else None
    return None if count == 1 else f"{operator} takes one value, not {count}"


def _unknown_operator(operator: str, field: FieldPath, known: tuple[str, ...]) -> Finding:
    hint = hint_known(shown(operator, 63), known)
    return _error(_REFUSED, (*field, "operator"), f"{shown(operator, 63)} is no operator", hint=hint)


def _find_unknown(fields: JSONMap, field: FieldPath, known: tuple[str, ...]) -> Iterator[Finding]:
    for name in fields:
        if name not in known:
            word = shown(str(name), 63)
            message = f"{_owner(field)} has no field {word}: kubectl refuses it, and others drop it with what it says"
            hint = _LABELS if word == "matchLabels" else hint_known(word, known)
            yield _error(_UNKNOWN, (*field, str(name)), message, Part.KEY, hint)


def _owner(field: FieldPath) -> str:
    """Returns what a field is called in a message: an entry of a list by what the list holds."""
    *_, above, last = field
    return last if isinstance(last, str) else _ENTRIES.get(str(above), "an expression")


def _mappings(parent: JSONMap, name: str, field: FieldPath) -> Iterator[tuple[JSONMap, FieldPath]]:
    items = parent.get(name)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, Mapping):
            yield item, (*field, name, index)


def _error(rule: str, field: FieldPath, message: str, part: Part = Part.VALUE, hint: str | None = None) -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, field=field, message=message, part=part, hint=hint)
