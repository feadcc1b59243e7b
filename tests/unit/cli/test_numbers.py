"""Numbers on the command line."""

from __future__ import annotations

import argparse

import pytest

from gpupolicy.cli.numbers import seconds, whole_number


@pytest.mark.parametrize("text", ["1", "007", "86400"])
def test_numbers_within_the_bounds_are_taken(text: str) -> None:
    assert seconds(1, 86400)(text) == int(text)


@pytest.mark.parametrize("text", ["0", "86401", "-1", "1.5", "", "٣", "²", "1_0", "9" * 5000])
def test_everything_else_is_refused_with_what_is_expected(text: str) -> None:
    """More digits than Python converts are a number out of range, no accident."""
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        seconds(1, 86400)(text)

    assert str(caught.value) == f"{text} is no time: whole seconds from 1 to 86400 are expected"


def test_what_is_said_of_others_is_free() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"^8 is none$"):
        whole_number(0, 7, "is none")("8")
