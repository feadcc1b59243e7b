"""The failure that everybody meets, and the remedy that everybody copies, on a real kube-scheduler."""

from __future__ import annotations

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import pod, scheduler_config
from e2e.placement import left_pending, place, placed_nodes

DEFAULT = scheduler_config()

# What tutorials and answers on the web give: bin packing by the resource weights alone.
HAND_COPIED = scheduler_config(
    {
        "schedulerName": "bin-packing-scheduler",
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "scoringStrategy": {
                        "type": "MostAllocated",
                        "resources": [
                            {"name": "cpu", "weight": 1},
                            {"name": "memory", "weight": 1},
                            {"name": "nvidia.com/gpu", "weight": 100},
                        ],
                    }
                },
            }
        ],
    }
)


@pytest.fixture(autouse=True)
def _five_nodes(control_plane: ControlPlane) -> None:
    control_plane.add_nodes(5, gpus=8)


def test_five_one_gpu_pods_leave_no_room_for_an_eight_gpu_pod_among_35_free_gpus(
    control_plane: ControlPlane, namespace: str
) -> None:
    with control_plane.scheduler(DEFAULT) as scheduler:
        place(control_plane, scheduler, "Pod", 5, namespace=namespace)
        control_plane.create(pod("whole-node", 8), namespace)
        message = left_pending(control_plane, namespace, "whole-node")

    assert control_plane.pods_per_node(namespace) == [1, 1, 1, 1, 1]
    assert sum(control_plane.free_gpus().values()) == 35
    assert message.startswith("0/5 nodes are available: 5 Insufficient nvidia.com/gpu.")


def test_the_scheduler_says_so_in_an_event(control_plane: ControlPlane, namespace: str) -> None:
    with control_plane.scheduler(DEFAULT):
        control_plane.create(pod("too-big", 9), namespace)
        left_pending(control_plane, namespace, "too-big")
        (event,) = control_plane.wait_for_events(namespace, about="too-big")

    assert (event["reason"], event["reportingComponent"]) == ("FailedScheduling", "default-scheduler")


def test_the_hand_copied_remedy_packs_bare_pods(control_plane: ControlPlane, namespace: str) -> None:
    nodes = placed_nodes(control_plane, HAND_COPIED, "Pod", 5, namespace=namespace)

    assert len(set(nodes.values())) == 1


def test_the_hand_copied_remedy_does_not_pack_the_pods_of_a_replica_set(
    control_plane: ControlPlane, namespace: str
) -> None:
    """The scheduler's own spread constraints apply to pods that a controller selects, and outweigh it."""
    nodes = placed_nodes(control_plane, HAND_COPIED, "ReplicaSet", 8, namespace=namespace)

    assert len(set(nodes.values())) == 5
