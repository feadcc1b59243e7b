"""Fleets of nodes as clusters really print them: feature discovery, clouds, MIG, and labelled before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Object = dict[str, Any]

PRODUCT = "nvidia.com/gpu.product"
COUNT = "nvidia.com/gpu.count"
A100, V100 = "NVIDIA-A100-SXM4-80GB", "Tesla-V100-SXM2-32GB"
INSTANCE = "node.kubernetes.io/instance-type"


def node(
    name: str,
    gpus: object = 8,
    labels: Mapping[str, str] | None = None,
    *,
    resource: str = "nvidia.com/gpu",
    capacity: object = None,
    version: str = "v1.36.2",
    taints: Iterable[Object] = (),
) -> Object:
    """A node of kubeadm; ``gpus`` None offers none."""
    offered = {} if gpus is None else {resource: str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                **(labels or {}),
            },
        },
        "spec": {"taints": [*taints]} if taints else {},
        "status": {
            "allocatable": {"cpu": "95500m", "memory": "1055Gi", "pods": "110", **offered},
            "capacity": {"cpu": "96", "pods": "110", **(offered if capacity is None else {resource: str(capacity)})},
            "nodeInfo": {"kubeletVersion": version},
        },
    }


def discovered(name: str, product: str, gpus: int = 8, **more: str) -> Object:
    """A node with the labels of GPU feature discovery."""
    labels = {PRODUCT: product, COUNT: str(gpus), "nvidia.com/gpu.present": "true", "nvidia.com/gpu.replicas": "1"}
    return node(name, gpus, {**labels, **more})


def two_types() -> list[Object]:
    """40 nodes: V100, and A100 with 8 and with 4 GPUs."""
    return [
        *(discovered(f"v100-{i:03}", V100) for i in range(20)),
        *(discovered(f"a100-{i:03}", A100) for i in range(12)),
        *(discovered(f"a100-{i:03}", A100, 4) for i in range(12, 20)),
        *(node(f"cpu-{i:03}", None) for i in range(3)),
    ]


def labelled() -> list[Object]:
    """A fleet that somebody labelled by hand, SLOT-2 forgotten, with a new node that nobody labelled yet."""
    groups = ("SLOT-1", "SLOT-4", "SLOT-4", "SLOT-8", "SLOT-8", "SLOT-8")
    return [
        *(discovered(f"gpu-{i}", A100, **in_group(group)) for i, group in enumerate(groups)),
        discovered("gpu-new", A100),
    ]


def in_group(group: str, prefix: str = "acme.io/", gpu_type: str = "A100") -> dict[str, str]:
    """The labels of a slot group."""
    return {f"{prefix}node-group": group, f"{prefix}gpu-type": gpu_type}


def eks() -> list[Object]:
    """Managed nodes of AWS without feature discovery: the instance type is all there is."""
    machines = [("p4d.24xlarge", 8)] * 5 + [("g5.12xlarge", 4)] * 4 + [("g5.2xlarge", 1), ("g5.xlarge", 1)]
    nodes = [
        node(f"ip-10-0-0-{i}.ec2.internal", gpus, {INSTANCE: machine, "eks.amazonaws.com/nodegroup": "gpu"})
        for i, (machine, gpus) in enumerate(machines)
    ]
    return [
        *nodes,
        node("ip-10-0-1-1.ec2.internal", None, {INSTANCE: "m5.large", "eks.amazonaws.com/nodegroup": "cpu"}),
    ]


def karpenter() -> list[Object]:
    """Nodes that Karpenter made."""
    return [
        node(
            f"ip-10-1-0-{i}.ec2.internal",
            8,
            {
                INSTANCE: "p3.16xlarge",
                "karpenter.k8s.aws/instance-gpu-name": "v100",
                "karpenter.k8s.aws/instance-gpu-memory": "16384",
                "karpenter.k8s.aws/instance-gpu-count": "8",
            },
        )
        for i in range(4)
    ]


def gke() -> list[Object]:
    """Node pools of GKE: whole T4s, and T4s that four pods share."""
    pool = {"cloud.google.com/gke-nodepool": "gpu", INSTANCE: "n1-standard-32"}
    accelerator = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "cloud.google.com/gke-accelerator-count": "4"}
    shared = {
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
    }
    return [
        *(node(f"gke-whole-{i}", 4, {**pool, **accelerator}) for i in range(5)),
        *(node(f"gke-shared-{i}", 16, {**pool, **accelerator, **shared}) for i in range(2)),
        node("gke-cpu-0", None, {"cloud.google.com/gke-nodepool": "cpu", INSTANCE: "n1-standard-32"}),
    ]


def aks() -> list[Object]:
    """A node pool of AKS, whose accelerator label names the vendor only."""
    labels = {
        INSTANCE: "Standard_ND96isr_H100_v5",
        "kubernetes.azure.com/accelerator": "nvidia",
        "kubernetes.azure.com/agentpool": "h100",
    }
    return [node(f"aks-h100-{i}", 8, labels) for i in range(4)]


def bare() -> list[Object]:
    """A device plugin and nothing else: no label says what the GPUs are, but somebody labelled the pools."""
    return [
        *(node(f"big-{i}", 8, {"pool": "big"}) for i in range(4)),
        *(node(f"small-{i}", 4, {"pool": "small"}) for i in range(2)),
        node("web-0", None, {"pool": "web"}),
    ]


def mig() -> list[Object]:
    """One product four ways: whole, MIG mixed, MIG single, time-sliced."""
    slice_ = "nvidia.com/mig-3g.20gb"
    config, strategy = "nvidia.com/mig.config", "nvidia.com/mig.strategy"
    return [
        *(discovered(f"full-{i}", A100, **{config: "all-disabled", strategy: "mixed"}) for i in range(4)),
        node(
            "mixed-0",
            16,
            {
                PRODUCT: A100,
                COUNT: "8",
                config: "all-3g.20gb",
                strategy: "mixed",
                f"{slice_}.product": f"{A100}-MIG-3g.20gb",
                f"{slice_}.count": "16",
            },
            resource=slice_,
        ),
        node("single-0", 56, {PRODUCT: f"{A100}-MIG-1g.10gb", COUNT: "56", strategy: "single"}),
        node("shared-0", 80, {PRODUCT: f"{A100}-SHARED", COUNT: "8", "nvidia.com/gpu.replicas": "10"}),
    ]


def others() -> list[Object]:
    """GPUs of other vendors."""
    mi300, flex = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, {"gpu.intel.com/product": "Flex_170"}
    return [
        *(node(f"amd-{i}", 8, mi300, resource="amd.com/gpu") for i in range(4)),
        *(node(f"intel-{i}", 2, flex, resource="gpu.intel.com/i915") for i in range(2)),
    ]


FLEETS: dict[str, Callable[[], list[Object]]] = {
    "aks": aks,
    "bare": bare,
    "eks": eks,
    "gke": gke,
    "karpenter": karpenter,
    "labelled": labelled,
    "mig": mig,
    "others": others,
    "two-types": two_types,
}


def pod(
    name: str,
    gpus: int = 1,
    *,
    on: str = "",
    namespace: str = "research",
    owner: str | None = None,
    resource: str = "nvidia.com/gpu",
    phase: str = "Running",
) -> Object:
    """A pod that runs on a node; ``owner`` is the kind of its controller."""
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": name, "controller": True, "uid": "1"}] if owner else []
    amounts = {resource: str(gpus)} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners},
        "spec": {"nodeName": on, "containers": [{"name": "main", "resources": {"limits": amounts}}]},
        "status": {"phase": phase},
    }
