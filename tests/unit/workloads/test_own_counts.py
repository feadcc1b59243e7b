"""GPUs that are counted by a program's arguments or by fields of a kind's own."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GPU, container, pod

from gpupolicy.workloads import find_pod_templates
from gpupolicy.workloads.own_counts import asks_for_devices, is_own_count


def reasons(spec: dict[str, Any]) -> list[str]:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": spec}}}
    return [unseen.reason for unseen in find_pod_templates(obj).unseen]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["serve", "--tensor-parallel-size", "4"], "--tensor-parallel-size 4", id="vllm"),
        pytest.param(["--tensor-parallel-size=2"], "--tensor-parallel-size=2", id="vllm-equals"),
        pytest.param(["serve", "-tp", "8"], "-tp 8", id="vllm-short"),
        pytest.param(["--tp-size", "2"], "--tp-size 2", id="sglang"),
        pytest.param(["vllm serve /m --port 80 --tensor_parallel_size 2"], "--tensor_parallel_size 2", id="in-a-shell"),
        pytest.param(["ray", "start", "--num-gpus=1"], "--num-gpus=1", id="ray"),
    ],
)
def test_arguments_that_count_gpus_are_told_where_the_pod_asks_for_none(words: list[str], told: str) -> None:
    assert reasons({"containers": [container(args=words)]}) == [
        f"spec.template.spec.containers[0].args counts GPUs by {told}, but the pod asks for none"
    ]


def test_the_command_and_init_containers_are_read_as_well() -> None:
    spec = {"initContainers": [container(command=["--num-gpus", "2"])], "containers": [container()]}

    assert reasons(spec) == [
        "spec.template.spec.initContainers[0].command counts GPUs by --num-gpus 2, but the pod asks for none"
    ]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [container(4, args=["-tp", "4"])]}, id="asked-for"),
        pytest.param({"containers": [container(1, resource="amd.com/gpu", args=["-tp", "4"])]}, id="another-vendor"),
        pytest.param({"resourceClaims": [{}], "containers": [container(args=["-tp", "4"])]}, id="a-claim"),
        pytest.param({"containers": [container(args=["-tp", "1"])]}, id="one-rank-may-be-a-cpu"),
        pytest.param({"containers": [container(args=["--num-gpus", "0"])]}, id="none"),
        pytest.param({"containers": [container(args=["--http", "8080", "--max-tp", "4"])]}, id="other-words"),
        pytest.param({"containers": [container(args="--num-gpus 4")]}, id="no-list"),
        pytest.param({"containers": [container(args=[4, None])]}, id="no-texts"),
        pytest.param({"containers": None}, id="no-containers"),
    ],
)
def test_arguments_say_nothing_new(spec: dict[str, Any]) -> None:
    assert reasons(spec) == []


@pytest.mark.parametrize(
    ("document", "asks"),
    [
        pytest.param(pod(1), True, id="a-gpu"),
        pytest.param(pod(), False, id="nothing"),
        pytest.param(
            {"spec": {"containers": [{"resources": {"limits": {"cpu": 1, "hugepages-2Mi": 1}}}]}}, False, id="cpu"
        ),
        pytest.param({"spec": {"initContainers": [container(1)]}}, True, id="init"),
        pytest.param({"spec": "x"}, False, id="no-spec"),
        pytest.param(None, False, id="none"),
    ],
)
def test_a_pod_asks_for_devices(document: object, asks: bool) -> None:
    assert asks_for_devices(document) is asks


@pytest.mark.parametrize(
    "key",
    ["gpu", "gpus", "numGPUs", "gpuCount", "num-gpus", "n_gpus", "gpusPerWorker", "gpusPerPod", "tensorParallelSize"],
)
def test_a_number_that_is_called_gpus_counts_them(key: str) -> None:
    assert is_own_count(key, 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("gpus", 0, id="zero"),
        pytest.param("gpus", "000", id="zeros"),
        pytest.param("gpus", True, id="a-switch"),
        pytest.param("gpus", {"enabled": 1}, id="a-mapping"),
        pytest.param("gpus", "a100", id="a-name"),
        pytest.param("gpuMemory", 40, id="memory"),
        pytest.param("minGpuUtilization", 2, id="something-else"),
        pytest.param(GPU, 64, id="a-resource-name"),
        pytest.param(0, 8, id="an-entry-of-a-list"),
    ],
)
def test_what_counts_no_gpus(key: object, value: object) -> None:
    assert not is_own_count(key, value)


def test_thousands_of_digits_are_a_number_too() -> None:
    assert is_own_count("gpus", "9" * 10_000)
