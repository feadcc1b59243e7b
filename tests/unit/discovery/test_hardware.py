"""The table of labels: complete, sourced, and in the order that it promises."""

from __future__ import annotations

import pytest
import yaml

from gpupolicy.discovery.hardware import read_hardware
from gpupolicy.labels import find_label_key_problem
from gpupolicy.resources import read_text

TABLE = yaml.safe_load(read_text("discovery", "hardware.yaml"))


def test_every_row_names_its_source() -> None:
    assert [row for rows in TABLE.values() for row in rows if not row.get("source")] == []


def test_no_row_stands_twice() -> None:
    keys = [(part, row.get("key") or row.get("pattern") or row["name"]) for part, rows in TABLE.items() for row in rows]

    assert sorted(set(keys)) == sorted(keys)


def test_every_key_is_one_that_the_api_server_takes() -> None:
    keys = [row.key_for("nvidia.com/gpu") for row in read_hardware().products]

    assert [key for key in keys if find_label_key_problem(key)] == []


@pytest.mark.parametrize(
    ("machine", "product"),
    [
        ("p3.16xlarge", "NVIDIA-V100-16GB"),
        ("p3dn.24xlarge", "NVIDIA-V100-32GB"),
        ("p4d.24xlarge", "NVIDIA-A100-40GB"),
        ("p4de.24xlarge", "NVIDIA-A100-80GB"),
        ("p5.48xlarge", "NVIDIA-H100-80GB"),
        ("p5en.48xlarge", "NVIDIA-H200-141GB"),
        ("p6-b200.48xlarge", "NVIDIA-B200"),
        ("g4dn.metal", "NVIDIA-T4"),
        ("g5g.xlarge", "NVIDIA-T4G"),
        ("g5.48xlarge", "NVIDIA-A10G"),
        ("g6e.xlarge", "NVIDIA-L40S"),
        ("Standard_NC6s_v3", "NVIDIA-V100-16GB"),
        ("Standard_NC64as_T4_v3", "NVIDIA-T4"),
        ("Standard_NC24ads_A100_v4", "NVIDIA-A100-PCIE-80GB"),
        ("Standard_ND96asr_v4", "NVIDIA-A100-40GB"),
        ("Standard_ND96amsr_A100_v4", "NVIDIA-A100-80GB"),
        ("Standard_ND96isr_H100_v5", "NVIDIA-H100-80GB"),
        ("Standard_ND96isr_MI300X_v5", "AMD-MI300X"),
        ("a2-highgpu-8g", "NVIDIA-A100-40GB"),
        ("a2-ultragpu-8g", "NVIDIA-A100-80GB"),
        ("a3-megagpu-8g", "NVIDIA-H100-80GB"),
        ("a3-ultragpu-8g", "NVIDIA-H200-141GB"),
        ("a4x-highgpu-4g", "NVIDIA-GB200"),
        ("g2-standard-48", "NVIDIA-L4"),
        ("m5.large", None),
        ("n1-standard-32", None),
        ("Standard_D4s_v5", None),
    ],
)
def test_a_machine_is_known_by_its_name(machine: str, product: str | None) -> None:
    assert read_hardware().find_instance(machine) == product
