"""Nodes that are odd become notes; nothing about them is an exception."""

from __future__ import annotations

import pytest
from fleets import A100, COUNT, PRODUCT, discovered, labelled, node

from gpupolicy import load_text
from gpupolicy.discovery import discover
from gpupolicy.linting import lint_text

GOOD = [discovered(f"gpu-{i}", A100) for i in range(5)]
A100_LABEL = {PRODUCT: A100}


@pytest.mark.parametrize(
    ("odd", "note"),
    [
        pytest.param({"metadata": {}}, "1 of the nodes have no metadata.name and are left out", id="nameless"),
        pytest.param({}, "1 of the nodes have no metadata.name and are left out", id="empty"),
        pytest.param(
            {"metadata": []}, "1 of the nodes have no metadata.name and are left out", id="metadata-is-a-list"
        ),
        pytest.param(GOOD[0], "listed twice, the first counts: gpu-0", id="twice"),
        pytest.param(
            {"metadata": {"name": "odd", "labels": A100_LABEL}},
            "without status, so nothing is known of what they offer: odd",
            id="no-status",
        ),
        pytest.param(
            node("odd", 0, A100_LABEL),
            f"odd: 0 of 8 nvidia.com/gpu allocatable ({A100}); a GPU lost, or the device plugin is not there",
            id="none-left",
        ),
        pytest.param(
            node("odd", 7, A100_LABEL, capacity=8),
            f"odd: 7 of 8 nvidia.com/gpu allocatable ({A100}); a GPU lost, or the device plugin is not there",
            id="one-lost",
        ),
        pytest.param(
            node("odd", 4, {**A100_LABEL, COUNT: "8"}),
            f"odd: 4 of 8 nvidia.com/gpu allocatable ({A100}); a GPU lost, or the device plugin is not there",
            id="half-lost",
        ),
        pytest.param(
            node("odd", "eight", A100_LABEL),
            'odd: status.allocatable of nvidia.com/gpu: "eight" is not a quantity; it counts as 0',
            id="words",
        ),
        pytest.param(
            node("odd", "7.5", A100_LABEL),
            "odd: status.allocatable of nvidia.com/gpu: 7.5 is no whole number of at least 0; it counts as 0",
            id="part-of-a-gpu",
        ),
        pytest.param(
            node("odd", "1e30", A100_LABEL),
            "left out: odd offers 9223372036854775807 nvidia.com/gpu, and a policy takes at most 1024 a node",
            id="huge",
        ),
        pytest.param(
            node("odd", 8, A100_LABEL, version="v1.99.0"),
            "the nodes run Kubernetes 1.99; the nearest whose rules gpupolicy knows is 1.37",
            id="future",
        ),
    ],
)
def test_an_odd_node_is_noted(odd: dict[str, object], note: str) -> None:
    found = discover([*GOOD, odd])

    assert (note in found.notes, lint_text(found.text)) == (True, ())


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"metadata": {"name": "odd", "labels": [1]}}, id="labels-are-a-list"),
        pytest.param({"metadata": {"name": "odd", "labels": {PRODUCT: 7}}}, id="label-is-a-number"),
        pytest.param({"metadata": {"name": "odd"}, "status": {"allocatable": 3}}, id="allocatable-is-a-number"),
        pytest.param({"metadata": {"name": "odd"}, "spec": {"taints": {"a": 1}}}, id="taints-are-a-mapping"),
        pytest.param({"metadata": {"name": "odd"}, "status": {"nodeInfo": []}}, id="nodeInfo-is-a-list"),
        pytest.param(node("odd", 8, {PRODUCT: "NVIDIA A100 (80 GB)"}), id="no-label-value"),
        pytest.param(node("odd", 8, {PRODUCT: "x" * 64}), id="label-too-long"),
        pytest.param(node("odd", 8, {"acme.io/node-group": "SLOT 4", PRODUCT: A100}), id="group-is-no-label-value"),
        pytest.param(node("odd", 8, {"/node-group": "SLOT-4", PRODUCT: A100}), id="key-without-prefix"),
    ],
)
def test_a_node_of_another_shape_does_no_harm(part: dict[str, object]) -> None:
    assert lint_text(discover([*GOOD, part]).text) == ()


def test_a_node_that_offers_two_resources_is_of_one_type_and_it_is_said() -> None:
    both = node("both", 4, A100_LABEL)
    both["status"]["allocatable"]["nvidia.com/mig-1g.10gb"] = "28"

    assert discover([both]).notes[0] == (
        "both offers nvidia.com/gpu, nvidia.com/mig-1g.10gb; a node is of one type, so only nvidia.com/gpu is counted"
    )


def test_nodes_without_any_label_are_to_be_labelled() -> None:
    nodes = [{"metadata": {"name": f"n{i}"}, "status": {"allocatable": {"nvidia.com/gpu": 8}}} for i in range(2)]
    found = discover(nodes)

    assert (lint_text(found.text), found.notes) == (
        (),
        ("no label tells nodes of NVIDIA-GPU from others: kubectl label node NODE my.gpu.cluster/gpu-type=NVIDIA-GPU",),
    )


def test_nodes_that_only_their_names_tell_apart_are_listed() -> None:
    found = discover([*(node(f"big-{i}", 8) for i in range(2)), node("small", 4), node("web", None)])
    selectors = [t.node_selector for t in load_text(found.text).gpu_types]

    assert [selector.matches({"kubernetes.io/hostname": "small"}) for selector in selectors if selector] == [
        True,
        False,
    ]


def test_a_node_in_a_group_with_slots_larger_than_itself_is_noted() -> None:
    nodes = [*labelled(), node("little", 4, {PRODUCT: "T4", "acme.io/node-group": "SLOT-8", "acme.io/gpu-type": "T4"})]

    assert discover(nodes).notes == (
        "in a group whose slots are larger than the node, so it cannot stay there: little (SLOT-8, 4 GPUs)",
    )
