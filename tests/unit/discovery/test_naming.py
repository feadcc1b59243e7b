"""Names are label values, aliases are what people say, and nobody has another's."""

from __future__ import annotations

import pytest

from gpupolicy.discovery.naming import propose_aliases, to_name
from gpupolicy.labels import find_label_value_problem

LONG = "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition-MIG-1g.24gb"


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("Tesla-V100-SXM2-32GB", "Tesla-V100-SXM2-32GB"),
        ("Tesla V100 (SXM2), 32 GB", "Tesla-V100-SXM2-32-GB"),
        ("_AMD_Instinct_", "AMD_Instinct"),
        ("«»", "GPU"),
        (LONG, "NVIDIA-RTX-PRO-6000-Blackwe-ad520a-station-Edition-MIG-1g.24gb"),
    ],
)
def test_a_name_is_a_label_value(product: str, name: str) -> None:
    assert (to_name(product), find_label_value_problem(to_name(product))) == (name, None)


def test_long_names_that_differ_in_the_middle_stay_apart() -> None:
    assert to_name(f"{'a' * 40}1{'b' * 40}") != to_name(f"{'a' * 40}2{'b' * 40}")


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("Tesla-V100-SXM2-32GB", "v100"),
        ("NVIDIA-A100-SXM4-80GB", "a100"),
        ("NVIDIA-A10G", "a10g"),
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("NVIDIA-GeForce-RTX-3090", "rtx-3090"),
        ("nvidia-tesla-t4", "t4"),
        ("NVIDIA-L40S", "l40s"),
        ("AMD_Instinct_MI300X_OAM", "mi300x"),
        ("Max_1550", "max-1550"),
        ("V100", "v100"),
        ("v100", None),
        ("G2", None),
        ("NVIDIA-GPU", None),
    ],
)
def test_the_alias_is_the_model(name: str, alias: str | None) -> None:
    assert propose_aliases([(name, 8, False)]) == (alias,)


def test_types_of_one_model_are_told_apart_by_memory_then_by_gpus() -> None:
    types = [("A100-40GB", 8, False), ("A100-80GB-x8", 8, False), ("A100-80GB-x4", 4, False), ("T4", 4, False)]

    assert propose_aliases(types) == ("a100-40gb", "a100-80gb-x8", "a100-x4", "t4")


def test_parts_of_a_device_do_not_take_the_name_of_the_whole() -> None:
    assert propose_aliases([("A100", 8, False), ("A100-MIG-1g.10gb", 56, True), ("T4-SHARED", 80, True)]) == (
        "a100",
        "a100-1g.10gb",
        "t4-shared",
    )
