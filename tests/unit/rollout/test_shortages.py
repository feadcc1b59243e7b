"""Claims that a fleet does not meet."""

from __future__ import annotations

import pytest
from builders import policy

from gpupolicy.model import NodeClaim, SlotGroup
from gpupolicy.rollout.shortages import find_shortages


def claim(**fields: object) -> NodeClaim:
    return NodeClaim(gpu_type="V100", **fields)  # type: ignore[arg-type]


def told(*claims: NodeClaim, **seats: str | None) -> list[str]:
    """What is said of a group LARGE with these claims; each keyword is a V100 node and its group."""
    governing = policy(SlotGroup(name="LARGE", sizes=(8,), nodes=claims))
    return [each.message for each in find_shortages(governing, {n: ("V100", g) for n, g in seats.items()})]


def test_a_count_that_the_fleet_does_not_have_is_told() -> None:
    assert told(claim(count=3), a="LARGE", b="LARGE") == [
        "slot group LARGE gets 2 of the 3 nodes of GPU type V100 that it counts (policy)"
    ]


def test_names_that_no_node_of_the_type_has_are_told() -> None:
    assert told(claim(names=("a", "gone", "old-*")), a="LARGE", b=None) == [
        "slot group LARGE names gone, old-*, and no node of GPU type V100 is called so (policy)"
    ]


@pytest.mark.parametrize("empty", [claim(weight=1), claim(names=("b*",))], ids=["weight", "names"])
def test_a_group_without_any_node_is_told(empty: NodeClaim) -> None:
    assert told(empty, b="OTHER") == ["slot group LARGE gets no node of GPU type V100 (policy)"]


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param((claim(count=1),), id="a-count-that-is-met"),
        pytest.param((claim(count=1, names=("a", "spare")),), id="some-of-these-names"),
        pytest.param((claim(names=("a",)), claim(weight=1)), id="names-and-a-share-of-nothing"),
    ],
)
def test_what_a_group_gets_is_not_told(claims: tuple[NodeClaim, ...]) -> None:
    assert told(*claims, a="LARGE") == []


def test_a_group_that_wants_none_gets_none() -> None:
    assert told(claim(weight=0), a=None) == []


def test_many_names_are_cut() -> None:
    (message,) = told(claim(names=tuple(f"n{i}" for i in range(12)), weight=None), claim(weight=0), a="LARGE")

    assert "n8, n9 and 2 more, and no node" in message
