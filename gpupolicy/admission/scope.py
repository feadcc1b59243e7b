"""Whose pods are judged: exemptions, mirror pods and the controllers that Kubernetes itself runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpupolicy.admission.claims import Claims
from gpupolicy.labels import matches_glob
from gpupolicy.model import Exemption, Policy
from gpupolicy.pod import PodView

_CONTROLLER_MANAGER = "system:kube-controller-manager"
_CONTROLLERS = "system:serviceaccount:kube-system:"
KUBELETS = "system:node:"
_BUILT_IN_OWNERS = frozenset(
    {"DaemonSet", "ReplicaSet", "StatefulSet", "Job", "CronJob", "Deployment", "ReplicationController"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What surrounds a pod: where it is made, by whom (None offline), and when (None: expiry is not judged).

    ``claims`` are the resource claims that are known.
    """

    namespace: str
    namespace_labels: Mapping[str, str]
    username: str | None = None
    owner_kind: str | None = None
    now: datetime | None = None
    claims: Claims = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExemptionMatch:
    """The first exemption that holds (with its index in the policy), and those that no longer do."""

    index: int = 0
    exemption: Exemption | None = None
    expired: tuple[int, ...] = ()


def find_exemption(policy: Policy, view: PodView, request: Request) -> ExemptionMatch:
    """Returns the exemption that a pod may use."""
    expired: list[int] = []
    for index, exemption in enumerate(policy.admission.exemptions):
        if not _matches(exemption, view, request):
            continue
        if _is_expired(exemption, request.now):
            expired.append(index)
            continue
        return ExemptionMatch(index, exemption, tuple(expired))
    return ExemptionMatch(expired=tuple(expired))


def _matches(exemption: Exemption, view: PodView, request: Request) -> bool:
    if not exemption.namespaces.matches(request.namespace, request.namespace_labels):
        return False
    if exemption.owner_kinds and find_owner_kind(view, request) not in exemption.owner_kinds:
        return False
    if exemption.service_accounts:
        account = f"{request.namespace}/{view.service_account}"
        if not matches_glob(account, exemption.service_accounts):
            return False
    return exemption.pod_selector is None or exemption.pod_selector.matches(view.labels)


def _is_expired(exemption: Exemption, now: datetime | None) -> bool:
    return exemption.expires is not None and now is not None and now.date() > exemption.expires


def find_owner_kind(view: PodView, request: Request) -> str:
    """Returns the kind that really controls the pod.

    An ownerReference is the author's word: one that names a built-in kind counts only when the request comes from the
    control plane's controllers, one that names a Node only when it comes from a kubelet. Offline, where nobody asks,
    it is believed.
    """
    if request.owner_kind is not None:
        return request.owner_kind
    kind = view.controller_kind
    username = request.username
    if username is None or not kind:
        return kind
    if kind in _BUILT_IN_OWNERS:
        return kind if username == _CONTROLLER_MANAGER or username.startswith(_CONTROLLERS) else ""
    if kind == "Node":
        return kind if username.startswith(KUBELETS) else ""
    return kind


def is_being_deleted(document: object) -> bool:
    """Returns whether an object only waits for its finalizers, so that it has to pass whatever it looks like."""
    metadata = document.get("metadata") if isinstance(document, (dict, Mapping)) else None  # dict first: it is faster
    return isinstance(metadata, (dict, Mapping)) and metadata.get("deletionTimestamp") is not None


def is_mirror(view: PodView, request: Request) -> bool:
    """Returns whether a kubelet mirrors a static pod: it runs whatever the API says."""
    return view.is_mirror and (request.username is None or request.username.startswith(KUBELETS))
