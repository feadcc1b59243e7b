"""The rules that the reader and the schema answer for; those about meaning stand in gpupolicy.rules."""

from __future__ import annotations

from collections.abc import Mapping

READING_RULES: Mapping[str, str] = {
    "input-too-large": "a text of more than 16 MiB, or of more than 100,000 documents",
    "not-utf-8": "UTF-16, UTF-32, binary, or bytes that are no UTF-8",
    "yaml-unreadable": "a text that is no YAML, or an alias or a key that means nothing",
    "yaml-too-deep": "more than 100 levels inside each other",
    "yaml-alias-bomb": "aliases that expand to more than 100,000 nodes",
    "duplicate-key": "a key that stands twice in one mapping",
    "yaml-unknown-tag": "a tag that the cluster does not know, such as !vault or !!python/object",
    "yaml-infinity": ".inf or .nan, which JSON does not have",
    "yaml-boolean-word": "yes, no, on, off, y or n without quotes, which is true or false",
    "yaml-octal": "010, which is 8 for the cluster; file modes (mode, defaultMode) are meant so and left alone",
    "yaml-underscore-number": "1_000, which is a number for the cluster and text for others",
    "yaml-sexagesimal": "12:30:45, which is text for the cluster and a number of base 60 for others",
    "yaml-merge-overrides": "a merge key (<<) behind a key that it replaces in the cluster, but not elsewhere",
}
SHAPE_RULES: Mapping[str, str] = {
    "wrong-kind": "a document that is no GPUPolicy, or one of another version",
    "mixed-documents": "a policy that is not alone in its file",
    "unknown-field": "a field that the format does not have",
    "missing-field": "a field that has to be there",
    "wrong-type": "text where a number is expected, and the like",
    "value-not-allowed": "a word that is none of the choices",
    "value-out-of-range": "a number that is too small or too large",
    "empty-value": "an empty list or text where something is expected",
    "wrong-form": "text that has not the form of a date, of namespace/name, or of kind/name",
}
