"""Durations as Go reads them."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("15s", 15.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="two-parts"),
        pytest.param("1.5h", 5400.0, id="fraction"),
        pytest.param(".5s", 0.5, id="no-leading-zero"),
        pytest.param("500ms", 0.5, id="milliseconds"),
        pytest.param("-5s", -5.0, id="negative"),
        pytest.param("0", 0.0, id="bare-zero"),
        pytest.param("10µs", 0.00001, id="micro"),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "s", "15 s", "15S", "1d", "5s ", "--5s", "1e3s"])
def test_what_go_refuses_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None
