"""Laws of the shape of a policy: the quick look and jsonschema are of one mind, and whatever is wrong is told."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpupolicy.loading import read_file
from gpupolicy.loading.schema import fits, read_schema
from gpupolicy.loading.shape import find_shape_problems

(_WHOLE,) = read_file(Path(__file__).parents[1] / "data" / "policies" / "whole.yaml")
VALIDATOR = Draft202012Validator(read_schema())

WORDS = st.sampled_from(
    ["", "x", "powerOfTwo", "deny", "required", "In", "a/b", "Issuer/x", "2027-02-30", "1.37", "MostAllocated"]
)
SCALARS = st.none() | st.booleans() | st.integers(-2, 2000) | st.just(1.5) | WORDS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2), max_leaves=4
)


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything inside of a value, itself included."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, child in items for way in paths(child, (*path, key)))]


PATHS = [path for path in paths(_WHOLE.value) if path]


@st.composite
def spoilt_policies(draw: st.DrawFn) -> Any:
    """The whole policy with up to three places changed, removed or added to."""
    policy = deepcopy(_WHOLE.value)
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=3)):
        parent: Any = policy
        for step in path[:-1]:
            known = isinstance(parent, (dict, list)) and step in (
                parent if isinstance(parent, dict) else range(len(parent))
            )
            parent = parent[step] if known else {}
        match draw(st.sampled_from(["change", "remove", "add"])):
            case "change" if isinstance(parent, dict) or (isinstance(parent, list) and path[-1] in range(len(parent))):
                parent[path[-1]] = draw(VALUES)
            case "remove" if isinstance(parent, dict):
                parent.pop(path[-1], None)
            case "add" if isinstance(parent, dict):
                parent[draw(WORDS)] = draw(VALUES)
            case _:
                pass
    return policy


@given(spoilt_policies() | VALUES)
@settings(max_examples=400, deadline=None)
def test_the_quick_look_and_jsonschema_are_of_one_mind(policy: Any) -> None:
    """Whole floats would be the exception, but the reader makes integers of them, as the cluster does."""
    assert fits(policy) == VALIDATOR.is_valid(policy)


@given(spoilt_policies() | VALUES)
@settings(max_examples=400, deadline=None)
def test_what_jsonschema_refuses_is_told(policy: Any) -> None:
    assert bool(find_shape_problems(policy)) or VALIDATOR.is_valid(policy)


@given(spoilt_policies())
@settings(max_examples=200, deadline=None)
def test_every_problem_is_told_in_words_of_our_own(policy: Any) -> None:
    for problem in find_shape_problems(policy):
        assert problem.message
        assert "is not valid under" not in problem.message
        assert (
            problem.field[:1] in ((), ("apiVersion",), ("kind",), ("metadata",), ("spec",))
            or problem.rule == "unknown-field"
        )
