"""What the pods of a cluster hold, node by node: one pass, pods may be streamed. Pods that have ended hold nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpupolicy.admission.claims import NO_CLAIMS, Claims
from gpupolicy.admission.remark import Remark
from gpupolicy.admission.scope import Request, is_being_deleted
from gpupolicy.errors import FieldPath, Finding, PodShapeError, Severity, shown
from gpupolicy.inventory.ends import find_end
from gpupolicy.inventory.held_claims import HeldClaims, shares_claims
from gpupolicy.inventory.homes import ANYWHERE, Home, Homes
from gpupolicy.inventory.objects import Controller, find_controller, has_ended
from gpupolicy.inventory.requests import NOTHING, Requests, read_requests
from gpupolicy.model import Policy
from gpupolicy.node import each_object
from gpupolicy.pod import JSONMap, PodView
from gpupolicy.quantity import QuantityError

MOST_FINDINGS = 20  # of each rule
_LARGEST_REQUEST = 1_000_000  # beyond it the scheduler's own arithmetic breaks, and nothing is held
_REFUSED = frozenset({"gpu-amount-unreadable", "gpu-amount-fractional", "gpu-amount-negative"})
_NO_LABELS: Mapping[str, str] = {}
_NO_NAMESPACES: Mapping[str, Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The controller of a pod."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUPod:
    """A pod that asks for GPUs and has not ended.

    ``node`` is empty while it waits. ``gpus`` is its effective request by resource name, ``size`` their sum.
    ``ends_at`` is the moment at which it says that it ends, ``home`` where the policy lets it stand; ``is_leaving``: it
    is being deleted.
    """

    namespace: str
    name: str
    node: str
    gpus: Mapping[str, int]
    size: int
    requests: Requests = NOTHING
    owner: Owner | None = None
    ends_at: datetime | None = None
    home: Home = ANYWHERE
    is_leaving: bool = False


@dataclass(slots=True, kw_only=True)
class NodeUsage:
    """What the pods of one node hold together. ``gpus``: by resource name."""

    gpus: dict[str, int] = field(default_factory=dict)
    cpu_milli: int = 0
    memory_bytes: int = 0
    pods: int = 0

    def find_gpus(self, resource_name: str) -> int:
        """Returns the units of a resource that are held."""
        return self.gpus.get(resource_name, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What is held. ``nodes``: by node name, only nodes with pods; ``pods``: those that ask for GPUs, sorted.

    ``pods`` holds those on a node, ``pending`` those without one.
    """

    nodes: Mapping[str, NodeUsage] = field(default_factory=dict)
    pods: tuple[GPUPod, ...] = ()
    pending: tuple[GPUPod, ...] = ()
    findings: tuple[Finding, ...] = ()
    pods_read: int = 0

    def gpus_of(self, node: str) -> int:
        """Returns the GPUs, of every counted name, that are held on a node."""
        usage = self.nodes.get(node)
        return sum(usage.gpus.values()) if usage is not None else 0

    @property
    def gpus_by_node(self) -> Mapping[str, int]:
        """GPUs held, of every counted name, by node: what ``assign`` takes as ``used``."""
        return {name: gpus for name in self.nodes if (gpus := self.gpus_of(name))}

    @property
    def requests_by_node(self) -> Mapping[str, Sequence[int]]:
        """Requests (GPUs of one pod) by node: what ``assign`` takes as ``running``."""
        requests: dict[str, list[int]] = {}
        for pod in self.pods:
            requests.setdefault(pod.node, []).append(pod.size)
        return requests


def read_usage(
    policy: Policy,
    pods: Iterable[JSONMap],
    *,
    namespace_labels: Mapping[str, Mapping[str, str]] = _NO_NAMESPACES,
    now: datetime | None = None,
    claims: Claims = NO_CLAIMS,
) -> Usage:
    """Reads what pods hold.

    Args:
        policy: the policy, which says what is counted as a GPU and where pods may stand.
        pods: Pods as the Kubernetes API prints them; read once, none is kept.
        namespace_labels: labels of namespaces by name, for policies that select by them.
        now: the moment by which exemptions expire; None: none expires.
        claims: the resource claims and claim templates that are known, by kind, namespace and name.

    Returns:
        The usage. Succeeded and failed pods hold nothing; a pod that is listed twice counts once; a pod that cannot
        be read is a finding, and so are claims that are not known. A claim that pods share is held once.
    """
    reader = _Reader(policy, namespace_labels, now, claims)
    for pod in each_object(pods, "Pod"):
        reader.add(pod)
    return reader.finish()


