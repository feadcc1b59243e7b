"""Every rule of admission: once firing, with its exact message, and once silent."""

from datetime import UTC, date, datetime

import pytest
from builders import (
    GPU,
    GROUP,
    REQUIRED,
    access,
    container,
    exemption,
    gpu_type,
    group,
    owned,
    patched,
    pod,
    policy,
    preference,
    preferred,
    required,
    within,
)

from gpupolicy.admission import ADMISSION_RULES, admit
from gpupolicy.model import Admission

CLASS = "deviceclass.resource.kubernetes.io"
POLICY = policy()
OVERFLOW = policy(group("SMALL", 1, 2, 4), group("LARGE", 8, overflow=("SMALL",)))
VENDORS = policy(types=(gpu_type("V100"), gpu_type("MI300", resource_name="amd.com/gpu")))
CLASSES = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)),))
ONE_GROUP = policy(group("SMALL", 1))
CLOSED = policy(admission=Admission(access=(access("team-b"),)))
EXPIRED = policy(admission=Admission(exemptions=(exemption("team-a", expires=date(2026, 1, 1)),)))
AFTER = {"now": datetime(2026, 6, 1, tzinfo=UTC)}
BOTH_VENDORS = pod() | {"spec": {"containers": [container(1), container(1, resource="amd.com/gpu")]}}


def asking(part, name, amount):
    return pod() | {"spec": {"containers": [{"name": "c", "resources": {part: {name: amount}}}]}}


def limits(**amounts):
    return {"spec": {"containers": [{"name": "c", "resources": {"limits": amounts}}]}}


