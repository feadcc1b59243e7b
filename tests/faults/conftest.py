"""Fixtures of the fault tests: real processes under a load of reviews, for as long as it is asked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from faults.load import BUILD, find_or_build
from faults.replicas import Installation

HERE = Path(__file__).parent
SECONDS = "GPUPOLICY_FAULTS_SECONDS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is marked faults."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.faults)


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    """The load client; where there is no Go this is said, and in CI it is a failure."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the faults look into /proc")
    try:
        find_or_build()
    except BUILD.UnavailableError as error:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(error))


@pytest.fixture
def seconds() -> float:
    """How long each load lasts: short unless asked for more (``make faults``: 30)."""
    return float(os.environ.get(SECONDS, "2"))


@pytest.fixture
def is_long(seconds: float) -> bool:
    """Whether there is time for the full numbers."""
    return seconds >= 10


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """The classic policy and a certificate, mounted."""
    return Installation(tmp_path)
