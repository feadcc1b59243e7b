"""Laws of patches: they say where an object goes, and nothing else."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pod_strategies import json_values

from gpupolicy.patch import PatchError, apply_patch

keys = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["/", "~", "~1", "~0", "a/b", "", "-", "0"])
documents = st.dictionaries(keys, json_values, max_size=4)
operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "replace", "remove", "test", "move", ""]),
        "path": st.lists(keys, max_size=3).map(lambda steps: "".join("/" + step for step in steps)),
        "value": json_values,
    }
)


def pointer(*steps):
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


@given(documents, keys, json_values)
def test_what_is_added_stands_under_its_key(document, key, value):
    apply_patch(document, [{"op": "add", "path": pointer(key), "value": value}])

    assert document[key] is value


@given(documents, keys, json_values)
def test_removing_what_was_added_leaves_the_rest(document, key, value):
    rest = {name: deepcopy(item) for name, item in document.items() if name != key}
    apply_patch(document, [{"op": "add", "path": pointer(key), "value": value}, {"op": "remove", "path": pointer(key)}])

    assert repr(document) == repr(rest)


@given(st.lists(st.integers(), max_size=5), st.data())
def test_inserting_keeps_the_order_of_the_others(items, data):
    index = data.draw(st.integers(0, len(items)))
    document = {"a": list(items)}
    apply_patch(document, [{"op": "add", "path": f"/a/{index}", "value": "new"}])

    assert document == {"a": [*items[:index], "new", *items[index:]]}


@given(st.lists(st.integers(), max_size=5))
def test_appending_is_inserting_at_the_end(items):
    one, other = {"a": list(items)}, {"a": list(items)}
    apply_patch(one, [{"op": "add", "path": "/a/-", "value": "new"}])
    apply_patch(other, [{"op": "add", "path": f"/a/{len(items)}", "value": "new"}])

    assert one == other


@given(documents, keys, keys, json_values)
def test_nothing_is_added_below_a_missing_parent(document, parent, key, value):
    document.pop(parent, None)
    with pytest.raises(PatchError):
        apply_patch(document, [{"op": "add", "path": pointer(parent, key), "value": value}])


def outcome(document, found):
    """What applying ends in: nothing to say, or the message of the one error that is allowed."""
    try:
        return apply_patch(document, found)
    except PatchError as error:
        return str(error)


@given(json_values, st.lists(operations, max_size=3))
def test_any_operation_applies_or_ends_in_a_patch_error(document, found):
    assert outcome(document, found) != ""