def with_terms(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


FIRING = {
    "access-denied": (CLOSED, pod(1), {}, "namespace team-a may use no GPU type; the pod needs V100, A100"),
    "daemon-pod-not-routed": (
        POLICY,
        owned(pod(1), "DaemonSet"),
        {},
        "a DaemonSet's pod takes 1 GPU on its node, whatever slot group the node is in",
    ),
    "device-claim-not-counted": (
        POLICY,
        pod(None, resourceClaims=[{"name": "h100"}]),
        {},
        "the devices of resource claim h100 are counted in another object; they are not judged",
    ),
    "device-class-not-known": (
        POLICY,
        asking("limits", f"{CLASS}/nic", 1),
        {},
        "devices of class nic are not counted: no GPU type names the class",
    ),
    "exemption-expired": (EXPIRED, pod(1), AFTER, "the exemption (part of the cluster) ended on 2026-01-01"),
    "gpu-amount-empty": (
        POLICY,
        asking("limits", GPU, None),
        {},
        "the amount is empty, which Kubernetes reads as 0",
    ),
    "gpu-amount-fractional": (
        POLICY,
        pod(0.5),
        {},
        "0.5 GPUs are no whole number; Kubernetes takes whole GPUs only",
    ),
    "gpu-amount-negative": (POLICY, pod(-1), {}, "-1 GPUs are less than none"),
    "gpu-amount-unreadable": (POLICY, pod("2K"), {}, '"2K" is not a quantity'),
    "gpu-at-pod-level": (
        POLICY,
        pod(None, resources={"limits": {GPU: "4"}}),
        {},
        "nvidia.com/gpu stands in the pod's own resources, where Kubernetes takes cpu, memory and hugepages only",
    ),
    "gpu-limit-missing": (
        POLICY,
        asking("requests", GPU, 2),
        {},
        "nvidia.com/gpu is requested without a limit; Kubernetes wants a limit that equals the request",
    ),
    "gpu-name-not-valid": (
        POLICY,
        asking("limits", "gpu", 4),
        {},
        "gpu is no name of a resource (it has no domain, as in nvidia.com/gpu), so the API server refuses it",
    ),
    "gpu-request-not-limit": (
        POLICY,
        pod() | {"spec": {"containers": [{"resources": {"requests": {GPU: 1}, "limits": {GPU: 2}}}]}},
        {},
        "1 of nvidia.com/gpu are requested, the limit is 2; Kubernetes wants them equal",
    ),
    "gpu-resource-not-counted": (
        POLICY,
        asking("limits", "amd.com/gpu", 1),
        {},
        "amd.com/gpu is a GPU resource that the policy does not count",
    ),
    "gpu-resources-several": (
        VENDORS,
        BOTH_VENDORS,
        {},
        "the pod asks for amd.com/gpu and nvidia.com/gpu, which no GPU type has together",
    ),
    "gpu-shares-several": (
        POLICY,
        asking("limits", "nvidia.com/gpu.shared", 2),
        {},
        "2 shares of nvidia.com/gpu.shared give no more than one; a container may be refused them",
    ),
    "init-container-dominates": (
        POLICY,
        pod(2, init=(container(8),)),
        {},
        "with its init containers the pod needs 8 GPUs, without them 2: the scheduler holds 8 for the pod's whole life",
    ),
    "label-key-misspelt": (
        POLICY,
        pod(1, nodeSelector={"my.gpu.cluster/gpu_type": "A100"}),
        {},
        "my.gpu.cluster/gpu_type is no label of the policy; no node may have it",
    ),
    "mig-profiles-several": (
        POLICY,
        pod() | limits(**{"nvidia.com/mig-1g.10gb": 1, "nvidia.com/mig-1g.20gb": 1}),
        {},
        "one container asks for 2 MIG profiles (nvidia.com/mig-1g.10gb, nvidia.com/mig-1g.20gb); "
        "it can use one device of one profile",
    ),
    "node-name-set": (
        POLICY,
        pod(4, nodeName="gpu-03"),
        {},
        "spec.nodeName gpu-03 goes round the scheduler, which alone looks at slot groups and free GPUs",
    ),
    "overflow-order-diluted": (
        OVERFLOW,
        pod(8, affinity=preferred(preference(50, within("zone", "a")))),
        {},
        "the pod's own preferred node affinity competes with the order of its slot groups",
    ),
    "placement-contradiction": (
        POLICY,
        pod(2, nodeSelector={GROUP: "SLOT-8"}),
        {},
        "the pod wants my.gpu.cluster/node-group In [SLOT-8], "
        "but requests for 2 GPUs are served by SLOT-2 of V100, A100",
    ),
    "pod-not-readable": (POLICY, pod() | {"spec": {}}, {}, "spec.containers is missing, a list is expected"),
    "pod-not-routed": (
        POLICY,
        pod(2, schedulerName="gpu-binpack"),
        {"final": True},
        "the pod is not routed: not every way of placing it requires my.gpu.cluster/node-group In [SLOT-2]; "
        "the mutating webhook did not see it, or another one changed it afterwards",
    ),
    "request-size-not-admitted": (POLICY, pod(3), {}, "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8"),
    "resource-name-misspelt": (
        POLICY,
        asking("limits", "nvidia.com/gpus", 4),
        {},
        "nvidia.com/gpus is no counted resource; no node may offer it",
    ),
    "scheduler-not-known": (
        POLICY,
        pod(1, schedulerName="gpu-binpak"),
        {},
        "schedulerName gpu-binpak is none of the policy's; if nobody serves it, the pod waits without an event",
    ),
    "size-without-group": (ONE_GROUP, pod(4), {}, "no slot group serves requests for 4 GPUs on V100, A100"),
    "term-never-matches": (
        POLICY,
        pod(4, affinity=with_terms({}, {"matchExpressions": [within("zone", "a")]})),
        {},
        "an empty node selector term matches no node",
    ),
    "tolerates-everything": (
        POLICY,
        pod(1, tolerations=[{"operator": "Exists"}]),
        {},
        "the toleration covers every taint, also those that keep pods off broken nodes",
    ),
}

SILENT = {
    "access-denied": (CLOSED, pod(1), {"namespace": "team-b"}),
    "daemon-pod-not-routed": (POLICY, owned(pod(1), "ReplicaSet"), {}),
    "device-claim-not-counted": (POLICY, pod(1, resourceClaims=[]), {}),
    "device-class-not-known": (CLASSES, asking("requests", f"{CLASS}/gpu.example.com", 1), {}),
    "exemption-expired": (EXPIRED, pod(1), {"now": datetime(2026, 1, 1, tzinfo=UTC)}),
    "gpu-amount-empty": (POLICY, pod(0), {}),
    "gpu-amount-fractional": (POLICY, pod("4000m"), {}),
    "gpu-amount-negative": (POLICY, pod("-0"), {}),
    "gpu-amount-unreadable": (POLICY, pod("+8"), {}),
    "gpu-at-pod-level": (POLICY, pod(4, resources={"limits": {"cpu": "4"}}), {}),
    "gpu-limit-missing": (POLICY, pod(2), {}),
    "gpu-name-not-valid": (POLICY, asking("limits", "nvidia/gpu", 4), {}),
    "gpu-request-not-limit": (
        POLICY,
        pod() | {"spec": {"containers": [{"resources": {"requests": {GPU: "2000m"}, "limits": {GPU: "2"}}}]}},
        {},
    ),
    "gpu-resource-not-counted": (POLICY, asking("limits", "rdma/hca", 1), {}),
    "gpu-resources-several": (VENDORS, asking("limits", "amd.com/gpu", 1), {}),
    "gpu-shares-several": (POLICY, asking("limits", "nvidia.com/gpu.shared", 1), {}),
    "init-container-dominates": (POLICY, pod(8, init=(container(8),)), {}),
    "label-key-misspelt": (POLICY, pod(1, nodeSelector={"my.gpu.cluster/rack": "7"}), {}),
    "mig-profiles-several": (POLICY, asking("limits", "nvidia.com/mig-1g.10gb", 2), {}),
    "node-name-set": (POLICY, pod(4, nodeSelector={"kubernetes.io/hostname": "gpu-03"}), {}),
    "overflow-order-diluted": (OVERFLOW, pod(4, affinity=preferred(preference(50, within("zone", "a")))), {}),
    "placement-contradiction": (POLICY, pod(2, nodeSelector={GROUP: "SLOT-2"}), {}),
    "pod-not-readable": (POLICY, pod(None), {}),
    "pod-not-routed": (POLICY, patched(pod(2), admit(POLICY, pod(2)).patch), {"final": True}),
    "request-size-not-admitted": (POLICY, pod(1, 1), {}),
    "resource-name-misspelt": (POLICY, asking("limits", "nvidia.com/gpu", 4), {}),
    "scheduler-not-known": (POLICY, pod(1, schedulerName="volcano"), {}),
    "size-without-group": (ONE_GROUP, pod(1), {}),
    "term-never-matches": (POLICY, pod(4, affinity=required([within("zone", "a")])), {}),
    "tolerates-everything": (POLICY, pod(1, tolerations=[{"operator": "Exists", "key": "gpu"}]), {}),
}


def found_rules(decision):
    return {finding.rule for finding in (*decision.violations, *decision.warnings, *decision.audited)}


@pytest.mark.parametrize("rule", FIRING)
def test_the_rule_fires_and_says_what_is_there(rule):
    found, document, fields, message = FIRING[rule]
    decision = admit(found, document, **fields)
    messages = [f.message for f in (*decision.violations, *decision.warnings) if f.rule == rule]

    assert messages == [message]


@pytest.mark.parametrize("rule", SILENT)
def test_the_rule_is_silent(rule):
    found, document, fields = SILENT[rule]

    assert rule not in found_rules(admit(found, document, **fields))


def test_every_rule_has_its_two_examples():
    assert set(FIRING) == set(SILENT) == set(ADMISSION_RULES)
