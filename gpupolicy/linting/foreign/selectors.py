"""Label selectors in foreign objects: what the API server refuses in them."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath
from gpupolicy.labels import find_label_key_problem, find_label_value_problem
from gpupolicy.linting.foreign.findings import listed, show
from gpupolicy.linting.foreign.reading import child, mapping, objects, text, texts

OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")


def find_selector_problems(selector: object) -> Iterator[tuple[FieldPath, str]]:
    """Yields place (from the selector on) and message of everything that is refused.

    Source: apimachinery pkg/apis/meta/v1/validation, ValidateLabelSelector.
    """
    for key, value in mapping(child(selector, "matchLabels")).items():
        if problem := find_label_key_problem(key):
            yield ("matchLabels", key), f"label key {show(key)} {problem}"
        if problem := find_label_value_problem(text(value)):
            yield ("matchLabels", key), f"label value {show(value)} {problem}"
    for index, expression in objects(child(selector, "matchExpressions")):
        for field, message in _expression_problems(expression):
            path = ("matchExpressions", index, field) if field in expression else ("matchExpressions", index)
            yield path, message


def _expression_problems(expression: object) -> Iterator[tuple[str, str]]:
    entry = mapping(expression)
    key, operator, values = text(entry.get("key")), text(entry.get("operator")), texts(entry.get("values"))
    if operator not in OPERATORS:
        yield "operator", f"operator is {show(operator)}; the API server takes {listed(OPERATORS)}"
    if operator in ("In", "NotIn") and not values:
        yield "values", f"{operator} needs values"
    if operator in ("Exists", "DoesNotExist") and values:
        yield "values", f"{operator} takes no values"
    if problem := find_label_key_problem(key):
        yield "key", f"label key {show(key)} {problem}"
    for value in values:
        if problem := find_label_value_problem(value):
            yield "values", f"label value {show(value)} {problem}"
