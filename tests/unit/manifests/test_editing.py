"""Changed values, and not a character more."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from gpupolicy.errors import InputError
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.editing import edit_text


def edit(text: str, *path: str | int, to: object) -> str:
    """Sets one value of the first document."""
    documents = read_documents(text, "m.yaml")
    changed = copy(documents[0].value)
    parent: Any = changed
    for step in path[:-1]:
        parent = parent[step]
    if isinstance(parent, list) and path[-1] == len(parent):
        parent.append(to)
    else:
        parent[path[-1]] = to
    return edit_text(text, documents, {documents[0].index: changed})


def copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copy(entry) for key, entry in value.items()}
    return [copy(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        pytest.param("a: 1\n", ("b",), "x", "a: 1\nb: x\n", id="a-key"),
        pytest.param("a: 1", ("b",), "x", "a: 1\nb: x", id="no-line-end"),
        pytest.param("a: 1 # why\n", ("b",), "x", "a: 1 # why\nb: x\n", id="behind-a-comment"),
        pytest.param("a: 1\n# end\n", ("b",), "x", "a: 1\nb: x\n# end\n", id="before-a-comment"),
        pytest.param("# top\n\na:   1\n", ("a",), 2, "# top\n\na:   2\n", id="a-scalar"),
        pytest.param("a: 'x' # why\n", ("a",), "z", "a: z # why\n", id="a-quoted-scalar"),
        pytest.param("a:\nb: 1\n", ("a",), "x", "a: x\nb: 1\n", id="an-empty-value"),
        pytest.param("a:\nb: 1\n", ("a",), {"c": "x"}, "a:\n  c: x\nb: 1\n", id="a-mapping-for-an-empty-value"),
        pytest.param("a: ~ # why\n", ("a",), {"c": "x"}, "a: {c: x} # why\n", id="a-mapping-beside-a-comment"),
        pytest.param("a: {}\n", ("a", "b"), {"c": "x"}, "a: {b: {c: x}}\n", id="an-empty-mapping"),
        pytest.param("a: {b: 1}\n", ("a", "c"), "x", "a: {b: 1, c: x}\n", id="a-flow-mapping"),
        pytest.param("a: [1]\n", ("a", 1), "x", "a: [1, x]\n", id="a-flow-list"),
        pytest.param("a:\n- 1\nb: 2\n", ("a", 1), {"c": "x"}, "a:\n- 1\n- c: x\nb: 2\n", id="a-list"),
        pytest.param("a:\n  - 1\nb: 2\n", ("a", 1), "x", "a:\n  - 1\n  - x\nb: 2\n", id="an-indented-list"),
        pytest.param("- a: 1\n- b: 1\n", (0, "c"), "x", "- a: 1\n  c: x\n- b: 1\n", id="a-mapping-in-a-list"),
        pytest.param("a: |\n  x\n\n  y\n\nb: 1\n", ("c",), "x", "a: |\n  x\n\n  y\n\nb: 1\nc: x\n", id="block-text"),
        pytest.param(
            "b:\n  a: |\n    x\n\nc: 1\n", ("b", "d"), "x", "b:\n  a: |\n    x\n  d: x\n\nc: 1\n", id="behind-text"
        ),
        pytest.param(
            "b:\n  a: >+\n    x\n\nc: 1\n",
            ("b", "d"),
            "x",
            "b:\n  d: x\n  a: >+\n    x\n\nc: 1\n",
            id="before-such-text",
        ),
        pytest.param("- a: |\n    x", (0, "d"), "x", "- d: x\n  a: |\n    x", id="before-text-without-line-end"),
        pytest.param(
            "a:\n  b: 1\n  # c: 2\n\n  # d: 3\n# e: 4\n",
            ("f",),
            "x",
            "a:\n  b: 1\n  # c: 2\n\n  # d: 3\nf: x\n# e: 4\n",
            id="behind-comments-inside-of-the-last-value",
        ),
        pytest.param(
            "a:\r\n  b: 1\r\n  # c\r\n", ("f",), "x", "a:\r\n  b: 1\r\n  # c\r\nf: x\r\n", id="windows-comments"
        ),
        pytest.param("a: 1\r\nb: 2\r\n", ("c",), {"d": "x"}, "a: 1\r\nb: 2\r\nc:\r\n  d: x\r\n", id="windows-lines"),
        pytest.param('{"a": 1}\n', ("b",), "x", '{"a": 1, "b": "x"}\n', id="json"),
        pytest.param('{\n\t"a": 1\n}\n', ("b",), "x", '{\n\t"a": 1,\n\t"b": "x"\n}\n', id="json-with-tabs"),
        pytest.param(
            '{"a": "\\ud83c\\udf89", "\\ud83c\\udf89": 1}',
            ("b",),
            "x",
            '{"a": "\\ud83c\\udf89", "\\ud83c\\udf89": 1, "b": "x"}',
            id="json-with-escaped-pairs",
        ),
        pytest.param('{"a": "\\ud83c"}', ("b",), "x", '{"a": "\\ud83c", "b": "x"}', id="json-with-half-a-pair"),
        pytest.param("ä: 'ö'\n", ("b",), "x", "ä: 'ö'\nb: x\n", id="beyond-ascii"),
    ],
)
def test_only_the_value_changes(before: str, path: tuple[str | int, ...], value: object, after: str) -> None:
    assert edit(before, *path, to=value) == after


def test_the_other_documents_stay_as_they_are() -> None:
    assert edit("--- # one\na: 1\n---\n# empty\n--- # two\nb:   2\n", "c", to="x") == (
        "--- # one\na: 1\nc: x\n---\n# empty\n--- # two\nb:   2\n"
    )


def test_a_list_that_gets_shorter_is_written_anew() -> None:
    assert edit("a:\n  b:\n  - 1 # one\n  - 2\nc: 1\n", "a", "b", to=[2]) == "a:\n  b:\n  - 2\nc: 1\n"


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        pytest.param("a:\n- x\nb: 1\n", None, "a:\n  null\nb: 1\n", id="a-scalar"),
        pytest.param("a:\n- x\nb: 1\n", {"c": "z"}, "a:\n  c: z\nb: 1\n", id="a-mapping"),
        pytest.param("a:\n  c: 1\nb: 1\n", ["z"], "a:\n  - z\nb: 1\n", id="a-list"),
        pytest.param("a:\n  c: 1\nb: 1\n", {}, "a:\n    {}\nb: 1\n", id="an-empty-mapping"),
    ],
)
def test_a_block_gives_way_to_another_value(before: str, value: object, after: str) -> None:
    assert edit(before, "a", to=value) == after


def test_an_alias_is_written_out_where_its_value_changes() -> None:
    assert edit("a: &x {b: 1}\nc: *x\n", "c", "d", to="z") == "a: &x {b: 1}\nc:\n  b: 1\n  d: z\n"


def test_the_aliases_of_an_anchor_changed_behind_comments_keep_their_value() -> None:
    assert edit("a: &s\n  b:\n  - 1\n    # c\nd: *s\n", "a", "e", to="x") == (
        "a: &s\n  b:\n  - 1\n    # c\n  e: x\nd:\n  b:\n  - 1\n"
    )


def test_the_aliases_of_a_changed_anchor_keep_their_value() -> None:
    assert edit("a: &x {b: 1}\nc: *x\n", "a", "d", to="z") == "a: &x {b: 1, d: z}\nc:\n  b: 1\n"


def test_a_merged_key_is_overridden_not_changed_at_its_source() -> None:
    text = dedent(
        """\
        base: &base
          a: {b: 1}
        c:
          <<: *base
          d: 1
        """
    )

    assert edit(text, "c", "a", to={"b": 2}) == text + "  a:\n    b: 2\n"


def test_an_edit_that_would_change_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be changed in place"):
        edit("base: &base {a: 1}\nc:\n  <<: *base\n", "base", "b", to=2)
