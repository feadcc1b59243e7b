"""The metadata that every object of the API has, and what the API server refuses in its labels."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Part
from gpupolicy.labels import find_label_key_problem, find_label_value_problem
from gpupolicy.linting.foreign.findings import show
from gpupolicy.linting.foreign.reading import Object, child, mapping
from gpupolicy.linting.foreign.shapes import ANY, INT64, TEXT, Fields, ListOf, TableOf

METADATA = Fields(
    {
        "name": TEXT,
        "generateName": TEXT,
        "namespace": TEXT,
        "selfLink": TEXT,
        "uid": TEXT,
        "resourceVersion": TEXT,
        "generation": INT64,
        "creationTimestamp": ANY,
        "deletionTimestamp": ANY,
        "deletionGracePeriodSeconds": INT64,
        "labels": TableOf(TEXT),
        "annotations": TableOf(TEXT),
        "ownerReferences": ANY,
        "finalizers": ListOf(TEXT),
        "managedFields": ANY,
    }
)

LABELS: FieldPath = ("metadata", "labels")


def find_label_problems(value: Object) -> Iterator[tuple[FieldPath, Part, str, str | None]]:
    """Yields place, part, message and hint of every label that the API server refuses.

    Source: apimachinery pkg/apis/meta/v1/validation, ValidateLabels.
    """
    for key, label in mapping(child(value, "metadata", "labels")).items():
        path: FieldPath = (*LABELS, key)
        if problem := find_label_key_problem(key):
            yield path, Part.KEY, f"the label key {show(key)} {problem}", None
        if isinstance(label, str) and (problem := find_label_value_problem(label)):
            yield path, Part.VALUE, f"the value {show(label)} of label {key} {problem}", _hint(label)


def _hint(label: str) -> str | None:
    if "," in label:
        return "a label has one value, so that a node is in one group"
    written = "-".join(label.split())
    fits = written != label and find_label_value_problem(written) is None
    return f"write {written}" if fits else None
