"""Scheduler configurations as a whole: versions, leases, and what waits for what."""

from __future__ import annotations

from typing import Any

import pytest
from builders import policy
from foreign_builders import findings_of, messages_of, points, profile, rules_of, scheduler_configuration

GROUP = "kubescheduler.config.k8s.io"


@pytest.mark.parametrize(
    "version", [f"{GROUP}/v1beta3", f"{GROUP}/v1beta2", f"{GROUP}/v2", "componentconfig/v1alpha1", "v1"]
)
def test_every_version_but_v1_is_an_error(version: str) -> None:
    value = scheduler_configuration(profile(), apiVersion=version)

    assert rules_of(value) == ["error scheduler-config-version-unknown"]


def test_a_removed_beta_is_judged_to_the_end() -> None:
    value = scheduler_configuration(profile(""), profile("a"), apiVersion=f"{GROUP}/v1beta3")

    assert rules_of(value) == ["error scheduler-config-version-unknown", "error profile-name-missing"]


def test_the_meaning_waits_while_a_type_is_wrong() -> None:
    value = scheduler_configuration(profile(""), profile("a"), parallelism="8")

    assert rules_of(value) == ["error foreign-type-wrong"]


def test_the_meaning_does_not_wait_for_an_unknown_field() -> None:
    value = scheduler_configuration(profile(""), profile("a"), paralelism=8)

    assert rules_of(value) == ["error foreign-field-unknown", "error profile-name-missing"]


def test_metadata_is_explained() -> None:
    (finding,) = findings_of(scheduler_configuration(profile(), metadata={"name": "a"}))

    assert finding.hint == "it is a file for kube-scheduler's --config, not an API object: leave metadata out"


@pytest.mark.parametrize(
    ("election", "found"),
    [
        pytest.param({"leaderElect": True}, ["error leader-election-shares-lease"], id="switched-on"),
        pytest.param({"leaseDuration": "20s"}, ["error leader-election-shares-lease"], id="on-by-default"),
        pytest.param(None, ["warning leader-election-shares-lease"], id="not-mentioned"),
        pytest.param({}, ["warning leader-election-shares-lease"], id="empty"),
        pytest.param(
            {"resourceName": "kube-scheduler", "resourceNamespace": "kube-system"},
            ["error leader-election-shares-lease"],
            id="by-name",
        ),
        pytest.param({"leaderElect": False}, [], id="off"),
        pytest.param({"resourceName": "gpu-binpack"}, [], id="own-name"),
        pytest.param({"resourceNamespace": "gpu-system"}, [], id="own-namespace"),
    ],
)
def test_a_second_scheduler_needs_a_lease_of_its_own(election: dict[str, Any] | None, found: list[str]) -> None:
    assert rules_of(scheduler_configuration(profile(), leaderElection=election)) == found


def test_the_scheduler_of_the_cluster_itself_may_hold_its_lease() -> None:
    value = scheduler_configuration(profile("default-scheduler"), profile(), leaderElection={"leaderElect": True})

    assert rules_of(value) == []


def test_without_profiles_it_is_the_scheduler_of_the_cluster() -> None:
    assert rules_of(scheduler_configuration(leaderElection={"leaderElect": True})) == []


@pytest.mark.parametrize("profiles", [[], [{}], [{"schedulerName": "default-scheduler"}]])
def test_a_second_scheduler_must_not_be_called_default_scheduler(profiles: list[Any]) -> None:
    value = scheduler_configuration(*profiles, leaderElection={"resourceName": "gpu-binpack"})

    assert rules_of(value) == ["warning default-scheduler-taken"]


def test_durations_count_with_their_defaults() -> None:
    value = scheduler_configuration(leaderElection={"leaseDuration": "10s"})

    (finding,) = findings_of(value)

    assert finding.message == "leaseDuration is 10s; it has to be longer than renewDeadline, 10s"


@pytest.mark.parametrize(
    ("version", "found"),
    [
        pytest.param("1.35", ["placementScore is no field here"], id="1.35"),
        pytest.param("1.36", [], id="1.36"),
    ],
)
def test_an_extension_point_is_known_from_its_version_on(version: str, found: list[str]) -> None:
    value = scheduler_configuration(profile(plugins=points(placementScore="NodeResourcesFit")))

    assert messages_of(value, "foreign-field-unknown", policy(kubernetes_version=version)) == found


@pytest.mark.parametrize(
    ("version", "shape", "severity"),
    [
        pytest.param("1.35", [{"utilization": 0, "score": 1}], "warning", id="1.35"),
        pytest.param("1.35", [], "error", id="1.35-without-points"),
        pytest.param("1.36", [{"utilization": 0, "score": 1}], "error", id="1.36"),
    ],
)
def test_a_shape_beside_another_strategy_is_refused_since_1_36(version: str, shape: list[Any], severity: str) -> None:
    """Before, only one without points was."""
    strategy = {"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": shape}}
    value = scheduler_configuration(profile(args={"NodeResourcesFit": {"scoringStrategy": strategy}}))

    assert f"{severity} capacity-shape-unexpected" in rules_of(value, policy(kubernetes_version=version))


def test_an_argument_is_known_from_its_version_on() -> None:
    value = scheduler_configuration(profile(args={"DynamicResources": {"bindingTimeout": "600s"}}))

    found = {v: rules_of(value, policy(kubernetes_version=v))[0] for v in ("1.34", "1.35")}

    assert found == {"1.34": "error foreign-field-unknown", "1.35": "error device-timeout-refused"}


def test_a_plugin_of_a_later_version_is_unknown_before() -> None:
    value = scheduler_configuration(profile(plugins=points(permit="GangScheduling")))

    assert "error plugin-unknown" in rules_of(value, policy(kubernetes_version="1.34"))
