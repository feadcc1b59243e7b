from __future__ import annotations

import pytest

from gpupolicy.suggestions import MOST_LISTED, find_nearest, find_slip, hint_known


@pytest.mark.parametrize(
    ("word", "known", "nearest"),
    [
        ("mostallocated", ("LeastAllocated", "MostAllocated"), "MostAllocated"),
        ("slot_4", ("SLOT-2", "SLOT-4"), "SLOT-4"),
        ("gpuType", ("gpuTypes", "slotGroups"), "gpuTypes"),
        ("SLOT-SMAL", ("SLOT-SMALL", "SLOT-8"), "SLOT-SMALL"),
        ("colour", ("guard", "prefix"), None),
        ("x", (), None),
    ],
)
def test_the_nearest_word_is_found_whatever_its_case_and_dashes(
    word: str, known: tuple[str, ...], nearest: str | None
) -> None:
    assert find_nearest(word, known) == nearest


@pytest.mark.parametrize(
    ("word", "meant"),
    [("DeamonSet", "DaemonSet"), ("daemon-set", "DaemonSet"), ("JobSet", None), ("DaemonSet", "DaemonSet")],
)
def test_a_slip_is_nearer_than_a_near_word(word: str, meant: str | None) -> None:
    assert find_slip(word, ("DaemonSet", "Job")) == meant


def test_a_near_word_is_offered() -> None:
    assert hint_known("gpuType", ("slotGroups", "gpuTypes")) == "did you mean gpuTypes"


def test_without_a_near_word_all_are_listed_sorted() -> None:
    assert hint_known("colour", ("prefix", "guard", "prefix")) == "known: guard, prefix"


def test_a_long_list_is_cut() -> None:
    words = [f"{number:02}" for number in range(MOST_LISTED + 3)]

    assert hint_known("colour", words) == f"known: {', '.join(words[:MOST_LISTED])} and 3 more"


def test_where_nothing_is_known_there_is_no_hint() -> None:
    assert hint_known("colour", ("",)) is None
