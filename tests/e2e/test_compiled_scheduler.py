"""What a policy compiles to for schedulers, run by the real kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from builders import patched
from e2e.controlplane import ControlPlane, Scheduler, check_scheduler_config
from e2e.objects import pod
from e2e.placement import place
from golden.contents import policy_files

from gpupolicy import admit, load, load_text
from gpupolicy.compiler.manifest import Order
from gpupolicy.compiler.rendering import render_configuration
from gpupolicy.compiler.scheduler import build_configuration, compile_scheduler
from gpupolicy.model import LeaderElection, Policy, SchedulerMode

POLICIES = policy_files()

# Three levels, so the order hangs on the weights of the terms; one GPU type whose nodes are told by their labels.
OVERFLOW = load_text(
    """
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: overflow}
spec:
  gpuTypes: [{name: V100, gpusPerNode: 8}]
  slotGroups:
    - {name: OWN, sizes: [1], nodes: [{gpuType: V100, weight: 1}], overflow: [SECOND, THIRD]}
    - {name: SECOND, sizes: [2], nodes: [{gpuType: V100, weight: 1}]}
    - {name: THIRD, sizes: [4, 8], nodes: [{gpuType: V100, weight: 1}]}
  scheduler:
    profiles:
      - schedulerName: gpu-packing
        scoringStrategy:
          type: MostAllocated
          resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: nvidia.com/gpu, weight: 100}]
  admission:
    exemptions: [{namespaces: [kube-system, gpu-system], reason: parts of the cluster itself}]
"""
)


@pytest.mark.parametrize("name", POLICIES)
def test_kube_scheduler_accepts_the_compiled_file(name: str, binaries: dict[str, Path], tmp_path: Path) -> None:
    """Read as ``--config`` reads it: strictly, with every plugin built."""
    file = tmp_path / "kube-scheduler-config.yaml"
    file.write_text(render_configuration(load(POLICIES[name])))

    status, error, _ = check_scheduler_config(file)

    assert (status, error) == (0, "")


@pytest.fixture
def scheduler(control_plane: ControlPlane) -> Iterator[Scheduler]:
    """The scheduler that the policy with overflow compiles to."""
    with control_plane.scheduler(build_configuration(OVERFLOW)) as running:
        yield running


def routed(gpus: int, namespace: str, **spec: object) -> dict[str, object]:
    """The spec of a pod as the webhook would leave it, without the containers."""
    wanted = pod("train", gpus, **spec)
    decision = admit(OVERFLOW, wanted, namespace=namespace)
    assert decision.allowed
    changed = patched(wanted, decision.patch)["spec"]
    assert isinstance(changed, dict)
    return {"affinity": changed["affinity"]}


def add_group(control_plane: ControlPlane, name: str, group: str) -> None:
    labels = {"my.gpu.cluster/gpu-type": "V100", "my.gpu.cluster/node-group": group}
    control_plane.add_node(name, gpus=8, labels=labels)


def test_pods_of_a_deployment_fill_one_node_of_their_group(
    scheduler: Scheduler, control_plane: ControlPlane, namespace: str
) -> None:
    for number in range(3):
        add_group(control_plane, f"own-{number}", "OWN")

    place(control_plane, scheduler, "Deployment", 8, namespace=namespace, profile="gpu-packing", **routed(1, namespace))

    assert control_plane.pods_per_node(namespace) == [8]


def test_an_empty_node_of_the_own_group_goes_before_the_fullest_of_every_overflow(
    scheduler: Scheduler, control_plane: ControlPlane, namespace: str
) -> None:
    """The worst case for the order: packing and cpu speak for the lower levels with all that they have."""
    for group in ("OWN", "SECOND", "THIRD"):
        add_group(control_plane, group.lower(), group)
    for node in ("second", "third"):
        filler = {"nodeSelector": {"kubernetes.io/hostname": node}, "cpu": 88, "memory": "480Gi"}
        place(
            control_plane,
            scheduler,
            "Pod",
            1,
            namespace=namespace,
            gpus=7,
            name=f"on-{node}",
            profile="gpu-packing",
            **filler,
        )

    nodes = place(
        control_plane, scheduler, "Pod", 1, namespace=namespace, profile="gpu-packing", **routed(1, namespace)
    )

    assert nodes == {"train-0": "own"}


def test_a_full_group_flows_over_to_the_second_level_before_the_third(
    scheduler: Scheduler, control_plane: ControlPlane, namespace: str
) -> None:
    for group in ("OWN", "SECOND", "THIRD"):
        add_group(control_plane, group.lower(), group)
    for node, gpus in (("own", 8), ("third", 7)):
        selector = {"nodeSelector": {"kubernetes.io/hostname": node}}
        place(
            control_plane,
            scheduler,
            "Pod",
            1,
            namespace=namespace,
            gpus=gpus,
            name=f"on-{node}",
            profile="gpu-packing",
            **selector,
        )

    nodes = place(
        control_plane, scheduler, "Pod", 1, namespace=namespace, profile="gpu-packing", **routed(1, namespace)
    )

    assert nodes == {"train-0": "second"}


def with_lease(namespace: str, mode: SchedulerMode) -> Policy:
    """The policy with a lease of its own in a namespace."""
    election = LeaderElection(resource_name="gpu-lease", resource_namespace=namespace)
    return replace(OVERFLOW, scheduler=replace(OVERFLOW.scheduler, mode=mode, leader_election=election))


@pytest.mark.parametrize(
    ("mode", "user"),
    [
        pytest.param(SchedulerMode.PROFILES, "system:kube-scheduler", id="control-plane"),
        pytest.param(SchedulerMode.SECOND, "system:serviceaccount:{}:gpu-lease", id="second"),
    ],
)
def test_the_compiled_rights_are_enough_to_lead_and_to_schedule(
    mode: SchedulerMode, user: str, control_plane: ControlPlane, namespace: str
) -> None:
    """Nothing but what Kubernetes' own roles give the user, and what we compile."""
    policy = with_lease(namespace, mode)
    rights = [m.document for m in compile_scheduler(Order(policy=policy)) if "rbac" in str(m.document["apiVersion"])]
    control_plane.apply(rights)
    add_group(control_plane, "own", "OWN")

    with control_plane.scheduler(build_configuration(policy), user=user.format(namespace)) as running:
        place(control_plane, running, "Pod", 1, namespace=namespace, profile="gpu-packing", **routed(1, namespace))
        holder = control_plane.lease_holder(namespace, "gpu-lease")

    assert holder != ""
