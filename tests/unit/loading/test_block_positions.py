"""Where fields stand in what is read line by line; that libyaml sees them there too is a law of tests/property."""

from __future__ import annotations

import pytest

from gpupolicy.errors import Part
from gpupolicy.loading import read_documents
from gpupolicy.loading.block_positions import BlockPositions

TEXT = """\
---
a:
  b: 1
list:
- name: x
  more:
- 2
flow: {c: [3, {d: e f}]}
"""


@pytest.mark.parametrize(
    ("path", "part", "place"),
    [
        pytest.param((), Part.VALUE, (12, 1), id="the-document"),
        pytest.param(("a",), Part.KEY, (12, 1), id="a-key"),
        pytest.param(("a",), Part.VALUE, (13, 3), id="a-mapping"),
        pytest.param(("a", "b"), Part.VALUE, (13, 6), id="a-value"),
        pytest.param(("a", "none"), Part.VALUE, (13, 3), id="a-missing-field"),
        pytest.param(("a", "b", "none"), Part.VALUE, (13, 6), id="below-a-value"),
        pytest.param(("list",), Part.VALUE, (15, 1), id="a-list"),
        pytest.param(("list", 0), Part.VALUE, (15, 3), id="a-mapping-in-a-list"),
        pytest.param(("list", 0), Part.KEY, (15, 3), id="an-index-is-no-key"),
        pytest.param(("list", 0, "more"), Part.VALUE, (16, 8), id="null"),
        pytest.param(("list", 1), Part.VALUE, (17, 3), id="a-value-in-a-list"),
        pytest.param(("list", 2), Part.VALUE, (15, 1), id="a-missing-entry"),
        pytest.param(("flow", "c"), Part.KEY, (18, 8), id="a-key-in-one-line"),
        pytest.param(("flow", "c", 1, "d"), Part.VALUE, (18, 19), id="a-value-in-one-line"),
        pytest.param(("flow", "c", 5), Part.VALUE, (18, 11), id="a-missing-entry-in-one-line"),
    ],
)
def test_a_field_is_found(path, part, place):
    assert BlockPositions(TEXT, 11).find(path, part) == place


def test_all_places_are_found():
    assert BlockPositions("a:\n  - 1\nb: [2]", 1).find_all() == {
        (): (1, 1),
        ("a",): (2, 3),
        ("a", 0): (2, 5),
        ("b",): (3, 4),
        ("b", 0): (3, 5),
    }


def test_documents_behind_others_count_lines_from_the_start_of_the_file():
    _, second = read_documents("a: 1\n---\nb:\n  c: 1", "f")

    assert second.place(("b", "c")) == (4, 6)
