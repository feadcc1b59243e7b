"""What pods ask of their nodes by themselves: kept inside their slot groups, or denied with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import Governed, governed, left_as_found
from e2e.objects import pod, scheduler_config, written
from e2e.placement import left_pending, place
from e2e.product import shipped

PRODUCT = "nvidia.com/gpu.product"
GROUP = "my.gpu.cluster/node-group"
TYPE = "my.gpu.cluster/gpu-type"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

# Name, GPUs, product and zone of the nodes, and the slot group that each gets.
FLEET = (
    ("pcie-1", 4, "NVIDIA-A100-PCIE-40GB", "a", "SLOT-SMALL"),
    ("sxm-1", 8, "NVIDIA-A100-SXM4-80GB", "b", "SLOT-SMALL"),
    ("sxm-2", 8, "NVIDIA-A100-SXM4-80GB", "b", "SLOT-8"),
    ("h100-1", 8, "NVIDIA-H100-80GB-HBM3", "a", "SLOT-SMALL"),
    ("h100-2", 8, "NVIDIA-H100-80GB-HBM3", "b", "SLOT-SMALL"),
    ("h100-3", 8, "NVIDIA-H100-80GB-HBM3", "c", "SLOT-8"),
)


@pytest.fixture(scope="class")
def fleet(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    """Six nodes of three types in three zones under the policy for a mixed fleet."""
    with left_as_found(control_plane):
        for name, gpus, product, zone, _ in FLEET:
            control_plane.add_node(name, gpus, labels={PRODUCT: product, ZONE: zone})
        with governed(control_plane, shipped("mixed-fleet"), tmp_path_factory.mktemp("fleet")) as cluster:
            yield cluster


def node_affinity(*terms: Mapping[str, str]) -> dict[str, object]:
    """A required node affinity of terms, each given as label -> value."""
    listed = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in term.items()]}
        for term in terms
    ]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}}


class TestMixedFleet:
    """A class, because its fixture ends with it."""

    def test_the_fleet_is_divided_as_the_policy_says(self, fleet: Governed) -> None:
        assert fleet.slot_groups == {name: group for name, _, _, _, group in sorted(FLEET)}

    @pytest.mark.parametrize(
        ("gpus", "wish", "node"),
        [
            pytest.param(8, node_affinity({ZONE: "b"}), "sxm-2", id="affinity-8"),
            pytest.param(4, node_affinity({ZONE: "a", TYPE: "a100-40gb"}), "pcie-1", id="affinity-with-alias"),
            pytest.param(8, node_affinity({ZONE: "no"}, {ZONE: "c"}), "h100-3", id="two-terms-first-matches-nothing"),
            pytest.param(8, {"nodeSelector": {ZONE: "c"}}, "h100-3", id="node-selector"),
            pytest.param(8, {"nodeSelector": {TYPE: "h100"}}, "h100-3", id="type-by-alias-8"),
            pytest.param(1, {"nodeSelector": {TYPE: "h100", ZONE: "a"}}, "h100-1", id="type-by-alias-1"),
            pytest.param(2, {"nodeSelector": {TYPE: "NVIDIA-A100-SXM4-80GB"}}, "sxm-1", id="type-by-name"),
            pytest.param(8, {"nodeSelector": {GROUP: "SLOT-SMALL", ZONE: "a"}}, "h100-1", id="overflow-group-by-name"),
            pytest.param(1, {"nodeSelector": {HOSTNAME: "h100-2"}}, "h100-2", id="one-node"),
        ],
    )
    def test_a_wish_is_kept_inside_the_slot_groups_of_the_pod(
        self, gpus: int, wish: Mapping[str, object], node: str, fleet: Governed, namespace: str
    ) -> None:
        placed = fleet.place("Job", 1, namespace=namespace, gpus=gpus, **wish)

        assert list(placed.values()) == [node]

    def test_no_way_of_two_terms_leads_out_of_the_slot_groups(
        self, fleet: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """One term names a node of the pods' group, with room for one of them, the other a free node of another."""
        terms = node_affinity({HOSTNAME: "pcie-1"}, {HOSTNAME: "h100-3"})
        first = fleet.place("Pod", 1, namespace=namespace, gpus=4, name="first", **terms)
        control_plane.create(pod("second", 4, **terms), namespace)

        message = left_pending(control_plane, namespace, "second")

        assert first == {"first-0": "pcie-1"}
        assert message.startswith(
            "0/6 nodes are available: 1 Insufficient nvidia.com/gpu, "
            "5 node(s) didn't match Pod's node affinity/selector."
        )

    def test_a_pod_of_another_scheduler_keeps_it_and_is_bound_by_it_inside_its_slot_group(
        self, fleet: Governed, control_plane: ControlPlane, namespace: str
    ) -> None:
        """A default profile by another name, which would spread six pods over the six nodes."""
        with control_plane.scheduler(scheduler_config({"schedulerName": "volcano"})) as other:
            placed = place(control_plane, other, "Deployment", 6, namespace=namespace, profile="volcano")

        assert sorted(set(placed.values())) == ["h100-1", "h100-2", "pcie-1", "sxm-1"]
        assert {pod["spec"]["schedulerName"] for pod in control_plane.pods(namespace)} == {"volcano"}

    def test_kubectls_user_is_warned_of_a_scheduler_that_the_policy_does_not_know(
        self, fleet: Governed, control_plane: ControlPlane, namespace: str, tmp_path: Path
    ) -> None:
        file = written(tmp_path, pod("p", 1, scheduler="volcano"))

        done = control_plane.kubectl("create", "--namespace", namespace, "-f", file)

        cited = fleet.product.policy.cite("spec", "scheduler")
        assert (done.returncode, done.stdout) == (0, "pod/p created\n")
        assert done.stderr == (
            "Warning: schedulerName volcano is none of the policy's; if nobody serves it, the pod waits without an "
            f"event ({cited}); known: gpu-packing; name others in otherSchedulers [scheduler-not-known]\n"
        )

    @pytest.mark.parametrize(
        ("gpus", "wish", "reason"),
        [
            pytest.param(
                1,
                {"nodeName": "h100-1"},
                "spec.nodeName h100-1 goes round the scheduler, which alone looks at slot groups and free GPUs "
                "({admission}); name the node in a nodeSelector [node-name-set]",
                id="node-name",
            ),
            pytest.param(
                1,
                {"nodeSelector": {GROUP: "SLOT-8"}},
                "the pod wants my.gpu.cluster/node-group In [SLOT-8], but requests for 1 GPU are served by SLOT-SMALL "
                "of NVIDIA-A100-PCIE-40GB, NVIDIA-A100-SXM4-80GB, NVIDIA-H100-80GB-HBM3 ({small}); "
                "leave spec.nodeSelector[my.gpu.cluster/node-group] out, or name SLOT-SMALL [placement-contradiction]",
                id="another-group",
            ),
            pytest.param(
                8,
                {"nodeSelector": {TYPE: "a100-40gb"}},
                "the pod wants my.gpu.cluster/gpu-type In [a100-40gb], but requests for 8 GPUs are served by SLOT-8, "
                "SLOT-SMALL of NVIDIA-A100-SXM4-80GB, NVIDIA-H100-80GB-HBM3 ({reserve}) [placement-contradiction]",
                id="type-too-small",
            ),
            pytest.param(
                1,
                node_affinity({GROUP: "SLOT-8"}, {TYPE: "h200"}),
                "the pod wants my.gpu.cluster/node-group In [SLOT-8], but requests for 1 GPU are served by SLOT-SMALL",
                id="two-terms-without-a-way",
            ),
        ],
    )
    def test_a_wish_that_cannot_be_met_is_denied_with_the_reason(
        self,
        gpus: int,
        wish: Mapping[str, object],
        reason: str,
        fleet: Governed,
        control_plane: ControlPlane,
        namespace: str,
    ) -> None:
        answer = control_plane.api().post(pod("p", gpus, **wish), namespace=namespace)

        cite = fleet.product.policy.cite
        told = reason.format(
            admission=cite("spec", "admission"),
            small=cite("spec", "slotGroups", 0),
            reserve=cite("spec", "slotGroups", 1),
        )
        assert answer.status == 403
        assert told in answer.message
