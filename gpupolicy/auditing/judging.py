"""The decision of admission on what runs; pods that are alike are decided once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpupolicy.admission import Decision, decide
from gpupolicy.admission.claims import Claims
from gpupolicy.admission.enforcement import action_for
from gpupolicy.admission.scope import Request
from gpupolicy.auditing.living import as_created, find_likeness
from gpupolicy.auditing.report import MISPLACED, NOT_ROUTED
from gpupolicy.errors import Finding, PodShapeError, Severity, counted
from gpupolicy.inventory.homes import Home, Homes
from gpupolicy.inventory.misplaced import Misplaced, Misplacement, find_misplaced
from gpupolicy.inventory.seats import Seat
from gpupolicy.inventory.usage import GPUPod, Usage
from gpupolicy.model import Action, Policy
from gpupolicy.pod import JSONMap, PodView

_MOST_KNOWN = 4096  # decisions kept; pods of one owner come close together
_SEVERITIES = {Action.DENY: Severity.ERROR, Action.WARN: Severity.WARNING, Action.AUDIT: Severity.INFO}
_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What pods do not say.

    Attributes:
        seats: GPU type and slot group of each node; pods on other nodes are never misplaced.
        namespace_labels: labels of namespaces by name.
        claims: the resource claims that are known.
        now: the moment by which exemptions expire; None: none expires.
        expiring_days: an exemption in use that ends within so many days is a warning.
        kubectl: the words that every command of a remedy begins with.
        as_planned: the policy is not in force yet, and ``seats`` are those that it would give: that pods which run
            already are not routed is no fault.
    """

    seats: Mapping[str, Seat] = field(default_factory=dict)
    namespace_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    claims: Claims = field(default_factory=dict)
    now: datetime | None = None
    expiring_days: int = 30
    kubectl: tuple[str, ...] = ("kubectl",)
    as_planned: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What pods that are alike have in common: the decision, and where the policy lets them stand (None: no matter).

    ``places`` keeps what is wrong with a seat, once it has been asked.
    """

    decision: Decision
    home: Home | None
    places: dict[Seat, Finding | None] = field(default_factory=dict)


class Judge:
    """Decides on pods and templates."""

    def __init__(self, policy: Policy, surroundings: Surroundings) -> None:
        self._policy = policy
        self._around = surroundings
        self._homes = Homes(policy)
        self._known: dict[bytes, Judged] = {}
        self._with_labels = any(each.pod_selector is not None for each in policy.admission.exemptions)

    def judge(self, pod: JSONMap, namespace: str, controller: str) -> Judged:
        """Decides on a pod as it was created, in its final form; ``controller`` is the kind of its controller."""
        likeness = find_likeness(pod, namespace, controller, with_labels=self._with_labels)
        known = self._known.get(likeness) if likeness is not None else None
        if known is None:
            created = as_created(pod)
            decision = self.admit(created, namespace, final=True)
            known = Judged(decision, self._find_home(created, namespace, decision))
            if likeness is not None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[likeness] = known
        return known

    def admit(self, pod: JSONMap, namespace: str, *, owner_kind: str | None = None, final: bool = False) -> Decision:
        """Asks admission."""
        return decide(
            self._policy,
            pod,
            namespace=namespace,
            namespace_labels=self._around.namespace_labels.get(namespace, _NO_LABELS),
            now=self._around.now,
            owner_kind=owner_kind,
            final=final,
            claims=self._around.claims,
        )

    def find_misplaced(self, judged: Judged, namespace: str, name: str, node: str) -> Finding | None:
        """Returns what is wrong with the node of a pod, without the node's name: pods are told together."""
        seat = self._around.seats.get(node)
        if judged.home is None or seat is None:
            return None
        if seat not in judged.places:
            gpus = judged.decision.gpus
            pod = GPUPod(
                namespace=namespace, name=name, node=node, gpus=gpus, size=sum(gpus.values()), home=judged.home
            )
            found = find_misplaced(self._policy, {node: seat}, Usage(pods=(pod,)))
            judged.places[seat] = self._to_finding(found[0], namespace) if found else None
        return judged.places[seat]

    def _to_finding(self, misplaced: Misplaced, namespace: str) -> Finding:
        severity = _SEVERITIES[action_for(self._policy, MISPLACED, self._request(namespace))]
        return Finding(rule=MISPLACED, severity=severity, field=("spec", "nodeName"), message=_tell(misplaced))

    def _find_home(self, pod: JSONMap, namespace: str, decision: Decision) -> Home | None:
        """Returns None for pods that may stand anywhere, or that are to go whatever node they are on."""
        if not decision.gpus or not decision.judged or any(f.rule != NOT_ROUTED for f in decision.violations):
            return None
        try:
            home = self._homes.find(PodView(pod), self._request(namespace), decision.gpus)
        except PodShapeError:
            return None
        return home if home.problem is None else None

    def _request(self, namespace: str) -> Request:
        labels = self._around.namespace_labels.get(namespace, _NO_LABELS)
        return Request(namespace=namespace, namespace_labels=labels, now=self._around.now)


def _tell(misplaced: Misplaced) -> str:
    home, asked = misplaced.pod.home, f"requests for {counted(misplaced.pod.size, 'GPU')}"
    served = f"{asked} go to {', '.join(home.groups or ())}"
    if misplaced.reason is Misplacement.OTHER_GROUP:
        return f"the pod runs in slot group {misplaced.slot_group}; {served}"
    if misplaced.reason is Misplacement.NO_GROUP:
        return f"the pod runs on a node of no slot group; {served}"
    if misplaced.reason is Misplacement.OTHER_TYPE:
        return f"the pod runs on a node of type {misplaced.gpu_type}; it may use {', '.join(home.gpu_types or ())}"
    return f"the pod runs on a node of no GPU type of the policy; {served}"
