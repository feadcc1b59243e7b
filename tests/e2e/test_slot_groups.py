"""Slot groups end to end: compiled labels, the registered webhook and the compiled scheduler, as users meet them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import Governed, governed, left_as_found
from e2e.objects import pod, workload, written
from e2e.placement import left_pending
from e2e.processes import wait_for
from e2e.product import shipped

V100 = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
KINDS = ("Pod", "Job", "Deployment", "StatefulSet")


@pytest.fixture(scope="class")
def classic(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    """Ten nodes under the classic policy: 2 of SLOT-1, 2 of SLOT-2, 2 of SLOT-4, 4 of SLOT-8."""
    with left_as_found(control_plane):
        control_plane.add_nodes(10, labels=V100)
        with governed(control_plane, shipped("classic"), tmp_path_factory.mktemp("classic")) as cluster:
            yield cluster


def warnings_about(control_plane: ControlPlane, namespace: str, kind: str) -> list[str]:
    """What the warning events about objects of a kind say."""
    events = control_plane.events(namespace)
    found = (event for event in events if (event["type"], event["involvedObject"]["kind"]) == ("Warning", kind))
    return [event["message"] for event in found]


class TestOneGroupForEachSize:
    """The classic policy."""

    def test_the_compiled_labels_give_each_group_its_share_of_the_nodes(self, classic: Governed) -> None:
        assert classic.slot_groups == {
            "gpu-001": "SLOT-1",
            "gpu-002": "SLOT-1",
            "gpu-003": "SLOT-2",
            "gpu-004": "SLOT-2",
            "gpu-005": "SLOT-4",
            "gpu-006": "SLOT-4",
            "gpu-007": "SLOT-8",
            "gpu-008": "SLOT-8",
            "gpu-009": "SLOT-8",
            "gpu-010": "SLOT-8",
        }

    @pytest.mark.parametrize("kind", KINDS)
    def test_pods_of_every_size_land_in_the_group_of_their_size(
        self, kind: str, classic: Governed, namespace: str
    ) -> None:
        placed = {
            gpus: classic.groups_of(classic.place(kind, 2, namespace=namespace, gpus=gpus, name=f"size-{gpus}"))
            for gpus in (1, 2, 4, 8)
        }

        assert placed == {1: {"SLOT-1"}, 2: {"SLOT-2"}, 4: {"SLOT-4"}, 8: {"SLOT-8"}}

    @pytest.mark.parametrize(("gpus", "pods"), [(1, 8), (2, 4), (4, 2)], ids=["1-gpu", "2-gpus", "4-gpus"])
    def test_pods_of_one_size_fill_one_node_of_their_group(
        self, gpus: int, pods: int, classic: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        classic.place("Deployment", pods, namespace=namespace, gpus=gpus)

        assert control_plane.pods_per_node(namespace) == [pods]

    @pytest.mark.parametrize("verb", ["create", "apply"])
    def test_a_pod_of_three_gpus_is_denied_and_kubectls_user_reads_why(
        self, verb: str, classic: Governed, control_plane: ControlPlane, namespace: str, tmp_path: Path
    ) -> None:
        file = written(tmp_path, pod("three", 3))

        done = control_plane.kubectl(verb, "--namespace", namespace, "-f", file)

        cited = classic.product.policy.cite("spec", "admission", "requestSizes")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f'Error from server (Forbidden): error when creating "{file}": '
            'admission webhook "route.classic.gpupolicy.dev" denied the request: '
            f"pod three in namespace {namespace}: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({cited}); "
            "ask for 2 or 4 [request-size-not-admitted]\n"
        )

    def test_a_deployment_of_three_gpu_pods_is_taken_and_an_event_says_why_it_has_no_pods(
        self, classic: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """Who makes it is warned at once (test_workload_warnings.py); who looks later finds the reason here."""
        control_plane.create(workload("Deployment", "three", 1, 3), namespace)

        told = wait_for(lambda: warnings_about(control_plane, namespace, "ReplicaSet"), message="a warning event")

        assert "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8" in told[0]
        assert control_plane.pods(namespace) == []

    def test_room_that_other_groups_have_left_is_of_no_use_to_a_full_one(
        self, classic: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """The price of the classic partition: 64 GPUs are free, and a pod that wants one waits."""
        classic.place("Deployment", 16, namespace=namespace)
        control_plane.create(pod("one-more", 1), namespace)

        message = left_pending(control_plane, namespace, "one-more")

        assert sum(control_plane.free_gpus().values()) == 64
        assert message.startswith(
            "0/10 nodes are available: 2 Insufficient nvidia.com/gpu, "
            "8 node(s) didn't match Pod's node affinity/selector."
        )


@pytest.fixture(scope="class")
def reserve(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    """Four nodes under the reserve policy: 3 of SLOT-SMALL (sizes 1, 2, 4), 1 of SLOT-8, which overflows into it."""
    with left_as_found(control_plane):
        control_plane.add_nodes(4, labels=V100)
        with governed(control_plane, shipped("reserve"), tmp_path_factory.mktemp("reserve")) as cluster:
            yield cluster


class TestOneGroupForSmallSizesAndAReserve:
    """The reserve policy."""

    def test_pods_of_1_2_and_4_gpus_share_a_node_of_their_common_group(
        self, reserve: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        four = reserve.place("Job", 1, namespace=namespace, gpus=4, name="four")
        two = reserve.place("StatefulSet", 1, namespace=namespace, gpus=2, name="two")
        ones = reserve.place("Deployment", 2, namespace=namespace, gpus=1, name="ones")

        assert control_plane.pods_per_node(namespace) == [4]
        assert reserve.groups_of({**four, **two, **ones}) == {"SLOT-SMALL"}

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_pod_of_8_gpus_takes_the_reserve_while_it_is_free(
        self, kind: str, reserve: Governed, namespace: str
    ) -> None:
        assert reserve.groups_of(reserve.place(kind, 1, namespace=namespace, gpus=8)) == {"SLOT-8"}

    def test_then_pods_of_8_gpus_take_free_nodes_of_the_other_group_and_then_wait(
        self, reserve: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        first = reserve.place("Pod", 1, namespace=namespace, gpus=8, name="first")
        rest = reserve.place("Deployment", 3, namespace=namespace, gpus=8, name="rest")
        control_plane.create(pod("one-more", 8), namespace)

        message = left_pending(control_plane, namespace, "one-more")

        assert (reserve.groups_of(first), reserve.groups_of(rest)) == ({"SLOT-8"}, {"SLOT-SMALL"})
        assert message.startswith("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.")

    def test_small_pods_never_enter_the_reserve(
        self, reserve: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        reserve.place("Deployment", 6, namespace=namespace, gpus=4)
        control_plane.create(pod("one-more", 1), namespace)

        message = left_pending(control_plane, namespace, "one-more")

        assert sorted(control_plane.free_gpus().values()) == [0, 0, 0, 8]
        assert message.startswith(
            "0/4 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
            "3 Insufficient nvidia.com/gpu."
        )
