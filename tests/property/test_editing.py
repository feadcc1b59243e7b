"""Editing a text in place: whatever the style, the values are the new ones and no comment is lost."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.editing import edit_text

KEYS = st.sampled_from(["a", "b", "spec", "x-y", "my.gpu.cluster/node-group", "NO"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 999), st.sampled_from(["x", "no", "010", "a: b", "#", "é"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3))
)
ROOTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
STYLES = st.sampled_from([None, False, True])


@given(old=ROOTS, new=ROOTS, style=STYLES, indent=st.sampled_from([2, 4]))
@settings(max_examples=300, deadline=None)
def test_an_edited_text_has_the_new_values(old: Any, new: Any, style: bool | None, indent: int) -> None:
    """``edit_text`` reads its own result again and refuses to hand over anything else."""
    text = yaml.safe_dump(old, default_flow_style=style, indent=indent, sort_keys=False, allow_unicode=True)
    documents = read_documents(text, "m.yaml")
    merged = {**documents[0].value, **new}  # type: ignore[dict-item]  # a mapping by construction

    edited = edit_text(text, documents, {0: merged})

    assert read_documents(edited, "m.yaml")[0].value == merged


@given(old=ROOTS, more=VALUES)
@settings(max_examples=200, deadline=None)
def test_comments_stay(old: Any, more: Any) -> None:
    lines = yaml.safe_dump(old, default_flow_style=False, sort_keys=False).splitlines()
    text = "# top\n" + "".join(f"{line}  # c{index}\n" for index, line in enumerate(lines)) + "# end\n"
    documents = read_documents(text, "m.yaml")

    edited = edit_text(text, documents, {0: {**documents[0].value, "new": more}})  # type: ignore[dict-item]

    assert [f"# c{index}\n" in edited for index in range(len(lines))] == [True] * len(lines)
    assert (edited.startswith("# top\n"), edited.endswith("# end\n")) == (True, True)
