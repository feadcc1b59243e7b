"""A cluster under a policy of ours, set up as its users would: by ``gpupolicy compile`` and kubectl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from commands import run
from e2e import placement
from e2e.controlplane import ControlPlane, Scheduler
from e2e.product import Product, installed
from e2e.schedulers import Config

from gpupolicy import compile
from gpupolicy.model import Policy

# What the head of the compiled file of nodes says.
APPLY_LABELS = ("apply", "--server-side", "--field-manager", "gpupolicy", "-f")


@dataclass(frozen=True, slots=True, kw_only=True)
class Governed:
    """The webhook of a policy, its scheduler, and the slot group of every node that has one."""

    product: Product
    scheduler: Scheduler
    slot_groups: Mapping[str, str]

    def place(
        self, kind: str, replicas: int, *, namespace: str, gpus: int = 1, name: str = "train", **spec: Any
    ) -> dict[str, str]:
        """Make a workload that names no scheduler, as people do; the node of every pod, once all are bound.

        Args:
            kind: one of placement.WORKLOAD_KINDS.
            replicas: pods.
            namespace: where.
            gpus: of each pod.
            name: of the workload.
            spec: keywords of objects.pod_spec.
        """
        return placement.place(
            self.product.plane, self.scheduler, kind, replicas, namespace=namespace, gpus=gpus, name=name, **spec
        )

    def groups_of(self, pods: Mapping[str, str]) -> set[str]:
        """The slot groups of the nodes that pods are on: pod -> node."""
        return {self.slot_groups[node] for node in pods.values()}


@contextmanager
def left_as_found(plane: ControlPlane) -> Iterator[None]:
    """Remove, for a fixture of a whole class, the nodes and other cluster-wide objects that come meanwhile."""
    before = set(plane.cluster_wide_objects())
    try:
        yield
    finally:
        plane.delete_cluster_wide_objects(but=before)


@contextmanager
def governed(plane: ControlPlane, policy_file: Path, folder: Path) -> Iterator[Governed]:
    """Put the nodes that are there under a policy: labelled, the webhook registered, the compiled scheduler running.

    Args:
        plane: with its nodes and a controller manager.
        policy_file: the policy.
        folder: for what is compiled.
    """
    with installed(plane, policy_file) as product, plane.scheduler(scheduler_configuration(product.policy)) as running:
        slot_groups = label_with_kubectl(plane, product.policy, policy_file, folder)
        yield Governed(product=product, scheduler=running, slot_groups=slot_groups)


def label_with_kubectl(plane: ControlPlane, policy: Policy, policy_file: Path, folder: Path) -> dict[str, str]:
    """Label the nodes by hand: dump them, compile, apply. Returns the slot group of every node that has one."""
    (folder / "nodes.yaml").write_text(kubectl(plane, "get", "nodes", "-o", "yaml"))
    compiled = compile_folder(policy_file, folder / "compiled", "--target", "nodes", "--nodes", folder / "nodes.yaml")
    kubectl(plane, *APPLY_LABELS, compiled / "nodes" / "nodes.yaml")
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in plane.api().list("/api/v1/nodes")}
    key = policy.labels.node_group
    return {name: found[key] for name, found in sorted(labels.items()) if key in found}


def compile_folder(policy_file: Path, folder: Path, *options: str | Path) -> Path:
    """What ``gpupolicy compile`` writes; returns the folder."""
    gpupolicy("compile", policy_file, "-o", folder, *options)
    return folder


def gpupolicy(*arguments: str | Path) -> str:
    """The output of a command of ours that has to succeed."""
    outcome = run(*arguments)
    assert outcome.status == 0, outcome.err
    return outcome.out


def kubectl(plane: ControlPlane, *arguments: str | Path) -> str:
    """The output of a command of kubectl that has to succeed."""
    done = plane.kubectl(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scheduler_configuration(policy: Policy) -> Config:
    """The configuration of the scheduler that a policy compiles to; a second scheduler has it in its ConfigMap."""
    documents = compile(policy, ("scheduler",))
    texts = (str(each["data"]["kube-scheduler-config.yaml"]) for each in documents if each["kind"] == "ConfigMap")  # type: ignore[index]
    return next((yaml.safe_load(text) for text in texts), documents[0])


def of_kinds(documents: Iterable[Mapping[str, Any]], *kinds: str) -> list[Mapping[str, Any]]:
    """The documents of some kinds, in their order."""
    return [each for each in documents if each["kind"] in kinds]
