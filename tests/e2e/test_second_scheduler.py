"""A second scheduler as compiled: applied by kubectl, run as its own service account, beside the default one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from e2e.controlplane import ControlPlane, Scheduler
from e2e.governed import compile_folder, kubectl, left_as_found
from e2e.objects import pod, scheduler_config
from e2e.placement import WORKLOAD_KINDS, left_pending, place
from e2e.processes import wait_for
from e2e.product import shipped

NAMESPACE = "gpu-system"
NAME = "gpu-packing"  # of the lease, the service account, the ConfigMap and the profile
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
GPU_SUPPORT = "gpu.example.com.node-restriction.kubernetes.io/nvidia-gpu-support"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Both schedulers."""

    default: Scheduler
    second: Scheduler


@pytest.fixture(scope="class")
def beside(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """The multi-tenant policy's second scheduler and the control plane's own; five GPU nodes and two others."""
    folder = tmp_path_factory.mktemp("second") / "out"
    with left_as_found(control_plane), applied(control_plane, folder):
        control_plane.add_nodes(5, gpus=8, labels={GPU_SUPPORT: "true"})
        control_plane.add_nodes(2, gpus=0, prefix="cpu")
        with (
            control_plane.scheduler(scheduler_config(leaderElection={"leaderElect": True})) as default,
            control_plane.scheduler(live_configuration(control_plane), user=ACCOUNT) as second,
        ):
            yield Beside(default=default, second=second)


@contextmanager
def applied(control_plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Everything of the second scheduler in the cluster; it is gone afterwards."""
    compile_folder(shipped("multi-tenant"), folder, "--target", "scheduler")
    control_plane.wait_until_ended(NAMESPACE)
    try:
        kubectl(control_plane, "apply", "-k", folder)
        yield
    finally:
        control_plane.kubectl("delete", "-k", folder, "--wait=false")
        control_plane.delete_namespace(NAMESPACE)


def live_configuration(control_plane: ControlPlane) -> dict[str, object]:
    """The configuration in the cluster's ConfigMap, as the scheduler's pod would mount it."""
    config_map = json.loads(kubectl(control_plane, "get", "configmap", "-n", NAMESPACE, NAME, "-o", "json"))
    configuration = yaml.safe_load(config_map["data"]["kube-scheduler-config.yaml"])
    assert isinstance(configuration, dict)
    return configuration


def may(control_plane: ControlPlane, *what: str) -> str:
    """The API server's answer to the service account: yes or no."""
    return control_plane.kubectl("auth", "can-i", *what, user=ACCOUNT).stdout.strip()


class TestBesideTheDefaultScheduler:
    """A class, because its fixture ends with it."""

    def test_each_scheduler_holds_its_own_lease(self, beside: Beside, control_plane: ControlPlane) -> None:
        holders = wait_for(
            lambda: [
                control_plane.lease_holder(NAMESPACE, NAME),
                control_plane.lease_holder("kube-system", "kube-scheduler"),
            ]
        )

        assert all(holders)
        assert holders[0] != holders[1]

    @pytest.mark.parametrize("kind", WORKLOAD_KINDS)
    def test_pods_that_name_its_profile_share_one_node(
        self, kind: str, beside: Beside, control_plane: ControlPlane, namespace: str
    ) -> None:
        place(control_plane, beside.second, kind, 8, namespace=namespace, profile=NAME)

        assert control_plane.pods_per_node(namespace) == [8]

    def test_pods_that_name_no_profile_are_spread_by_the_default_scheduler(
        self, beside: Beside, control_plane: ControlPlane, namespace: str
    ) -> None:
        place(control_plane, beside.default, "Deployment", 5, namespace=namespace)

        assert control_plane.pods_per_node(namespace) == [1, 1, 1, 1, 1]

    def test_each_pod_is_bound_by_the_scheduler_that_it_names(
        self, beside: Beside, control_plane: ControlPlane, namespace: str
    ) -> None:
        place(control_plane, beside.second, "Pod", 1, namespace=namespace, profile=NAME, name="ours")
        place(control_plane, beside.default, "Pod", 1, namespace=namespace, name="other")

        ours, other = (control_plane.wait_for_events(namespace, about=name) for name in ("ours-0", "other-0"))

        assert [(event["reason"], event["reportingComponent"]) for event in (*ours, *other)] == [
            ("Scheduled", NAME),
            ("Scheduled", "default-scheduler"),
        ]

    @pytest.mark.parametrize(("first", "second"), [("default-scheduler", NAME), (NAME, "default-scheduler")])
    def test_neither_gives_what_the_other_has_given(
        self, first: str, second: str, beside: Beside, control_plane: ControlPlane, namespace: str
    ) -> None:
        there = {"nodeSelector": {"kubernetes.io/hostname": "gpu-001"}}
        place(control_plane, beside.default, "Pod", 1, namespace=namespace, profile=first, gpus=5, **there)
        control_plane.create(pod("four", 4, scheduler=second, **there), namespace)

        message = left_pending(control_plane, namespace, "four")

        assert message.startswith("0/7 nodes are available: 1 Insufficient nvidia.com/gpu, 6 node(s) didn't match")

    def test_its_own_pods_come_up_on_two_nodes_without_gpus(self, beside: Beside, control_plane: ControlPlane) -> None:
        """By the default scheduler: a scheduler cannot bind the pod that it runs in."""
        pods = wait_for(lambda: both(control_plane.bound_nodes(NAMESPACE)), message="two pods of the Deployment bound")

        assert sorted(pods.values()) == ["cpu-001", "cpu-002"]

    @pytest.mark.parametrize(
        "what",
        [
            pytest.param(("create", "pods", "--subresource=binding"), id="bind"),
            pytest.param(("patch", "pods", "--subresource=status"), id="say-why-not"),
            pytest.param(("update", f"lease/{NAME}", "-n", NAMESPACE), id="lead"),
            pytest.param(("patch", "persistentvolumeclaims"), id="volumes"),
            pytest.param(("patch", "resourceclaims", "--subresource=status"), id="devices"),
            pytest.param(("get", "configmap/extension-apiserver-authentication", "-n", "kube-system"), id="who-asks"),
        ],
    )
    def test_it_may_do_what_a_scheduler_does(
        self, what: tuple[str, ...], beside: Beside, control_plane: ControlPlane
    ) -> None:
        assert may(control_plane, *what) == "yes"

    @pytest.mark.parametrize(
        "what",
        [
            pytest.param(("create", "pods"), id="create-pods"),
            pytest.param(("patch", "nodes"), id="label-nodes"),
            pytest.param(("get", "secrets", "-n", NAMESPACE), id="read-secrets"),
            pytest.param(("update", f"configmap/{NAME}", "-n", NAMESPACE), id="rewrite-its-configuration"),
            pytest.param(("update", "lease/kube-controller-manager", "-n", "kube-system"), id="another-lease"),
            pytest.param(("delete", f"lease/{NAME}", "-n", NAMESPACE), id="delete-its-lease"),
            pytest.param(("create", "clusterrolebindings"), id="grant-rights"),
        ],
    )
    def test_it_may_not_do_more(self, what: tuple[str, ...], beside: Beside, control_plane: ControlPlane) -> None:
        assert may(control_plane, *what) == "no"

    def test_the_role_that_kubernetes_gives_schedulers_reaches_the_control_planes_lease_too(
        self, beside: Beside, control_plane: ControlPlane
    ) -> None:
        """A known limit: system:kube-scheduler names the lease for all namespaces, and RBAC cannot take away."""
        assert may(control_plane, "update", "lease/kube-scheduler", "-n", "kube-system") == "yes"


def both(pods: dict[str, str]) -> dict[str, str]:
    """The pods once there are two."""
    return pods if len(pods) == 2 else {}
