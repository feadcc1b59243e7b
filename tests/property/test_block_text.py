"""Laws of reading line by line: what is read so is read as by libyaml, and every field stands in the same place."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from gpupolicy.errors import Part
from gpupolicy.loading.block_positions import BlockPositions
from gpupolicy.loading.block_text import read_blocks
from gpupolicy.loading.yaml_text import read_yaml

KEYS = st.sampled_from(("a", "b", "c", "x.y/z-1", "_k", "mode", "on", "y", "null", "No", "true"))
PLAIN_VALUES = (
    "1",
    "x",
    "foo bar",
    "a:b",
    "http://x/y:1",
    "-1",
    "--x=1",
    "$(X)",
    "é ü",
    "x#y",
    "a, b",
    "~",
    "1.50",
    "1e3",
)
INLINE_VALUES = ('"q: r"', "'s # t'", '""', "[]", "{}", "[a, 'b', -1]", "[ [1], {a: b} ]", "{a: 1, b: [x y, {c: d}]}")
ODD_VALUES = (
    *("- x", "010", "1_0", "yes", "|", ">-", "&a x", "*a", "!t x", "# c", '"a"#b', '"a" # b', "a: b", "a:", "x:y: z"),
    *(
        "%x",
        "@x",
        "? x",
        ":x",
        "<<",
        ".inf",
        "1:30",
        "a\tb",
        "{a: 1, a: 2}",
        "[a,]",
        "[a: 1]",
        "{a}",
        "{y: 1}",
        "[010]",
    ),
    *(
        "\u2028",
        "\x07",
        "\xa0",
        "😀",
        "'it''s'",
        '"a\\n"',
        "---",
        "...",
        "[a",
        "a]",
        "[-]",
        "{a:1}",
        '{"a": 1}',
        "[a] b",
    ),
)
SEPARATORS = st.sampled_from(
    ("", "  ", "# c", "   # c", "---", "--- ", "--- # c", "...", "- ", "\t", " ---", "%YAML 1.1")
)


def lines(values: tuple[str, ...], others: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Lines with dashes, keys and values at any small column, and some others."""
    parts = (
        st.sampled_from(("", "", "  ", "  ", "    ", "      ", " ")),
        st.sampled_from(("", "", "", "- ", "-   ")),
        KEYS.map("{}: ".format) | st.just(""),
        st.sampled_from(values) | st.just(""),
        st.sampled_from(("", "", "", "", " # c", " ")),
    )
    return st.tuples(*parts).map("".join) | others


TEXTS = st.one_of(
    st.lists(lines((*PLAIN_VALUES, *INLINE_VALUES), st.just("---")), min_size=1, max_size=9),
    st.lists(lines((*PLAIN_VALUES, *INLINE_VALUES, *ODD_VALUES), SEPARATORS), min_size=1, max_size=6),
).map("\n".join)


def paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The ways to everything inside of a value, and to things that are not there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ways = [way for key, child in items for way in paths(child, (*path, key))]
    return [path, (*path, "none"), (*path, 9), *ways]


@given(TEXTS)
@example("a:\n- b:\n  - c\n  d:\n\ne: [1, {f: g}]\n---\n# nothing\n---\n--- \n  h: 1\n# end")
@example("# c\n\n  a: x\n  b:\n      - 1\n      -   c: 2\n          d: 3\n      - 'e'")
def test_what_is_read_line_by_line_is_read_just_as_by_libyaml(text):
    blocks = read_blocks(text)

    if blocks is not None:
        documents = [*read_yaml(text, "f")]
        assert repr([(d.value, d.index, d.line, d.positions.line, d.text) for d in documents]) == repr(blocks)
        assert [d.findings for d in documents] == [()] * len(blocks)


@given(TEXTS)
@example("a:\n- b:\n  - c\n  d:\n\ne: [1, {f: g}]\n---\n# nothing\n---\n--- \n  h: 1\n# end")
def test_every_field_stands_where_libyaml_sees_it(text):
    for (value, *_), document in zip(read_blocks(text) or (), read_yaml(text, "f"), strict=False):
        ours = BlockPositions(document.text, document.positions.line)
        theirs = document.positions
        places = [(ours.find(*asked), theirs.find(*asked)) for asked in product(paths(value), Part)]

        assert [place for place, _ in places] == [place for _, place in places]
        assert ours.find_all() == theirs.find_all()
