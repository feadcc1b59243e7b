"""Fixtures of the fault tests: real processes under a load of reviews, for as long as it is asked for.

A run that was asked to take its time ends with a table of what it measured.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from faults.load import BUILD, SECONDS, SOAK_SECONDS, find_or_build
from faults.replicas import Installation
from faults.table import Measured

HERE = Path(__file__).parent
MEASURED = pytest.StashKey[Measured]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is marked faults."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.faults)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the tables, behind all else, if a length was asked for; the figures of a short run mean nothing."""
    if measured := config.stash.get(MEASURED, None):
        for table, lengths in ((measured.faults, {SECONDS}), (measured.soak, {SECONDS, SOAK_SECONDS})):
            if lengths & os.environ.keys() and not table.is_empty:
                terminalreporter.section("measured")
                for line in table.lines():
                    terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def measured(request: pytest.FixtureRequest) -> Measured:
    """Takes what a test has measured."""
    return request.config.stash.setdefault(MEASURED, Measured())


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
    return float(os.environ.get(SECONDS, "1"))


@pytest.fixture
def is_long(seconds: float) -> bool:
    """Whether there is time for the full numbers."""
    return seconds >= 10


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """The classic policy and a certificate, mounted."""
    return Installation(tmp_path)
