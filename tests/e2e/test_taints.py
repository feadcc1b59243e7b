"""Tainted slot groups end to end: the taint follows the label, GPU pods get in, and others stay out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import (
    APPLY_LABELS,
    Governed,
    compile_folder,
    governed,
    kubectl,
    label_with_kubectl,
    left_as_found,
)
from e2e.objects import node, pod
from e2e.placement import left_pending, place
from e2e.processes import wait_for

from gpupolicy import assign, load

POLICY = Path(__file__).parent / "policies" / "tainted.yaml"
V100 = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
GROUP = "my.gpu.cluster/node-group"
FOREIGN = {"key": "example.com/maintenance", "value": "soon", "effect": "PreferNoSchedule"}
# node -> (zone, rack): LARGE wants a rack, and what is left for SMALL lies in two zones.
PLACES = {"gpu-001": ("a", "r1"), "gpu-002": ("a", "r2"), "gpu-003": ("b", "r2"), "gpu-004": ("b", "r3")}


def ours(group: str) -> dict[str, str]:
    return {"key": GROUP, "value": group, "effect": "NoSchedule"}


def taints(control_plane: ControlPlane) -> dict[str, list[dict[str, str]]]:
    """The taints of every node that has some."""
    nodes = control_plane.api().list("/api/v1/nodes")
    return {n["metadata"]["name"]: n["spec"]["taints"] for n in nodes if n["spec"].get("taints")}


def is_in_force(control_plane: ControlPlane) -> bool:
    """Whether a node that would be registered with the label would have the taint."""
    made = control_plane.create(node("marker", labels={GROUP: "SMALL"}), dry_run=True)
    return bool(made["spec"].get("taints"))


@pytest.fixture(scope="class")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tainted")


@pytest.fixture(scope="class")
def tainted(control_plane: ControlPlane, folder: Path) -> Iterator[Governed]:
    """Four GPU nodes in two groups, one of them with a taint of somebody else's, and a node without GPUs.

    They have their labels before the taints are wanted, and these labels are applied again unchanged.
    """
    with left_as_found(control_plane):
        for name, (zone, rack) in PLACES.items():
            labels = {**V100, "topology.kubernetes.io/zone": zone, "example.com/rack": rack}
            control_plane.add_node(name, labels=labels)
        control_plane.add_node("cpu-001", gpus=0)
        kubectl(control_plane, "taint", "node", "gpu-001", "example.com/maintenance=soon:PreferNoSchedule")
        label_with_kubectl(control_plane, load(POLICY), POLICY, folder)
        rules = compile_folder(POLICY, folder / "rules", "--target", "nodes")
        kubectl(control_plane, "apply", "--server-side", "-k", rules)
        wait_for(lambda: is_in_force(control_plane), message="the compiled taints in force")
        with governed(control_plane, POLICY, folder) as cluster:
            yield cluster


class TestInForce:
    """The policy with its labels applied, its webhook registered and its scheduler running."""

    def test_a_node_has_the_taint_of_its_group_beside_those_of_others(
        self, tainted: Governed, control_plane: ControlPlane
    ) -> None:
        assert taints(control_plane) == {
            "gpu-001": [FOREIGN, ours("SMALL")],
            "gpu-002": [ours("LARGE")],
            "gpu-003": [ours("LARGE")],
            "gpu-004": [ours("SMALL")],
        }

    def test_then_nothing_is_left_to_be_assigned(self, tainted: Governed, control_plane: ControlPlane) -> None:
        assert assign(tainted.product.policy, control_plane.api().list("/api/v1/nodes")).changes == ()

    def test_applying_the_labels_again_leaves_a_taint_that_came_meanwhile(
        self, tainted: Governed, control_plane: ControlPlane, folder: Path
    ) -> None:
        """The node controller's taints are in the same list."""
        before = taints(control_plane)["gpu-004"]
        kubectl(control_plane, "taint", "node", "gpu-004", "node.kubernetes.io/unreachable:NoExecute")

        kubectl(control_plane, *APPLY_LABELS, folder / "compiled" / "nodes" / "nodes.yaml")
        found = taints(control_plane)["gpu-004"]
        kubectl(control_plane, "taint", "node", "gpu-004", "node.kubernetes.io/unreachable:NoExecute-")

        assert sorted(taint["key"] for taint in found) == [GROUP, "node.kubernetes.io/unreachable"]
        assert taints(control_plane)["gpu-004"] == before

    def test_the_taint_moves_with_the_label_and_goes_with_it(
        self, tainted: Governed, control_plane: ControlPlane
    ) -> None:
        kubectl(control_plane, "label", "node", "gpu-001", f"{GROUP}=LARGE", "--overwrite")
        moved = taints(control_plane)["gpu-001"]
        kubectl(control_plane, "label", "node", "gpu-001", f"{GROUP}-")
        gone = taints(control_plane)["gpu-001"]
        kubectl(control_plane, "label", "node", "gpu-001", f"{GROUP}=SMALL")

        assert (moved, gone) == ([FOREIGN, ours("LARGE")], [FOREIGN])
        assert taints(control_plane)["gpu-001"] == [FOREIGN, ours("SMALL")]

    def test_who_takes_the_taint_off_by_hand_finds_it_there_again(
        self, tainted: Governed, control_plane: ControlPlane
    ) -> None:
        kubectl(control_plane, "taint", "node", "gpu-002", f"{GROUP}:NoSchedule-")

        assert taints(control_plane)["gpu-002"] == [ours("LARGE")]

    @pytest.mark.parametrize(("gpus", "group"), [(1, "SMALL"), (8, "LARGE")], ids=["1-gpu", "8-gpus"])
    @pytest.mark.parametrize("kind", ["Pod", "Deployment"])
    def test_gpu_pods_get_into_their_group(
        self, kind: str, gpus: int, group: str, tainted: Governed, namespace: str
    ) -> None:
        assert tainted.groups_of(tainted.place(kind, 1, namespace=namespace, gpus=gpus)) == {group}

    def test_and_into_the_groups_that_theirs_overflows_into(self, tainted: Governed, namespace: str) -> None:
        assert tainted.groups_of(tainted.place("Deployment", 4, namespace=namespace, gpus=8)) == {"LARGE", "SMALL"}

    def test_pods_without_gpus_go_to_other_nodes(
        self, tainted: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        placed = place(control_plane, tainted.scheduler, "Deployment", 3, namespace=namespace, gpus=0)

        assert set(placed.values()) == {"cpu-001"}

    def test_a_pod_without_gpus_that_names_a_gpu_node_waits_and_reads_why(
        self, tainted: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.create(pod("curious", 0, nodeSelector={GROUP: "SMALL"}), namespace)

        assert left_pending(control_plane, namespace, "curious").startswith(
            "0/5 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
            "4 node(s) had untolerated taint(s)."
        )


def test_a_kubelet_goes_on_where_the_taint_is_missing_and_the_next_update_by_others_brings_it(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """NodeRestriction refuses an update by a kubelet in which a taint changes, whoever changed it."""
    wait_for(lambda: not is_in_force(control_plane), message="the taints of another test gone")
    control_plane.add_node("gpu-001", labels={GROUP: "SMALL"})
    rules = compile_folder(POLICY, tmp_path / "rules", "--target", "nodes")
    kubectl(control_plane, "apply", "--server-side", "-k", rules)
    wait_for(lambda: is_in_force(control_plane), message="the compiled taints in force")

    change = {"metadata": {"labels": {"nvidia.com/gpu.count": "8"}}}
    answer = control_plane.api("system:node:gpu-001").patch(node("gpu-001"), change)
    before = taints(control_plane)
    kubectl(control_plane, "annotate", "node", "gpu-001", "example.com/touched=yes")

    assert (answer.status, before) == (200, {})
    assert taints(control_plane) == {"gpu-001": [ours("SMALL")]}
