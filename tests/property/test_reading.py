"""Laws of reading: any text comes back as documents or findings, JSON means the same as YAML, and lint never raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpupolicy.errors import Part
from gpupolicy.linting import lint_text
from gpupolicy.loading import read_documents

WHOLE = (Path(__file__).parents[1] / "data" / "policies" / "whole.yaml").read_text()

PIECES = st.sampled_from(
    (
        *(
            "a",
            "b: ",
            "- ",
            "\n",
            "  ",
            "\t",
            "---\n",
            "...\n",
            "{",
            "}",
            "[",
            "]",
            ",",
            "&x ",
            "*x",
            "<<: ",
            "!t ",
            "!!int ",
        ),
        *(
            "'",
            '"',
            "|\n",
            ">\n",
            "#",
            "? ",
            ": ",
            "010",
            "1_0",
            "yes",
            "~",
            ".inf",
            "\u2028",
            "\x85",
            "é",
            "😀",
            "\x00",
            "%",
        ),
    )
)
YAML_LIKE = st.lists(PIECES, max_size=40).map("".join)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything inside of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, child in items for way in paths(child, (*path, key)))]


@given(YAML_LIKE | st.text(max_size=60) | st.binary(max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_text_becomes_documents_with_places(text: str | bytes) -> None:
    for document in read_documents(text, "f"):
        assert document.readable or document.findings
        assert all(f.line and f.column for f in document.findings)
        assert all(document.place(path, part) >= (1, 1) for path in paths(document.value) for part in Part)


@given(JSON_VALUES)
@settings(max_examples=300, deadline=None)
def test_json_is_read_as_what_was_written(value: Any) -> None:
    """Whole floats become integers, which are equal to them."""
    (document,) = read_documents(json.dumps([value]), "f.json")

    assert document.value == [value]


@given(st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 6), PIECES), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_lint_never_raises_for_a_bad_policy(edits: list[tuple[int, int, str]]) -> None:
    text = WHOLE
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length :]

    assert all(finding.rule for finding in lint_text(text))