class _Reader:
    """Adds up pods."""

    def __init__(
        self,
        policy: Policy,
        namespace_labels: Mapping[str, Mapping[str, str]],
        now: datetime | None,
        claims: Claims,
    ) -> None:
        self._namespace_labels, self._now = namespace_labels, now
        self._homes = Homes(policy)
        self._claims = HeldClaims(policy, claims)
        self._nodes: dict[str, NodeUsage] = {}
        self._pods: list[GPUPod] = []
        self._seen: set[tuple[str, str]] = set()
        self._findings: list[Finding] = []
        self._told: dict[str, int] = {}
        self._names: dict[str, str] = {}  # one string for each name, however many pods repeat it
        self._gpus: dict[tuple[tuple[str, int], ...], Mapping[str, int]] = {}  # one for all pods that ask the same
        self._amounts: dict[Requests, Requests] = {}
        self._requests: dict[str, Request] = {}
        self._owners: dict[Controller, Owner] = {}
        self._count = 0

    def add(self, pod: JSONMap) -> None:
        """Reads one pod."""
        self._count += 1
        if isinstance(pod, Mapping) and has_ended(pod):
            return
        try:
            view = PodView(pod)
            name, namespace, node = _name(view), self._one(view.namespace or "default"), self._one(view.node_name)
            if (namespace, name) in self._seen:
                self._tell("pod-repeated", namespace, name, "is listed twice; the first one counts")
                return
            self._seen.add((namespace, name))
            self._hold(view, namespace, name, node)
        except PodShapeError as error:
            self._tell("pod-not-readable", *_labels_of(pod), f"cannot be read, so it is not counted: {error}")

    def _hold(self, view: PodView, namespace: str, name: str, node: str) -> None:
        gpus = self._read_gpus(view, namespace, name)
        requests = self._read_requests(view, namespace, name) if node else NOTHING
        if node:
            self._add_to_node(node, self._claims.count_on_node(view, namespace, node, gpus), requests)
        if gpus:
            self._pods.append(
                GPUPod(
                    namespace=namespace,
                    name=name,
                    node=node,
                    gpus=gpus,
                    size=sum(gpus.values()),
                    requests=requests,
                    owner=self._find_owner(view),
                    ends_at=None if shares_claims(view, namespace) else find_end(view),
                    home=self._homes.find(view, self._request(namespace), gpus),
                    is_leaving=is_being_deleted(view.pod),
                )
            )

    def _add_to_node(self, node: str, gpus: Mapping[str, int], requests: Requests) -> None:
        usage = self._nodes.get(node)
        if usage is None:
            usage = self._nodes[node] = NodeUsage()
        usage.pods += 1
        usage.cpu_milli += requests.cpu_milli
        usage.memory_bytes += requests.memory_bytes
        for resource, amount in gpus.items():
            usage.gpus[resource] = usage.gpus.get(resource, 0) + amount

    def _read_gpus(self, view: PodView, namespace: str, name: str) -> Mapping[str, int]:
        count = self._claims.count(view, namespace, name)
        if count.remarks:
            self._tell_refused(count.remarks, namespace, name)
        counted = count.gpus
        if not counted:
            return counted
        for resource, amount in counted.items():
            if amount > _LARGEST_REQUEST:
                message = f"asks for {amount} {resource}, which kube-scheduler cannot add up; it is not counted"
                self._tell("gpu-amount-too-large", namespace, name, message)
        key = tuple((resource, amount) for resource, amount in counted.items() if amount <= _LARGEST_REQUEST)
        return self._gpus.setdefault(key, dict(key))

    def _tell_refused(self, remarks: Iterable[Remark], namespace: str, name: str) -> None:
        remark = next((remark for remark in remarks if remark.rule in _REFUSED), None)
        if remark is not None:
            message = f"asks for GPUs in an amount that no API server takes and that counts as 0: {remark.message}"
            self._tell("pod-amount-refused", namespace, name, message)

    def _read_requests(self, view: PodView, namespace: str, name: str) -> Requests:
        try:
            requests = read_requests(view)
            return self._amounts.setdefault(requests, requests)
        except QuantityError as error:
            self._tell("pod-amount-refused", namespace, name, f"has cpu or memory that cannot be read: {error}")
            return NOTHING

    def _find_owner(self, view: PodView) -> Owner | None:
        controller = find_controller(view.metadata)
        if controller is None or not controller.kind:
            return None
        owner = self._owners.get(controller)
        if owner is None:
            owner = self._owners[controller] = Owner(kind=controller.kind, name=controller.name)
        return owner

    def _request(self, namespace: str) -> Request:
        request = self._requests.get(namespace)
        if request is None:
            labels = self._namespace_labels.get(namespace, _NO_LABELS)
            request = Request(namespace=namespace, namespace_labels=labels, now=self._now)
            self._requests[namespace] = request
        return request

    def _one(self, name: str) -> str:
        return self._names.setdefault(name, name)

    def _tell(self, rule: str, namespace: str, name: str, message: str) -> None:
        count = self._told[rule] = self._told.get(rule, 0) + 1
        if count <= MOST_FINDINGS:
            field: FieldPath = ("pods", f"{shown(namespace, 63)}/{shown(name, 63)}")
            text = f"pod {shown(namespace, 63)}/{shown(name, 63)} {message}"
            self._findings.append(Finding(rule=rule, severity=Severity.WARNING, field=field, message=text))

    def finish(self) -> Usage:
        """Returns what was added up."""
        for rule, count in sorted(self._told.items()):
            if more := max(0, count - MOST_FINDINGS):
                message = f"and {more} more pods"
                self._findings.append(Finding(rule=rule, severity=Severity.WARNING, field=("pods",), message=message))
        if (finding := self._claims.finding()) is not None:
            self._findings.append(finding)
        pods = sorted(self._pods, key=lambda pod: (pod.namespace, pod.name))
        return Usage(
            nodes=self._nodes,
            pods=tuple(pod for pod in pods if pod.node),
            pending=tuple(pod for pod in pods if not pod.node),
            findings=tuple(sorted(self._findings, key=lambda f: (f.rule, f.field == ("pods",), f.message))),
            pods_read=self._count,
        )


def _name(view: PodView) -> str:
    name = view.metadata.get("name")
    if isinstance(name, str) and name:
        return name
    raise PodShapeError(("metadata", "name"), "is missing, a string is expected")


def _labels_of(pod: object) -> tuple[str, str]:
    """Returns namespace and name of a pod that cannot be read, as far as it has them."""
    metadata = pod.get("metadata") if isinstance(pod, Mapping) else None
    known = metadata if isinstance(metadata, Mapping) else {}
    return str(known.get("namespace", "default")), str(known.get("name", "without a name"))
