"""How types are recognised: which label names them, and what tells nodes of one product apart."""

from __future__ import annotations

import pytest
from fleets import A100, COUNT, FLEETS, INSTANCE, PRODUCT, V100, discovered, mig, node, two_types

from gpupolicy import assign, load_text
from gpupolicy.discovery import discover
from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.model import Policy

Nodes = list[dict[str, object]]


def proposed(nodes: Nodes) -> Policy:
    return load_text(discover(nodes).text)


def types(nodes: Nodes) -> dict[str, int]:
    return {gpu_type.name: gpu_type.gpus_per_node for gpu_type in proposed(nodes).gpu_types}


def selector(nodes: Nodes, name: str) -> LabelSelector | None:
    return proposed(nodes).types_by_name[name].node_selector


@pytest.mark.parametrize(
    ("fleet", "expected"),
    [
        ("aks", {"NVIDIA-H100-80GB": 8}),
        ("bare", {"NVIDIA-GPU-x4": 4, "NVIDIA-GPU-x8": 8}),
        ("eks", {"NVIDIA-A100-40GB": 8, "NVIDIA-A10G-x1": 1, "NVIDIA-A10G-x4": 4}),
        ("gke", {"nvidia-tesla-t4": 4, "nvidia-tesla-t4-time-sharing": 16}),
        ("karpenter", {"v100-16384": 8}),
        ("labelled", {"A100": 8}),
        ("mig", {A100: 8, f"{A100}-MIG-1g.10gb": 56, f"{A100}-MIG-3g.20gb": 16, f"{A100}-SHARED": 80}),
        ("others", {"AMD_Instinct_MI300X_OAM": 8, "Flex_170": 2}),
        ("two-types", {V100: 8, f"{A100}-x4": 4, f"{A100}-x8": 8}),
    ],
)
def test_a_type_for_each_product_and_size_of_node(fleet: str, expected: dict[str, int]) -> None:
    assert types(FLEETS[fleet]()) == expected


def test_the_product_is_enough_where_there_is_one_size() -> None:
    assert selector(two_types(), V100) == LabelSelector(match_labels={PRODUCT: V100})


def test_sizes_are_told_apart_by_the_number_of_gpus() -> None:
    assert selector(two_types(), f"{A100}-x4") == LabelSelector(match_labels={PRODUCT: A100, COUNT: "4"})


def test_machines_of_one_type_are_listed() -> None:
    assert selector(FLEETS["eks"](), "NVIDIA-A10G-x1") == LabelSelector(
        match_expressions=(Requirement(key=INSTANCE, operator="In", values=("g5.2xlarge", "g5.xlarge")),)
    )


def test_whole_gpus_are_told_from_slices_of_the_same_product() -> None:
    assert selector(mig(), A100) == LabelSelector(
        match_labels={PRODUCT: A100},
        match_expressions=(Requirement(key="nvidia.com/mig-3g.20gb.product", operator="DoesNotExist"),),
    )


def test_a_machine_that_no_table_knows_names_its_type() -> None:
    nodes = [node(f"ecs-{i}", 8, {INSTANCE: "ecs.gn7e-c16g1.32xlarge"}) for i in range(2)]

    assert types(nodes) == {"ecs.gn7e-c16g1.32xlarge": 8}


@pytest.mark.parametrize("machine", ["k3s", "m5.large"], ids=["distribution", "machine-of-cpu-nodes"])
def test_a_machine_that_says_nothing_of_gpus_names_no_type(machine: str) -> None:
    nodes = [node("gpu", 8, {INSTANCE: machine, "pool": "gpu"}), node("cpu", None, {INSTANCE: machine, "pool": "cpu"})]

    assert types(nodes) == {"NVIDIA-GPU": 8}


def test_a_node_without_the_best_label_joins_those_that_share_its_next_one() -> None:
    """Feature discovery has not come to the second node yet."""
    machine = {INSTANCE: "p4d.24xlarge"}
    nodes = [discovered("first", A100, **machine), node("second", 8, machine)]

    assert (types(nodes), len(assign(proposed(nodes), nodes).groups)) == ({A100: 8}, 2)


def test_a_label_that_somebody_made_up_is_taken_with_a_warning_beside_it() -> None:
    text = discover(FLEETS["bare"]()).text

    assert "# check: pool is no label of a vendor; today it tells these nodes from others" in text


def test_a_few_nodes_with_an_odd_number_of_gpus_are_no_size_of_their_own() -> None:
    nodes = [*(discovered(f"gpu-{i}", A100) for i in range(9)), node("sick", 6, {PRODUCT: A100})]

    assert types(nodes) == {A100: 8}


def test_many_nodes_with_an_odd_number_of_gpus_are() -> None:
    nodes = [*(discovered(f"a-{i}", A100) for i in range(4)), *(discovered(f"b-{i}", A100, 6) for i in range(4))]

    assert types(nodes) == {f"{A100}-x6": 6, f"{A100}-x8": 8}


def test_type_labels_in_use_name_the_types() -> None:
    nodes = [discovered(f"gpu-{i}", A100, **{"acme.io/gpu-type": "fast"}) for i in range(2)]
    policy = proposed(nodes)

    assert (policy.labels.prefix, [t.name for t in policy.gpu_types]) == ("acme.io", ["fast"])


def test_an_old_type_label_becomes_an_alias() -> None:
    """Three nodes say one name, one another; which is right nobody knows, so both stay possible."""
    labels = [{"acme.io/gpu-type": name} for name in ("A100", "A100", "A100")]
    nodes = [discovered(f"gpu-{i}", A100, **label) for i, label in enumerate(labels)]

    assert proposed(nodes).type_names["a100"] == "A100"
