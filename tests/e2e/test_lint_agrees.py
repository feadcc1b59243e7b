"""What lint calls an error in hand-written configurations is what the real Kubernetes refuses: it is asked here.

That lint agrees with the answers is tested beside lint, without a cluster, on the same data.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cel_cases import COMPILED, NOT_COMPILED, NOT_READ, READ, expressions
from controlplane import build
from e2e.controlplane import ControlPlane, wait_for
from e2e.schedulers import check_scheduler_config, extension_points
from foreign_builders import hook, messages_of, registration
from foreign_cases import Case, node_cases, scheduler_cases, webhook_cases

from gpupolicy.linting.foreign.scheduler.plugins import find_plugin, plugin_names, points_of
from gpupolicy.model import KUBERNETES_VERSIONS

NEWEST = KUBERNETES_VERSIONS[-1]


def known_points(plugin: str) -> set[str]:
    """The extension points that our table gives a plugin."""
    known = find_plugin(plugin, NEWEST)
    return {point for point in points_of(NEWEST) if known is not None and known.extends(point, NEWEST)}


@pytest.fixture(scope="module", autouse=True)
def _binaries(binaries: dict[str, Path]) -> None:
    """Nothing here can be asked without them."""


def test_the_newest_version_that_we_know_is_the_one_that_is_asked() -> None:
    assert build.kubernetes_version().startswith(f"v{NEWEST}.")


@pytest.mark.parametrize("case", scheduler_cases(), ids=lambda case: case.name)
def test_kube_scheduler_ends_with_a_refused_configuration_and_no_other(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(case.value)

    status, message, _ = check_scheduler_config(file)

    assert (status != 0, message) == (case.refused, message)


def test_plugins_have_the_extension_points_that_kube_scheduler_gives_them() -> None:
    given = extension_points(plugin_names(NEWEST))

    assert given == {plugin: known_points(plugin) for plugin in plugin_names(NEWEST)}


@pytest.mark.parametrize("case", webhook_cases(), ids=lambda case: case.name)
def test_the_api_server_refuses_a_refused_registration_and_no_other(case: Case, control_plane: ControlPlane) -> None:
    answer = control_plane.api().post(case.value, dry_run=True)

    assert (not answer.accepted, answer.message) == (case.refused, answer.message)


@pytest.mark.parametrize("case", node_cases(), ids=lambda case: case.name)
def test_the_api_server_refuses_a_refused_node_and_no_other(case: Case, control_plane: ControlPlane) -> None:
    answer = control_plane.api().post(case.value, dry_run=True)

    assert (not answer.accepted, answer.message) == (case.refused, answer.message)


def test_the_api_server_takes_and_refuses_match_conditions_as_lint_has_it(control_plane: ControlPlane) -> None:
    def is_taken(expression: str) -> bool:
        value = registration(hook(matchConditions=[{"name": "a", "expression": expression}]))
        return control_plane.api().post(value, dry_run=True).accepted

    taken, refused = expressions(READ, COMPILED), expressions(NOT_READ, NOT_COMPILED)

    assert [each for each in taken if not is_taken(each)] == []
    assert [each for each in refused if is_taken(each)] == []


@pytest.mark.parametrize(
    ("expression", "missing"),
    [
        pytest.param("object.spec.containers.exists(c, 'a' in c.resources.limits)", "limits", id="limits"),
        pytest.param("object.metadata.labels['a'] == 'b'", "labels", id="labels"),
        pytest.param("object.spec.nodeName == 'a'", "nodeName", id="node-name"),
        pytest.param("request.subResource == ''", "subResource", id="subresource"),
        pytest.param("oldObject.spec == object.spec", "spec", id="old-object"),
    ],
)
def test_a_condition_that_lint_calls_unguarded_refuses_a_bare_pod(
    expression: str, missing: str, control_plane: ControlPlane, namespace: str
) -> None:
    """A hook that nobody serves: a pod that is let through to it would be refused in other words."""
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    conditions = [{"name": "a", "expression": expression}]
    client = {"url": "https://127.0.0.1:9/"}
    value = registration(hook(namespaceSelector=only_here, matchConditions=conditions, clientConfig=client))
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}}
    pod = {**bare, "spec": {"containers": [{"name": "main", "image": "a"}]}}
    api = control_plane.api()

    assert messages_of(value, "match-condition-unguarded")
    assert api.post(value).accepted
    wait_for(lambda: f"no such key: {missing}" in api.post(pod, namespace=namespace, dry_run=True).message)
