"""Changes that are foreseen before anybody makes them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import gpu_type, group, policy
from fleet_builders import running, seated

import gpupolicy
from gpupolicy.errors import UsageError
from gpupolicy.inventory.figures import Capacity, GroupRoom, Outlook
from gpupolicy.inventory.what_if import read_change

ONE_TYPE = policy(
    *(group(f"SLOT-{size}", size, types=("V100",)) for size in (1, 4, 8)), types=(gpu_type("V100", aliases=("v",)),)
)
NODES = [seated("a", "SLOT-4"), seated("b", "SLOT-4"), seated("c", "SLOT-8")]
PODS = [running("p", 4, "a")]


def foreseen(*changes: str, pods: list[dict[str, Any]] = PODS) -> tuple[Capacity, Outlook]:
    counted = gpupolicy.capacity(ONE_TYPE, NODES, pods, what_if=changes)
    assert counted.what_if is not None
    return counted, counted.what_if


def slots(groups: tuple[GroupRoom, ...], name: str) -> tuple[int, int, int]:
    """Nodes, total slots and free slots of a group of one size."""
    (found,) = (group for group in groups if group.slot_group == name)
    return found.nodes, found.slots[0].total, found.slots[0].free


def test_new_nodes_are_empty_and_as_the_policy_describes_them() -> None:
    before, after = foreseen("SLOT-8: +2")

    assert slots(before.groups, "SLOT-8") == (1, 1, 1)
    assert slots(after.groups, "SLOT-8") == (3, 3, 3)
    assert [(moved.node, moved.source, moved.target) for moved in after.nodes] == [
        ("new-1", None, "SLOT-8"),
        ("new-2", None, "SLOT-8"),
    ]


def test_the_emptiest_nodes_are_taken_away() -> None:
    before, after = foreseen("SLOT-4: -1")

    assert slots(before.groups, "SLOT-4") == (2, 4, 3)
    assert slots(after.groups, "SLOT-4") == (1, 2, 1)
    assert after.displaced == ()


def test_pods_on_nodes_taken_away_are_named() -> None:
    _, after = foreseen("SLOT-4: -2")

    assert after.displaced == ("team-a/p",)
    assert after.misplaced == ()


def test_the_emptiest_nodes_move_to_another_group() -> None:
    _, after = foreseen("SLOT-8: +1 from SLOT-4")

    assert (slots(after.groups, "SLOT-4"), slots(after.groups, "SLOT-8")) == ((1, 2, 1), (2, 2, 2))
    assert [(moved.node, moved.source, moved.target) for moved in after.nodes] == [("b", "SLOT-4", "SLOT-8")]


def test_pods_on_nodes_that_move_stay_and_are_misplaced() -> None:
    _, after = foreseen("SLOT-8: +2 from SLOT-4")

    assert [each.message for each in after.misplaced] == ["a is in SLOT-8; requests for 4 GPUs go to SLOT-4"]


def test_changes_come_one_after_the_other() -> None:
    _, after = foreseen("SLOT-4/v: +1", "SLOT-8: +1 from SLOT-4", "SLOT-8: -2")

    assert (slots(after.groups, "SLOT-4"), slots(after.groups, "SLOT-8")) == ((2, 4, 3), (0, 0, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param("SLOT-8", 'what-if "SLOT-8" is not of the form', id="no-number"),
        pytest.param("SLOT-8: 2", 'what-if "SLOT-8: 2" is not of the form', id="no-sign"),
        pytest.param("SLOT-88: +1", "what-if: there is no slot group SLOT-88: did you mean SLOT-8", id="group"),
        pytest.param("SLOT-8: +1 from SLOT-9", "what-if: there is no slot group SLOT-9: did you mean", id="source"),
        pytest.param("SLOT-8/V10: +1", "what-if: there is no GPU type V10: did you mean V100", id="type"),
        pytest.param("SLOT-8: -1 from SLOT-4", "nodes move into a group (+) from another one", id="minus-from"),
        pytest.param("SLOT-8: +1 from SLOT-8", "nodes move into a group (+) from another one", id="itself"),
        pytest.param("SLOT-8: +100001", "what-if: 100001 nodes are more than the 100000 that are tried", id="too-many"),
        pytest.param("SLOT-8: -2", 'what-if "SLOT-8: -2": SLOT-8 has 1 nodes of V100, 2 are to be taken', id="too-few"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(change: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        gpupolicy.capacity(ONE_TYPE, NODES, PODS, what_if=[change])

    assert message in str(raised.value)


def test_a_group_of_several_types_wants_one_named() -> None:
    with pytest.raises(UsageError) as raised:
        read_change(policy(), "SLOT-8: +1")

    assert str(raised.value) == ("what-if: SLOT-8 has several GPU types: name one, as in SLOT-8/A100 or SLOT-8/V100")
