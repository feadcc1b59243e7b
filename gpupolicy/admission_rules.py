"""The rules of admission by id: what policies name, and what the docs list."""

from __future__ import annotations

from collections.abc import Mapping

ADMISSION_RULES: Mapping[str, str] = {
    "access-denied": "the namespace may not use the GPU types or slot groups that the pod needs",
    "daemon-pod-not-routed": "a DaemonSet's pod, which takes GPUs on nodes of every slot group",
    "device-claim-not-counted": "a DRA resource claim that is not known here, or cannot be read",
    "device-class-not-known": "devices of a class that no GPU type names",
    "exemption-expired": "an exemption that would fit, but is over",
    "gpu-amount-empty": "a GPU amount without a value, which Kubernetes reads as 0",
    "gpu-amount-fractional": "a part of a GPU, which the API server refuses",
    "gpu-amount-negative": "less than no GPU, which the API server refuses",
    "gpu-amount-unreadable": "a GPU amount that is no quantity",
    "gpu-at-pod-level": "a GPU in the pod's own resources, where Kubernetes does not count it",
    "gpu-limit-missing": "a GPU request without a limit, which the API server refuses",
    "gpu-name-not-valid": "a name like that of a GPU resource, which the API server refuses",
    "gpu-request-not-limit": "a GPU request that does not go with its limit, which the API server refuses",
    "gpu-resource-not-counted": "a GPU resource that the policy does not count",
    "gpu-resources-several": "GPUs of kinds that no single GPU type has",
    "gpu-shares-several": "several shares of one GPU",
    "init-container-dominates": "an init container that holds more GPUs than the pod needs later",
    "label-key-misspelt": "a label in the pod's wishes that is close to one of the policy's",
    "mig-profiles-several": "several MIG profiles in one container",
    "node-name-set": "a pod that goes round the scheduler by spec.nodeName",
    "overflow-order-diluted": "preferred terms of the user's own that compete with the order of overflow",
    "placement-contradiction": "a wish of the pod's own that no node of its slot groups can meet",
    "pod-not-readable": "a pod whose parts are not of the shape that the API has",
    "pod-not-routed": "a pod that reached its final form without the routing of the policy",
    "request-size-not-admitted": "a number of GPUs that the policy does not admit",
    "resource-name-misspelt": "a resource name close to a counted one",
    "scheduler-not-known": "a schedulerName that neither the policy nor Kubernetes knows",
    "size-without-group": "a number of GPUs that no slot group serves for the pod",
    "term-never-matches": "a node selector term that no node of the pod's slot groups can meet",
    "tolerates-everything": "a toleration of every taint",
}

WARNINGS = frozenset(
    {
        "daemon-pod-not-routed",
        "device-claim-not-counted",
        "device-class-not-known",
        "exemption-expired",
        "gpu-amount-empty",
        "gpu-resource-not-counted",
        "gpu-shares-several",
        "init-container-dominates",
        "label-key-misspelt",
        "mig-profiles-several",
        "overflow-order-diluted",
        "resource-name-misspelt",
        "scheduler-not-known",
        "term-never-matches",
        "tolerates-everything",
    }
)
