"""Names found by name or pattern: the same as trying each pattern on each name."""

from __future__ import annotations

import pytest

from gpupolicy.assignment.names import NodeNames
from gpupolicy.labels import matches_glob

NAMES = ("gpu-10", "gpu-02", "gpu-01", "other", "gpu-[x]", "g")


@pytest.mark.parametrize(
    "patterns",
    [
        pytest.param(("gpu-01",), id="name"),
        pytest.param(("gpu-0*",), id="star"),
        pytest.param(("gpu-0?", "gpu-01", "other"), id="several-each-once"),
        pytest.param(("gpu-[01]*",), id="set"),
        pytest.param(("*",), id="all"),
        pytest.param(("gpu-[x]",), id="a-name-that-looks-like-a-pattern"),
        pytest.param(("GPU-01", "z*"), id="none"),
        pytest.param((), id="no-pattern"),
    ],
)
def test_the_names_found_are_those_that_match(patterns: tuple[str, ...]) -> None:
    assert NodeNames(NAMES).find(patterns) == sorted(name for name in NAMES if matches_glob(name, patterns))
