"""Lint of hand-written configurations says an error where the real Kubernetes refuses, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from controlplane import build
from e2e.controlplane import ControlPlane, check_scheduler_config

from gpupolicy.errors import Severity
from gpupolicy.linting import lint_text
from gpupolicy.linting.foreign.scheduler.plugins import find_plugin, plugin_names, points_of
from gpupolicy.model import KUBERNETES_VERSIONS

DATA = Path(__file__).with_name("data")
NEWEST = KUBERNETES_VERSIONS[-1]

# what lint calls an error although Kubernetes takes it: it works, and does harm
SAFETY_RULES = frozenset(
    {
        "leader-election-shares-lease",
        "match-condition-namespace-object",
        "match-condition-unguarded",
        "webhook-blocks-cluster",
        "webhook-holds-lifelines",
        "webhook-review-old",
    }
)


def read(name: str) -> Any:
    """A data file of this folder."""
    return yaml.safe_load((DATA / name).read_text())


SCHEDULER = read("scheduler_configurations.yaml")
WEBHOOKS = read("webhook_configurations.yaml")
NODES = read("nodes.yaml")


def refuses(text: str, *, safety: frozenset[str] = SAFETY_RULES) -> bool:
    """Whether lint finds an error that is about what Kubernetes refuses."""
    findings = lint_text(text, "file")
    return any(f.severity is Severity.ERROR and f.rule not in safety for f in findings)


def without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not null."""
    return {key: element for key, element in value.items() if element is not None}


def webhook_configuration(case: Mapping[str, Any]) -> dict[str, Any]:
    """The good registration, changed."""
    good = WEBHOOKS["good"]
    hook = without_nulls({**good["webhooks"][0], **case.get("hook", {})})
    return without_nulls({**good, "webhooks": [hook], **case.get("configuration", {})})


def node(case: Mapping[str, Any]) -> dict[str, Any]:
    """The good Node, changed; fields of status one by one."""
    good = NODES["good"]
    changed = without_nulls({**good, **case})
    status = changed.get("status")
    return changed if status is None else {**changed, "status": {**good["status"], **status}}


def accepted_points(plugin: str) -> tuple[str, ...]:
    """The extension points at which the real kube-scheduler takes a plugin."""
    return tuple(point for point in points_of(NEWEST) if check_scheduler_config(_enabling(plugin, point))[0] == 0)


def known_points(plugin: str) -> tuple[str, ...]:
    """The extension points that our table gives a plugin."""
    known = find_plugin(plugin, NEWEST)
    return tuple(point for point in points_of(NEWEST) if known is not None and known.extends(point, NEWEST))


def _enabling(plugin: str, point: str) -> dict[str, Any]:
    profile = {"schedulerName": "agreement", "plugins": {point: {"enabled": [{"name": plugin}]}}}
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


@pytest.fixture(scope="module", autouse=True)
def _binaries(binaries: dict[str, Path]) -> None:
    """Nothing here can be asked without them."""


def test_the_newest_version_that_we_know_is_the_one_that_is_asked() -> None:
    assert build.kubernetes_version().startswith(f"v{NEWEST}.")


@pytest.mark.parametrize("name", SCHEDULER)
def test_a_scheduler_configuration_is_an_error_where_kube_scheduler_ends(name: str, tmp_path: Path) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(SCHEDULER[name])

    status, message, _ = check_scheduler_config(file)

    assert (refuses(SCHEDULER[name]), message) == (status != 0, message)


@pytest.mark.parametrize("plugin", plugin_names(NEWEST))
def test_a_plugin_has_the_extension_points_that_kube_scheduler_gives_it(plugin: str) -> None:
    assert accepted_points(plugin) == known_points(plugin)


@pytest.mark.parametrize("name", WEBHOOKS["cases"])
def test_a_registration_is_an_error_where_the_api_server_refuses_it(name: str, control_plane: ControlPlane) -> None:
    configuration = webhook_configuration(WEBHOOKS["cases"][name])

    answer = control_plane.api().post(configuration, dry_run=True)

    assert (refuses(yaml.safe_dump(configuration)), answer.message) == (not answer.accepted, answer.message)


@pytest.mark.parametrize("name", NODES["cases"])
def test_a_node_is_an_error_where_the_api_server_refuses_it(name: str, control_plane: ControlPlane) -> None:
    changed = node(NODES["cases"][name])

    answer = control_plane.api().post(changed, dry_run=True)

    assert (refuses(yaml.safe_dump(changed)), answer.message) == (not answer.accepted, answer.message)
