"""Where the policy lets a running pod stand: its home. Asks the same placement as admission does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpupolicy.admission.placement import find_access, find_target
from gpupolicy.admission.scope import Request, find_exemption, find_owner_kind, is_mirror
from gpupolicy.errors import counted
from gpupolicy.model import GPUType, Policy, Routing
from gpupolicy.pod import PodView


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Slot groups and GPU types that a pod may stand on; None means any.

    ``groups`` holds own groups first, then those of overflow. ``problem`` says why no group is its home.
    """

    groups: tuple[str, ...] | None = None
    gpu_types: tuple[str, ...] | None = None
    problem: str | None = None


ANYWHERE = Home()


class Homes:
    """Finds homes; what pods of one workload have in common is worked out once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._by_labels = any(e.pod_selector is not None for e in policy.admission.exemptions)
        self._known: dict[object, Home] = {}

    def find(self, view: PodView, request: Request, gpus: Mapping[str, int]) -> Home:
        """Returns the home of a pod that asks for GPUs (by resource name)."""
        labels = tuple(sorted(view.labels.items())) if self._by_labels else ()
        kind, account = view.controller_kind, view.service_account
        key = (request.namespace, kind, account, view.is_mirror, labels, tuple(gpus.items()))
        home = self._known.get(key)
        if home is None:
            home = self._known[key] = find_home(self._policy, view, request, gpus)
        return home


def find_home(policy: Policy, view: PodView, request: Request, gpus: Mapping[str, int]) -> Home:
    """Returns where the policy lets a pod stand that asks for GPUs.

    Args:
        policy: the policy.
        view: the pod; its own wishes (nodeSelector, affinity) are not asked, as they only narrow.
        request: its namespace with labels, and the moment by which exemptions expire.
        gpus: its effective request by resource name.
    """
    if is_mirror(view, request) or find_owner_kind(view, request) == "DaemonSet":
        return ANYWHERE  # each goes where its node goes
    if find_exemption(policy, view, request).exemption is not None:
        return ANYWHERE
    offering = find_offering(policy, gpus)
    if not offering:
        return _homeless(f"no GPU type has {' and '.join(sorted(gpus))} together")
    size = sum(gpus.values())
    if not any(size in policy.sizes_of(gpu_type) for gpu_type in offering):
        return _homeless(f"requests for {counted(size, 'GPU')} are not admitted")
    access = find_access(policy, request.namespace, request.namespace_labels)
    if access is None:
        return _homeless(f"namespace {request.namespace} may use no GPU type")
    target = find_target(policy, offering, size, access)
    if target is None:
        return _homeless(f"no slot group that its namespace may use serves requests for {counted(size, 'GPU')}")
    if policy.admission.routing is Routing.REQUIRED:
        usable = tuple(t.name for t in offering if size in policy.sizes_of(t) and access.allows_type(t.name))
        return Home(groups=target.groups, gpu_types=target.gpu_types if target.requires_type else usable)
    return Home(groups=target.fence or None, gpu_types=target.gpu_types if target.requires_type else None)


def find_offering(policy: Policy, gpus: Mapping[str, int]) -> tuple[GPUType, ...]:
    """Returns the GPU types that have every counted resource name a pod asks for."""
    first, *others = gpus
    types = policy.types_by_resource.get(first, ())
    for name in others:
        types = tuple(t for t in types if t in policy.types_by_resource.get(name, ()))
    return types


def _homeless(problem: str) -> Home:
    return Home(groups=(), gpu_types=(), problem=problem)
