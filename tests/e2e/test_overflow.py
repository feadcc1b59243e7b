"""Overflow end to end: a pod's own groups first, packed within them, then the others in their order, then it waits."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import Governed, governed, left_as_found
from e2e.objects import pod, written
from e2e.placement import WORKLOAD_KINDS, left_pending
from e2e.processes import wait_for

POLICY = Path(__file__).with_name("policies") / "overflow.yaml"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
V100 = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}


@pytest.fixture(scope="class")
def cluster(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    """Two nodes of each of three levels."""
    with left_as_found(control_plane):
        for level in ("own", "second", "third"):
            control_plane.add_nodes(2, prefix=level, labels=V100)
        with governed(control_plane, POLICY, tmp_path_factory.mktemp("overflow")) as found:
            yield found


@pytest.fixture
def exempt(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace whose pods the policy leaves alone."""
    name = control_plane.add_namespace(f"exempt-{secrets.token_hex(4)}")
    yield name
    control_plane.delete_namespace(name)


class TestThreeLevels:
    """A class, because its fixture ends with it."""

    @pytest.mark.parametrize("kind", WORKLOAD_KINDS)
    def test_pods_of_every_kind_fill_one_node_of_their_own_group(
        self, kind: str, cluster: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        placed = cluster.place(kind, 8, namespace=namespace)

        assert cluster.groups_of(placed) == {"OWN"}
        assert control_plane.pods_per_node(namespace) == [8]

    def test_pods_flow_over_level_by_level_and_node_by_node_and_then_wait(
        self, cluster: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """Four Deployments of twelve pods fill six nodes of eight GPUs."""
        placed = [cluster.place("Deployment", 12, namespace=namespace, name=f"batch-{number}") for number in range(4)]
        control_plane.create(pod("one-more", 1), namespace)

        message = left_pending(control_plane, namespace, "one-more")

        assert [Counter(cluster.slot_groups[node] for node in pods.values()) for pods in placed] == [
            {"OWN": 12},
            {"OWN": 4, "SECOND": 8},
            {"SECOND": 8, "THIRD": 4},
            {"THIRD": 12},
        ]
        assert [sorted(Counter(pods.values()).values()) for pods in placed] == [[4, 8], [4, 8], [4, 8], [4, 8]]
        assert message.startswith("0/6 nodes are available: 6 Insufficient nvidia.com/gpu.")

    def test_an_empty_node_of_the_own_group_goes_before_the_fullest_of_every_other(
        self, cluster: Governed, exempt: str, namespace: str
    ) -> None:
        """The worst case for the order: packing, cpu and memory speak for the lower levels with all that they have."""
        for node in ("second-001", "third-001"):
            fill(cluster, exempt, node, 7, cpu=88, memory="480Gi")

        assert cluster.groups_of(cluster.place("Pod", 1, namespace=namespace)) == {"OWN"}

    def test_an_empty_node_of_the_second_level_goes_before_the_fullest_of_the_third(
        self, cluster: Governed, exempt: str, namespace: str
    ) -> None:
        for node, gpus in (("own-001", 8), ("own-002", 8), ("third-001", 7)):
            fill(cluster, exempt, node, gpus, cpu=88, memory="480Gi")

        assert cluster.groups_of(cluster.place("Pod", 1, namespace=namespace)) == {"SECOND"}

    def test_a_pod_goes_back_to_its_own_group_as_soon_as_that_has_room(
        self, cluster: Governed, control_plane: ControlPlane, exempt: str, namespace: str
    ) -> None:
        for node in ("own-001", "own-002"):
            fill(cluster, exempt, node, 8)
        before = cluster.place("Pod", 1, namespace=namespace, name="before")
        control_plane.delete_all_pods(exempt)
        after = cluster.place("Pod", 1, namespace=namespace, name="after")

        assert (cluster.groups_of(before), cluster.groups_of(after)) == ({"SECOND"}, {"OWN"})

    def test_groups_that_a_size_does_not_overflow_into_stay_closed_to_it(
        self, cluster: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """One-way: pods of two GPUs have no overflow, so the room of the other groups is nothing to them."""
        cluster.place("Deployment", 8, namespace=namespace, gpus=2)
        control_plane.create(pod("one-more", 2), namespace)

        message = left_pending(control_plane, namespace, "one-more")

        assert message.startswith(
            "0/6 nodes are available: 2 Insufficient nvidia.com/gpu, "
            "4 node(s) didn't match Pod's node affinity/selector."
        )

    def test_a_preference_of_the_pods_own_can_outweigh_the_order_and_kubectls_user_is_warned(
        self, cluster: Governed, control_plane: ControlPlane, namespace: str, tmp_path: Path
    ) -> None:
        """A known limit: all preferred terms of a pod share the points of one plugin."""
        key = cluster.product.policy.labels.node_group
        second = {"matchExpressions": [{"key": key, "operator": "In", "values": ["SECOND"]}]}
        preferred = {PREFERRED: [{"weight": 100, "preference": second}]}
        wish = pod("wish", 1, affinity={"nodeAffinity": preferred})

        done = control_plane.kubectl("create", "-n", namespace, "-f", written(tmp_path, wish))
        placed = wait_for(lambda: control_plane.bound_nodes(namespace), message="the pod bound")

        cited = cluster.product.policy.cite("spec", "slotGroups", 0)
        assert cluster.groups_of(placed) == {"SECOND"}
        assert done.stderr == (
            "Warning: the pod's own preferred node affinity competes with the order of its slot groups "
            f"({cited}) [overflow-order-diluted]\n"
        )


@pytest.fixture(scope="class")
def preferring(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    """The same policy with routing ``preferred``, and one node of each group."""
    with left_as_found(control_plane):
        folder = tmp_path_factory.mktemp("preferring")
        policy = folder / "policy.yaml"
        policy.write_text(POLICY.read_text().replace("  admission:\n", "  admission:\n    routing: preferred\n"))
        for level in ("own", "second", "third"):
            control_plane.add_nodes(1, prefix=level, labels=V100)
        with governed(control_plane, policy, folder) as found:
            yield found


class TestPreferredRouting:
    """Groups are a preference and no border."""

    def test_pods_go_to_their_own_group_before_a_fuller_node_of_any_other(
        self, preferring: Governed, exempt: str, namespace: str
    ) -> None:
        fill(preferring, exempt, "own-001", 1)
        fill(preferring, exempt, "second-001", 6, cpu=88, memory="480Gi")

        assert preferring.groups_of(preferring.place("Pod", 1, namespace=namespace, gpus=2)) == {"SECOND"}
        assert preferring.groups_of(preferring.place("Deployment", 7, namespace=namespace, name="ones")) == {"OWN"}

    def test_pods_of_a_full_group_go_anywhere_before_they_wait(
        self, preferring: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """Pods of two GPUs have no overflow: the other nodes are all the same to them."""
        preferring.place("Deployment", 12, namespace=namespace, gpus=2)
        control_plane.create(pod("one-more", 2), namespace)

        message = left_pending(control_plane, namespace, "one-more")

        assert control_plane.pods_per_node(namespace) == [4, 4, 4]
        assert message.startswith("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")


def fill(cluster: Governed, exempt: str, node: str, gpus: int, **spec: object) -> None:
    """Take GPUs of one node by a pod that the policy leaves alone."""
    there = {"nodeSelector": {"kubernetes.io/hostname": node}}
    cluster.place("Pod", 1, namespace=exempt, gpus=gpus, name=f"on-{node}", **there, **spec)
