"""What init proposes for fleets as they are: sound, complete, and without moving what is there."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from fleets import A100, FLEETS, PRODUCT, V100, discovered, in_group, labelled, mig, node, pod, two_types

from gpupolicy import assign, load_text
from gpupolicy.discovery import discover
from gpupolicy.errors import InputError
from gpupolicy.linting import lint_text
from gpupolicy.model import Policy, TaintEffect

OPENB = Path(__file__).parents[4] / "shared" / "data" / "openb_node_list_gpu_node.csv"
GROUP, TYPE, SUPPORT = "acme.io/node-group", "acme.io/gpu-type", "acme.io/nvidia-gpu-support"


def proposed(nodes: list[dict[str, object]], pods: tuple[dict[str, object], ...] = ()) -> Policy:
    return load_text(discover(nodes, pods).text)


def changes(nodes: list[dict[str, object]], pods: tuple[dict[str, object], ...] = ()) -> dict[str, dict[str, str]]:
    """The labels that the proposal would set, by node; none may go."""
    plan = assign(proposed(nodes, pods), nodes)
    assert [change.node for change in plan.changes if change.remove] == []
    return {change.node: dict(change.set) for change in plan.changes}


def openb() -> list[dict[str, object]]:
    with OPENB.open() as file:
        return [node(row["sn"], row["gpu"], {PRODUCT: row["model"]}) for row in csv.DictReader(file)]


@pytest.mark.parametrize("fleet", FLEETS)
def test_lint_finds_nothing_in_a_proposal(fleet: str) -> None:
    assert lint_text(discover(FLEETS[fleet]()).text) == ()


@pytest.mark.parametrize("fleet", FLEETS)
def test_every_gpu_node_gets_a_type_and_a_group(fleet: str) -> None:
    nodes = FLEETS[fleet]()
    expected = [n["metadata"]["name"] for n in nodes if any("/" in name for name in n["status"]["allocatable"])]

    plan = assign(proposed(nodes), nodes)

    assert (sorted(plan.groups), [group for _, group in plan.groups.values() if group is None]) == (
        sorted(expected),
        [],
    )


@pytest.mark.parametrize("fleet", FLEETS)
def test_a_proposal_does_not_depend_on_the_order_of_the_nodes(fleet: str) -> None:
    nodes = FLEETS[fleet]()

    assert discover(nodes[::-1]).text == discover(nodes).text


@pytest.mark.skipif(not OPENB.exists(), reason="the openb trace is not here")
def test_the_openb_cluster_gets_a_type_for_each_model_and_size_of_node() -> None:
    nodes = openb()
    policy = proposed(nodes)

    assert ({t.name: t.gpus_per_node for t in policy.gpu_types}, len(assign(policy, nodes).groups)) == (
        {
            "A10": 1,
            "G2": 8,
            "G3": 8,
            "P100-x1": 1,
            "P100-x2": 2,
            "T4-x2": 2,
            "T4-x4": 4,
            "V100M16-x1": 1,
            "V100M16-x4": 4,
            "V100M16-x8": 8,
            "V100M32-x4": 4,
            "V100M32-x8": 8,
        },
        len(nodes),
    )


@pytest.mark.skipif(not OPENB.exists(), reason="the openb trace is not here")
def test_lint_finds_nothing_in_the_proposal_for_openb() -> None:
    assert lint_text(discover(openb()).text) == ()


def test_the_starter_partition_keeps_a_reserve_for_whole_nodes() -> None:
    nodes = two_types()

    assert Counter(assign(proposed(nodes), nodes).groups.values()) == {
        (V100, "SLOT-SMALL"): 15,
        (V100, "SLOT-8"): 5,
        (f"{A100}-x8", "SLOT-SMALL"): 9,
        (f"{A100}-x8", "SLOT-8"): 3,
        (f"{A100}-x4", "SLOT-SMALL"): 8,
    }


def test_nodes_with_groups_are_changed_only_where_a_label_is_missing() -> None:
    new = {TYPE: "A100", GROUP: "SLOT-8", SUPPORT: "true"}

    assert changes(labelled()) == {**{f"gpu-{i}": {SUPPORT: "true"} for i in range(6)}, "gpu-new": new}


def test_groups_keep_their_nodes_when_there_are_too_many_to_name() -> None:
    nodes = [discovered(f"gpu-{i:03}", A100, **in_group(f"SLOT-{1 << i % 4}")) for i in range(200)]

    assert {frozenset(labels) for labels in changes(nodes).values()} == {frozenset({SUPPORT})}


def test_a_group_label_without_prefix_is_followed_by_the_policys_own() -> None:
    nodes = [
        discovered(f"gpu-{i}", A100, **{"node-group": group}) for i, group in enumerate(["SLOT-4"] * 2 + ["SLOT-8"] * 3)
    ]

    assert {name: labels["my.gpu.cluster/node-group"] for name, labels in changes(nodes).items()} == {
        "gpu-0": "SLOT-4",
        "gpu-1": "SLOT-4",
        "gpu-2": "SLOT-8",
        "gpu-3": "SLOT-8",
        "gpu-4": "SLOT-8",
    }


def test_a_size_without_a_group_is_served_by_the_next_larger_one() -> None:
    assert {group.name: group.sizes for group in proposed(labelled()).slot_groups} == {
        "SLOT-1": (1,),
        "SLOT-4": (2, 4),
        "SLOT-8": (8,),
    }


def test_a_size_that_no_group_is_large_enough_for_is_not_admitted() -> None:
    nodes = [discovered(f"gpu-{i}", A100, **in_group(group)) for i, group in enumerate(("SLOT-1", "SLOT-2"))]
    (gpu_type,) = proposed(nodes).gpu_types

    assert gpu_type.request_sizes == (1, 2)


def test_pods_tell_the_sizes_of_a_group_whose_name_does_not() -> None:
    nodes = [discovered(f"gpu-{i}", A100, **in_group(group)) for i, group in enumerate(("small", "large"))]
    pods = (pod("a", 1, on="gpu-0"), pod("b", 4, on="gpu-0"), pod("c", 8, on="gpu-1"), pod("d", 2, phase="Succeeded"))

    assert {g.name: g.sizes for g in proposed(nodes, pods).slot_groups} == {"small": (1, 2, 4), "large": (8,)}


def test_a_group_whose_name_says_no_size_serves_what_no_other_does() -> None:
    nodes = [discovered(f"gpu-{i}", A100, **in_group(group)) for i, group in enumerate(("training", "SLOT-8"))]

    assert {g.name: g.sizes for g in proposed(nodes).slot_groups} == {"training": (1, 2, 4), "SLOT-8": (8,)}


def test_labels_of_teams_are_left_alone() -> None:
    """Two groups for one size are no partition: the policy keeps its own labels elsewhere."""
    nodes = [discovered(f"gpu-{i}", A100, **in_group(team)) for i, team in enumerate(["red", "blue"] * 3)]
    found = discover(nodes)

    assert (load_text(found.text).labels.prefix, found.notes) == (
        "slots.acme.io",
        (
            "acme.io/node-group does not part requests by size (two groups for one size, several whose names "
            "hold none, or slots that do not fill a node), so it is left alone; the policy's own labels are "
            "under slots.acme.io",
        ),
    )


def test_a_group_in_a_domain_of_kubernetes_is_not_taken_over() -> None:
    nodes = [discovered(f"gpu-{i}", A100, **{"node.kubernetes.io/node-group": "SLOT-8"}) for i in range(2)]

    assert proposed(nodes).labels.prefix == "my.gpu.cluster"


def test_a_taint_of_the_group_is_kept() -> None:
    taint = {"key": GROUP, "value": "SLOT-8", "effect": "NoSchedule"}
    labels = {PRODUCT: A100, **in_group("SLOT-8"), SUPPORT: "true"}
    nodes = [node(f"gpu-{i}", 8, labels, taints=[taint]) for i in range(2)]
    (group,) = proposed(nodes).slot_groups

    assert (group.taint, assign(proposed(nodes), nodes).changes) == (TaintEffect.NO_SCHEDULE, ())


def test_types_without_groups_get_some_beside_those_in_use() -> None:
    nodes = [*labelled(), *(discovered(f"v100-{i}", V100) for i in range(4))]

    assert {g.name: (g.sizes, [c.gpu_type for c in g.nodes if c.weight]) for g in proposed(nodes).slot_groups} == {
        "SLOT-1": ((1,), ["A100"]),
        "SLOT-4": ((2, 4), ["A100"]),
        "SLOT-8": ((8,), ["A100", V100]),
        "SLOT-SMALL": ((1, 2, 4), [V100]),
    }


def test_parts_of_devices_are_asked_for_one_at_a_time() -> None:
    assert {t.name: t.request_sizes for t in proposed(mig()).gpu_types} == {
        A100: None,
        f"{A100}-MIG-1g.10gb": (1,),
        f"{A100}-MIG-3g.20gb": (1,),
        f"{A100}-SHARED": (1,),
    }


def test_a_cloud_that_runs_the_control_plane_gets_a_second_scheduler() -> None:
    assert {fleet: proposed(FLEETS[fleet]()).scheduler.mode.value for fleet in ("aks", "eks", "gke", "two-types")} == {
        "aks": "second",
        "eks": "second",
        "gke": "second",
        "two-types": "profiles",
    }


def test_without_a_gpu_node_it_is_told_what_was_looked_for() -> None:
    with pytest.raises(InputError, match=r"no GPU node among 2 nodes: looked for nvidia\.com/gpu, .*/gke-accelerator"):
        discover([node("a", None), node("b", None, {"kubernetes.io/os": "linux"})])
