"""Laws of the YAML that we write: whoever reads it gets back what was given."""

from __future__ import annotations

import io

import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpupolicy.compiler.yaml_text import to_yaml

WORDS = ("on", "no", "y", "N", "~", "null", ".inf", "=", "<<", "-", "?", "--", "--x", "@x", "%x", "a:b", "a:", "a#b")
NUMBERS = ("010", "0o10", "0x1F", "1_000", "1e3", "12:30:45", "2027-01-31", "1.37", "5m", "8Gi", "1E", "08")
LINES = (
    "",
    " ",
    "a b ",
    "a: b",
    "a #b",
    "x\ny",
    "x\n",
    "x\n\n",
    "\nx",
    " x\ny",
    "x \n y\t\n\n\nz",
    "\u2028",
    "x\n\u2028",
    "é\n😀",
)
TRICKY = st.sampled_from(WORDS + NUMBERS + LINES)
TEXT = TRICKY | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
@example({"a": [[{"b": [{}, [], [["x\ny\n"]]]}]]})
def test_pyyaml_reads_back_what_was_written(document: dict[str, object]) -> None:
    assert yaml.safe_load(to_yaml(document) or "{}") == document


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_a_yaml_1_2_reader_reads_back_what_was_written(document: dict[str, object]) -> None:
    assert YAML(typ="safe", pure=True).load(io.StringIO(to_yaml(document) or "{}")) == document
