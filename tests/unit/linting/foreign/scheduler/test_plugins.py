"""The plugins of kube-scheduler by version; those of the newest are also asked for in the end-to-end tests."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.scheduler.plugins import default_plugins, find_plugin, plugin_names, points_of
from gpupolicy.model import KUBERNETES_VERSIONS


@pytest.mark.parametrize(
    ("version", "names"),
    [
        pytest.param("1.35", {"GangScheduling", "NodeDeclaredFeatures"}, id="1.35"),
        pytest.param("1.36", {"PodGroupPodsCount", "TopologyPlacementGenerator"}, id="1.36"),
        pytest.param("1.37", {"DeferredPodScheduling"}, id="1.37"),
    ],
)
def test_a_version_brings_its_plugins(version: str, names: set[str]) -> None:
    before = KUBERNETES_VERSIONS[KUBERNETES_VERSIONS.index(version) - 1]

    assert set(plugin_names(version)) - set(plugin_names(before)) == names


@pytest.mark.parametrize(
    ("plugin", "point", "first"),
    [
        pytest.param("NodeResourcesFit", "placementScore", "1.36", id="fit-scores-placements"),
        pytest.param("DynamicResources", "score", "1.35", id="devices-score"),
        pytest.param("DefaultPreemption", "podGroupPostFilter", "1.37", id="preemption-of-groups"),
        pytest.param("TaintToleration", "preFilter", "1.37", id="taints-pre-filter"),
    ],
)
def test_a_point_of_a_plugin_has_its_first_version(plugin: str, point: str, first: str) -> None:
    having = [v for v in KUBERNETES_VERSIONS if (found := find_plugin(plugin, v)) and found.extends(point, v)]

    assert having == [v for v in KUBERNETES_VERSIONS if v >= first]


def test_a_point_of_a_plugin_may_end() -> None:
    gang = find_plugin("GangScheduling", "1.35")

    assert gang is not None
    assert [gang.extends("reserve", version) for version in ("1.35", "1.36")] == [True, False]


@pytest.mark.parametrize(
    ("version", "number"),
    [pytest.param("1.34", 12, id="1.34"), pytest.param("1.36", 14, id="1.36"), pytest.param("1.37", 15, id="1.37")],
)
def test_a_version_has_its_extension_points(version: str, number: int) -> None:
    assert len(points_of(version)) == number


def test_the_default_weights_are_those_of_kube_scheduler() -> None:
    weights = {plugin.name: plugin.weight for plugin in default_plugins("1.37") if plugin.weight is not None}

    assert weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_declared_features_are_on_by_default_since_1_36() -> None:
    on = [v for v in KUBERNETES_VERSIONS if "NodeDeclaredFeatures" in {plugin.name for plugin in default_plugins(v)}]

    assert on == ["1.36", "1.37"]
