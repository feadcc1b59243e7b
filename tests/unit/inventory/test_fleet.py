"""Nodes as far as counting needs them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GPU, gpu_type, node, policy
from fleet_builders import seated

from gpupolicy.inventory.figures import Obstacle
from gpupolicy.inventory.fleet import Fleet, read_fleet
from gpupolicy.labels import LabelSelector

POLICY = policy()


def read(*nodes: dict[str, Any]) -> Fleet:
    return read_fleet(POLICY, nodes)


def taint(key: str, effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect}


def of_group(name: str) -> dict[str, str]:
    return {**taint("my.gpu.cluster/node-group"), "value": name}


def test_allocatable_counts_whether_text_or_number() -> None:
    (one, two) = read(seated("a", "SLOT-4", gpus="8"), seated("b", "SLOT-4", gpus=7)).nodes

    assert (one.gpus, two.gpus) == (8, 7)
    assert (one.cpu_milli, one.memory_bytes, one.pods) == (96_000, 512 * 2**30, 110)


def test_a_node_of_the_policy_is_known_by_its_label_alias_or_selector() -> None:
    by_selector = policy(types=(gpu_type("V100", node_selector=LabelSelector(match_labels={"product": "v"})),))
    nodes = [
        seated("named", "SLOT-1"),
        seated("alias", "SLOT-1", gpu_type="v100"),
        node("selected", labels={"product": "v"}),
    ]

    assert read_fleet(by_selector, nodes[2:]).seats == {"selected": ("V100", None)}
    assert read(*nodes[:2]).seats == {"named": ("V100", "SLOT-1"), "alias": ("V100", "SLOT-1")}


def test_a_node_without_gpus_and_labels_is_none_of_ours() -> None:
    fleet = read(node("cpu", gpus=0))

    assert (fleet.nodes, fleet.seats, fleet.nodes_read) == ((), {"cpu": (None, None)}, 1)


@pytest.mark.parametrize(
    ("made", "obstacle"),
    [
        pytest.param(seated("a", "SLOT-1"), None, id="ready"),
        pytest.param(seated("a", "SLOT-1", unschedulable=True), Obstacle.CORDONED, id="cordoned"),
        pytest.param(
            seated("a", "SLOT-1", taints=[taint("node.kubernetes.io/unschedulable")]), Obstacle.CORDONED, id="c2"
        ),
        pytest.param(seated("a", "SLOT-1", taints=[taint("maintenance")]), Obstacle.TAINTED, id="tainted"),
        pytest.param(seated("a", "SLOT-1", taints=[taint("maintenance", "PreferNoSchedule")]), None, id="preference"),
        pytest.param(seated("a", "SLOT-1", taints=[taint(GPU)]), None, id="the-resource's-own"),
        pytest.param(seated("a", "SLOT-1", taints=[taint(GPU, "NoExecute")]), Obstacle.TAINTED, id="not-by-everybody"),
        pytest.param(seated("a", "SLOT-1", taints=[of_group("SLOT-1")]), None, id="the-group's-own"),
        pytest.param(seated("a", "SLOT-1", taints=[of_group("SLOT-8")]), Obstacle.TAINTED, id="another-group's"),
        pytest.param(
            seated("a", "SLOT-1", taints=[taint("node.kubernetes.io/unreachable", "NoExecute")]),
            Obstacle.NOT_READY,
            id="unreachable",
        ),
        pytest.param(seated("a", "SLOT-1", taints="odd"), None, id="odd-taints"),
    ],
)
def test_what_keeps_pods_off_a_node_is_known(made: dict[str, Any], obstacle: Obstacle | None) -> None:
    assert read(made).nodes[0].obstacle is obstacle


@pytest.mark.parametrize(("status", "obstacle"), [("True", None), ("False", "not-ready"), ("Unknown", "not-ready")])
def test_the_condition_ready_counts(status: str, obstacle: str | None) -> None:
    made = seated("a", "SLOT-1")
    made["status"]["conditions"] = [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": status}]

    assert read(made).nodes[0].obstacle == obstacle


def test_more_taints_can_be_tolerated() -> None:
    tainted = seated("a", "SLOT-1", taints=[taint("dedicated"), taint(GPU, "NoExecute")])

    assert read_fleet(POLICY, [tainted], tolerates=["dedicated", GPU]).nodes[0].obstacle is None


class TestWhatCannotBeCounted:
    """Each is told, none ends the run."""

    @pytest.mark.parametrize(
        ("made", "rule", "message"),
        [
            pytest.param(
                {"metadata": {"name": "a", "labels": seated("a", "SLOT-1")["metadata"]["labels"]}},
                "node-status-missing",
                "node a has no status, so nobody knows what it offers",
                id="no-status",
            ),
            pytest.param(
                {**seated("a", "SLOT-1"), "status": {}},
                "node-status-missing",
                "node a has no status.allocatable, so nobody knows what it offers",
                id="no-allocatable",
            ),
            pytest.param(
                seated("a", "SLOT-1", gpus=0),
                "node-without-gpus",
                "node a is of type V100 and offers no nvidia.com/gpu",
                id="0-gpus",
            ),
            pytest.param(
                seated("a", "SLOT-1", allocatable={"cpu": "many"}),
                "node-amount-refused",
                'node a offers cpu that cannot be read: "many" is not a quantity',
                id="cpu",
            ),
            pytest.param(
                seated("a", "SLOT-1", gpus="8Gi"),
                "node-amount-refused",
                "node a counts as having no nvidia.com/gpu: the amount is 8Gi, and no node has more than 1024",
                id="gpus",
            ),
            pytest.param(
                node("a", gpus="1e30"),
                "node-amount-refused",
                "node a counts as having no nvidia.com/gpu: the amount is 1e30, and no node has more than 1024",
                id="gpus-of-no-type",
            ),
            pytest.param(
                node(""), "node-without-name", "a node has no metadata.name, so it is not counted", id="no-name"
            ),
        ],
    )
    def test_a_broken_node(self, made: dict[str, Any], rule: str, message: str) -> None:
        assert [(f.rule, f.message) for f in read(made).findings] == [(rule, message)]

    def test_a_node_that_is_listed_twice_counts_once(self) -> None:
        fleet = read(seated("a", "SLOT-1"), seated("a", "SLOT-4"))

        assert fleet.seats == {"a": ("V100", "SLOT-1")}
        assert [f.message for f in fleet.findings] == ["node a is listed twice; the first one counts"]

    def test_a_lost_gpu_is_told(self) -> None:
        made = seated("a", "SLOT-1", gpus=7)
        made["status"]["capacity"][GPU] = "8"

        assert [f.message for f in read(made).findings] == [
            "node a has 8 nvidia.com/gpu, of which 1 cannot be used now"
        ]

    def test_a_capacity_that_cannot_be_read_is_no_loss(self) -> None:
        made = seated("a", "SLOT-1")
        made["status"]["capacity"][GPU] = "eight"

        assert read(made).findings == ()

    def test_a_capacity_beyond_all_nodes_is_no_loss(self) -> None:
        made = seated("a", "SLOT-1")
        made["status"]["capacity"][GPU] = "8Gi"

        assert read(made).findings == ()

    def test_gpus_of_another_kind_on_a_node_are_told(self) -> None:
        mig = policy(types=(gpu_type("V100"), gpu_type("A100", resource_name="nvidia.com/mig-1g.5gb")))
        made = seated("a", "SLOT-1", allocatable={"nvidia.com/mig-1g.5gb": "7"})

        assert [f.message for f in read_fleet(mig, [made]).findings] == [
            "node a offers also nvidia.com/mig-1g.5gb, which its GPU type does not count"
        ]

    def test_many_of_a_kind_are_told_as_a_number(self) -> None:
        fleet = read(*(seated(f"n{i:02}", "SLOT-1", gpus=0) for i in range(25)))

        assert len(fleet.findings) == 21
        assert "and 5 more nodes" in {f.message for f in fleet.findings}
