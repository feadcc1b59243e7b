"""``gpupolicy capacity`` on a live cluster: the figures are those that a hand counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from commands import run
from e2e.controlplane import ControlPlane
from e2e.governed import Governed, governed, left_as_found, of_kinds
from e2e.product import shipped

V100 = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
PODS = {1: 14, 2: 9, 4: 4, 8: 3}  # 30 pods: 14 + 18 + 16 + 24 = 72 GPUs


@pytest.fixture(scope="class")
def classic(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    """15 nodes under the classic policy: 3 of SLOT-1, 3 of SLOT-2, 3 of SLOT-4, 6 of SLOT-8."""
    with left_as_found(control_plane):
        control_plane.add_nodes(15, labels=V100)
        with governed(control_plane, shipped("classic"), tmp_path_factory.mktemp("classic")) as cluster:
            yield cluster


class TestThirtyPodsOfAllSizes:
    """Placed by the real scheduler, packed inside their groups."""

    def test_the_figures_are_those_of_a_hand_count(
        self, classic: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        for size, pods in PODS.items():
            classic.place("Deployment", pods, namespace=namespace, gpus=size, name=f"size-{size}")

        report = read(control_plane)

        assert figures(report) == {
            # group: (nodes, GPUs total, used, free, slots total, used, free)
            "SLOT-1": (3, 24, 14, 10, 24, 14, 10),
            "SLOT-2": (3, 24, 18, 6, 12, 9, 3),
            "SLOT-4": (3, 24, 16, 8, 6, 4, 2),
            "SLOT-8": (6, 48, 24, 24, 6, 3, 3),
        }
        assert report["types"][0]["largestFit"] == 8
        assert [group["stranded"] for group in report["groups"]] == [0, 0, 0, 0]
        assert (report["misplaced"], report["unlabelled"], report["pending"]) == ([], [], [])

    def test_what_goes_round_the_policy_is_seen(
        self, classic: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """A cordoned node, a finished pod, and a pod that was bound to the wrong group by hand."""
        eight = next(name for name, group in classic.slot_groups.items() if group == "SLOT-8")
        four = next(name for name, group in classic.slot_groups.items() if group == "SLOT-4")
        control_plane.kubectl("cordon", four)
        exempt = "gpu-operator"
        control_plane.add_namespace(exempt)
        for name, phase in (("stray", "Running"), ("done", "Succeeded")):
            control_plane.create(by_hand(name, eight), exempt)
            finish(control_plane, exempt, name, phase)

        report = read(control_plane)

        by_name = {group["slotGroup"]: group for group in report["groups"]}
        control_plane.kubectl("uncordon", four)
        control_plane.delete_namespace(exempt)
        assert by_name["SLOT-4"]["slots"] == [{"size": 4, "total": 6, "used": 0, "free": 4, "blocked": 2}]
        assert by_name["SLOT-4"]["strandedBy"] == [{"reason": "cordoned", "gpus": 8, "nodeCount": 1, "nodes": [four]}]
        assert by_name["SLOT-8"]["slots"] == [{"size": 8, "total": 6, "used": 1, "free": 5, "blocked": 0}]
        assert by_name["SLOT-8"]["strandedBy"] == [{"reason": "leftover", "gpus": 7, "nodeCount": 1, "nodes": [eight]}]

    def test_the_exporter_is_taken_as_it_is_printed_and_its_rights_suffice(
        self, classic: Governed, control_plane: ControlPlane
    ) -> None:
        """Its account reads what it counts; what it does not need is refused."""
        documents = list(yaml.safe_load_all(run("monitoring", "capacity-exporter").out))
        account = next(each["metadata"] for each in documents if each["kind"] == "ServiceAccount")
        user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
        control_plane.add_namespace(account["namespace"])
        control_plane.apply(documents)
        outcome = run(
            "capacity", shipped("classic"), "--kubeconfig", control_plane.kubeconfig(user), "--format", "prometheus"
        )
        refused = control_plane.kubectl("get", "secrets", "-A", user=user)
        for document in of_kinds(documents, "ClusterRole", "ClusterRoleBinding"):
            control_plane.api().delete(document)
        control_plane.delete_namespace(account["namespace"])

        assert outcome.status == 0, outcome.err
        assert 'gpupolicy_nodes{gpu_type="NVIDIA-V100-32GB",slot_group="SLOT-8"} 6.0' in outcome.out
        assert "forbidden" in refused.stderr


def by_hand(name: str, node: str) -> dict[str, Any]:
    """A pod of 1 GPU that names its node and so goes round the scheduler."""
    limits = {"nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "example.test/train:1", "resources": {"limits": limits}}
    spec = {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def finish(plane: ControlPlane, namespace: str, name: str, phase: str) -> None:
    """Give a pod a phase, as its kubelet would."""
    patch = json.dumps({"status": {"phase": phase}})
    done = plane.kubectl(
        "patch", "pod", name, "-n", namespace, "--subresource", "status", "--type", "merge", "-p", patch
    )
    assert done.returncode == 0, done.stderr


def read(plane: ControlPlane) -> dict[str, Any]:
    """The report of the live cluster."""
    outcome = run("capacity", shipped("classic"), "--kubeconfig", plane.kubeconfig(), "--format", "json")
    assert outcome.status == 0, outcome.err
    report: dict[str, Any] = outcome.json
    return report


def figures(report: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Nodes, GPUs and slots of each group, which has one size."""
    rows = {}
    for group in report["groups"]:
        (slots,) = group["slots"]
        gpus = group["gpus"]
        rows[group["slotGroup"]] = (
            group["nodes"],
            *(gpus[key] for key in ("total", "used", "free")),
            *(slots[key] for key in ("total", "used", "free")),
        )
    return rows
