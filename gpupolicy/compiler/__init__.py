"""From a policy to manifests: one module a target, listed in ``TARGETS`` in the order in which they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpupolicy.compiler.manifest import Document, Manifest, Order
from gpupolicy.compiler.nodes import compile_nodes
from gpupolicy.compiler.scheduler import compile_scheduler
from gpupolicy.compiler.webhook import compile_webhook
from gpupolicy.errors import UsageError
from gpupolicy.model import Policy
from gpupolicy.suggestions import hint_known

__all__ = ["TARGETS", "TARGET_NAMES", "Manifest", "Order", "Target", "check_targets", "compile", "compile_manifests"]


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that a policy compiles to."""

    name: str
    compile: Callable[[Order], Iterator[Manifest]]


TARGETS: tuple[Target, ...] = (
    Target("scheduler", compile_scheduler),
    Target("nodes", compile_nodes),
    Target("webhook", compile_webhook),
)
TARGET_NAMES: tuple[str, ...] = tuple(target.name for target in TARGETS)


def compile(
    policy: Policy,
    targets: Iterable[str] = TARGET_NAMES,
    *,
    nodes: Iterable[Mapping[str, object]] | None = None,
    ca_bundle: bytes | None = None,
    scheduler_image: str | None = None,
) -> tuple[Document, ...]:
    """Compiles a policy to plain manifests.

    Args:
        policy: the policy.
        targets: names of ``TARGETS``; the order of the result does not depend on theirs.
        nodes: Nodes as the Kubernetes API prints them; with them ``nodes`` yields their labels.
        ca_bundle: PEM text of the CA that signs the webhook's certificate.
        scheduler_image: the image of a second scheduler, by default the policy's Kubernetes version with patch 0.

    Returns:
        The documents in a stable order. In scheduler mode ``profiles`` the KubeSchedulerConfiguration among them is a
        file for kube-scheduler and no API object.

    Raises:
        UsageError: an unknown target, or a policy that lacks what a target needs.
    """
    order = Order(
        policy=policy,
        nodes=None if nodes is None else tuple(nodes),
        ca_bundle=ca_bundle,
        scheduler_image=scheduler_image,
    )
    return tuple(manifest.document for manifest in compile_manifests(order, targets))


def check_targets(names: Iterable[str]) -> frozenset[str]:
    """Returns the targets that are wanted.

    Raises:
        UsageError: one of them is unknown.
    """
    wanted = frozenset(names)
    if unknown := sorted(wanted - set(TARGET_NAMES)):
        raise UsageError(f'there is no target "{unknown[0]}"; {hint_known(unknown[0], TARGET_NAMES)}')
    return wanted


def compile_manifests(order: Order, targets: Iterable[str] = TARGET_NAMES) -> tuple[Manifest, ...]:
    """Compiles a policy to manifests with their files and remarks; an object that two targets need stands once.

    Raises:
        UsageError: as ``compile``, and where two different objects would have one name.
    """
    wanted = check_targets(targets)
    found: dict[tuple[str, str, str, str], Manifest] = {}
    for target in TARGETS:
        if target.name in wanted:
            for manifest in target.compile(order):
                if found.setdefault(manifest.identity, manifest).document != manifest.document:
                    raise UsageError(_describe_clash(manifest))
    return tuple(found.values())


def _describe_clash(manifest: Manifest) -> str:
    _, kind, namespace, name = manifest.identity
    hint = "give the scheduler's lease and the webhook two names"
    return f"two different {kind}s would be called {namespace}/{name}: {hint}"
