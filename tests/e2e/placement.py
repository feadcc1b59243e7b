"""Puts pods in a cluster as people do, bare or by a controller, and tells where the scheduler bound them."""

from __future__ import annotations

import time
from typing import Any

from e2e import objects
from e2e.controlplane import ControlPlane, Scheduler
from e2e.processes import wait_for
from e2e.schedulers import Config

WORKLOAD_KINDS = ("Pod", "Job", "ReplicaSet", "Deployment", "StatefulSet")

# For 0.5 s the scheduler ranks an equal pod by what it knew when the one before came, that one's own node excepted
# (opportunistic batching, 1.37.2): nodes that the end of another test has emptied would look used.
_SINCE_OTHER_PODS = 0.6


def scheduler_name(config: Config) -> str:
    """The name of a configuration's first profile."""
    profiles = config.get("profiles") or [{}]
    return str(profiles[0].get("schedulerName", "default-scheduler"))


def placed_nodes(
    control_plane: ControlPlane,
    config: Config,
    workload_kind: str,
    replicas: int,
    *,
    namespace: str,
    gpus: int = 1,
) -> dict[str, str]:
    """Where a scheduler with this configuration puts the pods of a new workload, on the nodes that are there.

    The scheduler runs for this one question; to ask several of one scheduler start it and use place.

    Args:
        control_plane: with its nodes, and a controller manager unless the kind is Pod.
        config: a KubeSchedulerConfiguration; the pods name its first profile.
        workload_kind: one of WORKLOAD_KINDS.
        replicas: pods.
        namespace: where they are made; they stay there.
        gpus: of each pod.

    Returns:
        The node of every pod.
    """
    with control_plane.scheduler(config) as scheduler:
        return place(
            control_plane,
            scheduler,
            workload_kind,
            replicas,
            namespace=namespace,
            gpus=gpus,
            profile=scheduler_name(config),
        )


def place(
    control_plane: ControlPlane,
    scheduler: Scheduler,
    workload_kind: str,
    replicas: int,
    *,
    namespace: str,
    gpus: int = 1,
    profile: str = "default-scheduler",
    name: str = "train",
    **spec: Any,
) -> dict[str, str]:
    """Make a workload, wait until the scheduler has bound all its pods, and return the node of every pod.

    Args:
        control_plane: with its nodes, and a controller manager unless the kind is Pod.
        scheduler: the running scheduler, looked at so that its end is told and not waited for.
        workload_kind: one of WORKLOAD_KINDS.
        replicas: pods.
        namespace: where they are made.
        gpus: of each pod.
        profile: the schedulerName of the pods.
        name: of the workload, and their label ``app``.
        spec: keywords of objects.pod_spec.
    """
    spec = {"scheduler": profile, **spec}

    def bound(count: int) -> dict[str, str]:
        scheduler.check_running()
        control_plane.act_as_kubelets(namespace)
        found = control_plane.bound_nodes(namespace, f"app={name}")
        return found if len(found) == count else {}

    def seen() -> str:
        return f"pods of {name} on nodes, but {control_plane.bound_nodes(namespace, f'app={name}')}"

    def wait_bound(count: int) -> dict[str, str]:
        return wait_for(lambda: bound(count), message=lambda: f"{count} {seen()}")

    if workload_kind != "Pod":
        control_plane.create(objects.workload(workload_kind, name, replicas, gpus, **spec), namespace)
        return wait_bound(replicas)
    time.sleep(_SINCE_OTHER_PODS)
    for number in range(replicas):
        control_plane.create(objects.pod(f"{name}-{number}", gpus, labels={"app": name}, **spec), namespace)
        wait_bound(number + 1)
    return wait_bound(replicas)


def left_pending(control_plane: ControlPlane, namespace: str, name: str) -> str:
    """Wait until the scheduler has said of a pod that it fits nowhere; its words."""
    return wait_for(
        lambda: control_plane.unschedulable_message(namespace, name),
        message=lambda: f"pod {name} pending, but its spec is {control_plane.pod(namespace, name)['spec']}",
    )
