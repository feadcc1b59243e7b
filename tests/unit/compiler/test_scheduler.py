"""KubeSchedulerConfigurations, and what a scheduler of our own needs beside one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import GPU, group, policy

from gpupolicy.compiler.manifest import Manifest, Order
from gpupolicy.compiler.rendering import render_configuration, render_stream
from gpupolicy.compiler.scheduler import build_configuration, compile_scheduler, proof_lines
from gpupolicy.errors import UsageError
from gpupolicy.model import (
    LeaderElection,
    Policy,
    Profile,
    ResourceWeight,
    Scheduler,
    SchedulerMode,
    ScoringStrategy,
    ShapePoint,
    StrategyType,
)

PACK = Profile(
    scheduler_name="pack", scoring_strategy=ScoringStrategy(resources=(ResourceWeight(name=GPU, weight=100),))
)


def scheduled(*profiles: Profile, mode: SchedulerMode = SchedulerMode.PROFILES, **election: object) -> Policy:
    """A policy with these profiles; keywords are those of a leader election."""
    lease = LeaderElection(**election) if election else None  # type: ignore[arg-type]
    return replace(policy(), scheduler=Scheduler(mode=mode, profiles=profiles, leader_election=lease))


def manifests(chosen: Policy, image: str | None = None) -> dict[str, Manifest]:
    """The compiled manifests by file."""
    return {each.path: each for each in compile_scheduler(Order(policy=chosen, scheduler_image=image))}


def test_a_packing_profile_stands_beside_the_default_profile() -> None:
    assert build_configuration(scheduled(PACK)) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {
                "schedulerName": "pack",
                "percentageOfNodesToScore": 100,
                "plugins": {
                    "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 101}]},
                    "multiPoint": {
                        "disabled": [{"name": "NodeResourcesBalancedAllocation"}, {"name": "ImageLocality"}]
                    },
                },
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {
                                "type": "MostAllocated",
                                "resources": [{"name": "nvidia.com/gpu", "weight": 100}],
                            }
                        },
                    },
                    {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}},
                ],
            },
        ],
    }


def profile_names(chosen: Policy) -> list[object]:
    profiles = build_configuration(chosen)["profiles"]
    assert isinstance(profiles, list)
    return [profile["schedulerName"] for profile in profiles]


def test_a_second_scheduler_does_not_serve_the_default_profile() -> None:
    assert profile_names(scheduled(PACK, mode=SchedulerMode.SECOND)) == ["pack"]


def test_a_policy_that_redefines_the_default_profile_has_it_once() -> None:
    assert profile_names(scheduled(replace(PACK, scheduler_name="default-scheduler"))) == ["default-scheduler"]


def last_profile(chosen: Policy) -> dict[str, object]:
    profiles = build_configuration(chosen)["profiles"]
    assert isinstance(profiles, list)
    return dict(profiles[-1])


def test_a_profile_that_spreads_switches_nothing_off() -> None:
    spread = replace(PACK, scoring_strategy=ScoringStrategy(type=StrategyType.LEAST_ALLOCATED))

    assert last_profile(scheduled(spread)) == {
        "schedulerName": "pack",
        "percentageOfNodesToScore": 100,
        "plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 1}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "LeastAllocated"}}}],
    }


def test_a_shape_stands_where_kube_scheduler_expects_it() -> None:
    shape = (ShapePoint(utilization=0, score=0), ShapePoint(utilization=100, score=10))
    ratio = ScoringStrategy(type=StrategyType.REQUESTED_TO_CAPACITY_RATIO, shape=shape)

    (fit, _) = last_profile(scheduled(replace(PACK, scoring_strategy=ratio)))["pluginConfig"]  # type: ignore[misc]

    assert fit["args"]["scoringStrategy"] == {
        "type": "RequestedToCapacityRatio",
        "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
    }


def test_overflow_sets_the_weight_of_node_affinity() -> None:
    overflowing = replace(policy(group("A", 8, overflow=("B",)), group("B", 1)), scheduler=scheduled(PACK).scheduler)

    plugins = last_profile(overflowing)["plugins"]

    assert isinstance(plugins, dict)
    assert plugins["score"] == {
        "enabled": [{"name": "NodeResourcesFit", "weight": 84}, {"name": "NodeAffinity", "weight": 95}]
    }


def test_without_a_wish_the_control_planes_lease_is_left_alone() -> None:
    files = manifests(scheduled(PACK))

    assert list(files) == ["scheduler/kube-scheduler-config.yaml"]
    assert "leaderElection" not in files["scheduler/kube-scheduler-config.yaml"].document
    assert files["scheduler/kube-scheduler-config.yaml"].remarks[:2] == (
        "Profiles for the control plane's own kube-scheduler: one process, one view of the nodes, so nothing races.",
        "leaderElection is left out, so the control plane's own lease (kube-system/kube-scheduler) stays in use.",
    )


def test_the_file_says_that_kube_scheduler_will_ignore_its_kubeconfig_flag() -> None:
    governing = scheduled(PACK)

    for text in (render_stream(governing, manifests(governing).values()), render_configuration(governing)):
        assert "# kube-scheduler ignores its flag --kubeconfig beside --config: name that file here, as" in text


def test_a_second_scheduler_is_told_nothing_of_a_kubeconfig_because_it_runs_in_a_pod() -> None:
    governing = scheduled(PACK, mode=SchedulerMode.SECOND)

    assert "kubeconfig" not in render_stream(governing, manifests(governing).values())


def test_the_configuration_file_is_kept_apart_from_what_kubectl_applies() -> None:
    file = manifests(scheduled(PACK))["scheduler/kube-scheduler-config.yaml"]

    assert file.kept_apart == "is read by kube-scheduler --config; it is no API object, so kubectl cannot apply it"


def test_another_lease_comes_with_the_right_to_hold_it() -> None:
    files = manifests(scheduled(PACK, resource_name="gpu-lease", resource_namespace="elsewhere"))

    assert list(files) == [
        "scheduler/kube-scheduler-config.yaml",
        "scheduler/leader-election-role.yaml",
        "scheduler/leader-election-rolebinding.yaml",
    ]
    role = files["scheduler/leader-election-role.yaml"].document
    binding = files["scheduler/leader-election-rolebinding.yaml"].document
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["gpu-lease"],
            "verbs": ["get", "update", "patch"],
        },
    ]
    assert binding["subjects"] == [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-scheduler"}
    ]


def test_another_lease_is_warned_about_because_two_would_lead_for_a_while() -> None:
    files = manifests(scheduled(PACK, resource_name="gpu-lease", resource_namespace="elsewhere"))

    assert files["scheduler/kube-scheduler-config.yaml"].remarks[1] == (
        "The lease changes to elsewhere/gpu-lease: "
        "stop every old kube-scheduler before a new one starts, else two lead."
    )


def test_a_lease_in_the_webhooks_namespace_comes_with_the_namespace() -> None:
    assert "namespace.yaml" in manifests(scheduled(PACK, resource_namespace="gpu-system"))


def test_the_usual_lease_with_other_durations_needs_no_rights() -> None:
    usual = scheduled(PACK, resource_name="kube-scheduler", resource_namespace="kube-system", lease_duration_seconds=30)

    assert list(manifests(usual)) == ["scheduler/kube-scheduler-config.yaml"]
    assert build_configuration(usual)["leaderElection"] == {
        "leaderElect": True,
        "leaseDuration": "30s",
        "renewDeadline": "10s",
        "resourceLock": "leases",
        "resourceName": "kube-scheduler",
        "resourceNamespace": "kube-system",
        "retryPeriod": "2s",
    }


SECOND = scheduled(PACK, mode=SchedulerMode.SECOND)


def test_a_second_scheduler_has_all_that_it_needs_to_run() -> None:
    assert list(manifests(SECOND)) == [
        "namespace.yaml",
        "resourcequota.yaml",
        "scheduler/leader-election-role.yaml",
        "scheduler/leader-election-rolebinding.yaml",
        "scheduler/serviceaccount.yaml",
        "scheduler/clusterrolebinding-kube-scheduler.yaml",
        "scheduler/clusterrolebinding-volume-scheduler.yaml",
        "scheduler/rolebinding-authentication-reader.yaml",
        "scheduler/configmap.yaml",
        "scheduler/deployment.yaml",
        "scheduler/poddisruptionbudget.yaml",
    ]


def test_a_second_scheduler_in_a_namespace_of_kubernetes_does_not_make_it() -> None:
    assert "namespace.yaml" not in manifests(
        scheduled(PACK, mode=SchedulerMode.SECOND, resource_namespace="kube-system")
    )


def container_of(files: dict[str, Manifest]) -> dict[str, object]:
    template = files["scheduler/deployment.yaml"].document["spec"]["template"]  # type: ignore[index]
    return dict(template["spec"]["containers"][0])


def test_a_second_scheduler_is_of_the_policys_version_unless_told_otherwise() -> None:
    assert container_of(manifests(SECOND))["image"] == "registry.k8s.io/kube-scheduler:v1.37.0"
    assert container_of(manifests(SECOND, "mirror.example/ks:v1.37.2"))["image"] == "mirror.example/ks:v1.37.2"


def test_a_changed_configuration_changes_the_pods_so_that_they_restart() -> None:
    def annotations(chosen: Policy) -> object:
        return manifests(chosen)["scheduler/deployment.yaml"].document["spec"]["template"]["metadata"]["annotations"]  # type: ignore[index]

    assert annotations(SECOND) != annotations(scheduled(PACK, mode=SchedulerMode.SECOND, retry_period_seconds=3))


def test_the_config_map_of_a_second_scheduler_is_headed_by_the_proof() -> None:
    assert manifests(SECOND)["scheduler/configmap.yaml"].remarks == proof_lines(SECOND)


def test_a_policy_without_profiles_has_nothing_for_a_scheduler() -> None:
    assert manifests(scheduled()) == {}


def test_the_file_alone_of_a_policy_without_profiles_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^the policy has no scheduler profiles \(spec\.scheduler\.profiles\)$"):
        build_configuration(scheduled())
