"""What pods say: which namespaces serve GPUs, and how many GPUs are asked for at once."""

from __future__ import annotations

import pytest
from fleets import pod, two_types

from gpupolicy import load_text
from gpupolicy.discovery import discover

Pod = dict[str, object]


def exempt(*pods: Pod) -> tuple[str, ...]:
    policy = load_text(discover(two_types(), pods).text)
    return policy.admission.exemptions[0].namespaces.names


def plugin(namespace: str, name: str = "nvidia-device-plugin-daemonset-x7k2p") -> Pod:
    return pod(name, 0, namespace=namespace, owner="DaemonSet")


def test_without_pods_the_usual_namespaces_are_exempt() -> None:
    assert exempt() == ("kube-system", "gpu-system", "gpu-operator")


@pytest.mark.parametrize(
    "name",
    [
        "nvidia-dcgm-exporter-9v2zt",
        "gpu-feature-discovery-tz84v",
        "amdgpu-device-plugin-daemonset-6zq8c",
        "intel-gpu-plugin-x2d",
    ],
)
def test_namespaces_of_device_plugins_are_exempt(name: str) -> None:
    assert exempt(plugin("accelerators", name)) == ("kube-system", "gpu-system", "accelerators")


def test_a_namespace_with_gpu_pods_of_others_is_not_exempt_as_a_whole() -> None:
    """An exempt namespace is a hole for everybody who may create pods there."""
    assert exempt(plugin("default"), pod("train", 8, namespace="default")) == ("kube-system", "gpu-system")


def test_a_pod_that_only_calls_itself_a_plugin_exempts_nothing() -> None:
    assert exempt(pod("nvidia-device-plugin", 0, namespace="research")) == ("kube-system", "gpu-system")


def test_the_demand_is_told() -> None:
    pods = (pod("a", 1, on="v100-000"), pod("b", 1, on="v100-000"), pod("c", 8, on="v100-001"), pod("d", 4))

    assert "# What pods hold today, by request: of 1: 2 GPUs; of 8: 8 GPUs." in discover(two_types(), pods).text


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"metadata": {"name": "odd"}, "spec": {"containers": 3}}, id="containers-is-a-number"),
        pytest.param({"spec": "none"}, id="spec-is-text"),
        pytest.param({"metadata": {"name": ["odd"]}, "spec": {"nodeName": 7, "containers": []}}, id="names-are-odd"),
    ],
)
def test_a_pod_of_another_shape_counts_as_none(odd: Pod) -> None:
    assert discover(two_types(), (odd,)).notes == ("1 pod could not be read and count as none",)
