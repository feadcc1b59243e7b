"""Fixtures of the end-to-end tests: a control plane for each process that runs them, a namespace for each test."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from controlplane import build, definitions
from e2e.controlplane import FOLDERS, KEEP, ControlPlane
from e2e.processes import wait_for
from e2e.rest import Object

HERE = Path(__file__).parent
FOUND = pytest.StashKey[frozenset[str] | None]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is marked e2e."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the ends of the servers' logs to the report of a test that failed on the shared plane."""
    report = yield
    plane = getattr(item, "funcargs", {}).get("control_plane")
    if report.failed and plane is not None:
        report.sections.append(("control plane logs", plane.log_tails()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say aloud what was not tested, as a skip is easily taken for a success, and where kept logs are."""
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if r.keywords.get("e2e")]
    if skipped:
        terminalreporter.section("END-TO-END TESTS NOT RUN", sep="!", yellow=True, bold=True)
        terminalreporter.line(f"{len(skipped)} tests need a real control plane; {build.HOW_TO_GET_IT}")
    if os.environ.get(KEEP) == "1":
        terminalreporter.line(f"the control planes' logs are kept in {FOLDERS}")


def is_required() -> bool:
    """Whether a missing control plane is a failure: in CI, and where it is asked for."""
    return os.environ.get("CI") == "true" or os.environ.get("GPUPOLICY_E2E_REQUIRED") == "1"


@pytest.fixture(scope="session")
def binaries(pytestconfig: pytest.Config) -> dict[str, Path]:
    """The servers' binaries, built if they are not there yet: that takes minutes, so its progress is shown."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return build.find_or_build()
    except build.UnavailableError as error:
        (pytest.fail if is_required() else pytest.skip)(str(error))


@pytest.fixture(scope="class")
def foreign_kinds(control_plane: ControlPlane) -> Iterator[None]:
    """The kinds of cert-manager and Node Feature Discovery, with their own schemas, known to the API server."""
    try:
        wanted = definitions.find_or_download()
    except build.UnavailableError as error:
        (pytest.fail if is_required() else pytest.skip)(str(error))
    control_plane.apply(wanted)
    wait_for(lambda: all(is_served(control_plane, each) for each in wanted), message="the kinds of others served")
    yield
    for each in wanted:
        control_plane.api().delete(each)


def is_served(plane: ControlPlane, definition: Object) -> bool:
    """Whether the API server offers the kind of a CustomResourceDefinition, in its first version."""
    spec = definition["spec"]
    answer = plane.api().request("GET", f"/apis/{spec['group']}/{spec['versions'][0]['name']}")
    return spec["names"]["plural"] in [each["name"] for each in answer.body.get("resources", [])]


@pytest.fixture(scope="session")
def control_plane(binaries: dict[str, Path]) -> Iterator[ControlPlane]:
    """The control plane that all tests of this process share, with a controller manager and no scheduler."""
    with ControlPlane(audit=True) as plane:
        plane.controller_manager()
        yield plane


@pytest.fixture(autouse=True)
def _leave_as_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove what a test left outside its namespace: schedulers, nodes, webhook configurations, policies."""
    if "control_plane" not in request.fixturenames:
        yield
        return
    plane: ControlPlane = request.getfixturevalue("control_plane")
    stash = request.config.stash
    if (before := stash.get(FOUND, None)) is None:
        before = frozenset(plane.cluster_wide_objects())
    running = plane.running_schedulers()
    yield
    for scheduler in plane.running_schedulers():
        if scheduler not in running:
            scheduler.kill()
    plane.delete_cluster_wide_objects(but=before)
    stash[FOUND] = before


@pytest.hookimpl
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    """Look at the cluster anew before the next test: what a wider fixture makes stays for several."""
    _forget_what_was_found(fixturedef, request)


@pytest.hookimpl
def pytest_fixture_post_finalizer(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    """Look at the cluster anew: a wider fixture has removed what it made."""
    _forget_what_was_found(fixturedef, request)


def _forget_what_was_found(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> None:
    if fixturedef.scope != "function":
        request.config.stash[FOUND] = None


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own; its pods are gone before the next test begins.

    It stays, empty: the end of a namespace takes some 75 requests, more than the rest of most tests.
    """
    name = control_plane.add_namespace(f"e2e-{secrets.token_hex(4)}")
    yield name
    control_plane.delete_all_pods(name)
