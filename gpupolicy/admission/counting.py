"""How many GPUs a pod needs: Kubernetes' effective request over the counted names, and remarks on odd amounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from gpupolicy.admission.claims import NO_CLAIMS, Claims, count_claims
from gpupolicy.admission.remark import Remark
from gpupolicy.admission.resource_names import MOST_NAMES, Ask, find_odd_names, find_pod_level, is_uncounted_gpu
from gpupolicy.errors import FieldPath, PodShapeError, shown
from gpupolicy.model import DEVICE_CLASS_PREFIX, Policy
from gpupolicy.pod import Container, PodView
from gpupolicy.quantity import QuantityError, parse_quantity

Amounts = dict[str, int]

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})


@dataclass(slots=True)
class Count:
    """The effective request.

    ``gpus`` and ``running`` are GPUs by resource name, only what is above 0: what the scheduler holds, and what is used
    once the init containers are done. ``first`` is the first field that asks for a GPU.
    """

    gpus: Mapping[str, int] = field(default_factory=dict)
    running: Mapping[str, int] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    first: FieldPath = ("spec", "containers")


def count_gpus(policy: Policy, view: PodView, claims: Claims = NO_CLAIMS, namespace: str = "default") -> Count:
    """Counts what the scheduler will hold for the pod.

    Containers and restartable init containers add up; an ordinary init container needs its own amount and that of the
    restartable ones before it; the larger phase counts, and the overhead comes on top. So do the devices of resource
    claims.

    Args:
        policy: the policy.
        view: the pod.
        claims: the claims and templates that are known.
        namespace: where the pod is, and so its claims.

    Source: kubernetes/component-helpers resource/helpers.go; measured on 1.37.2.
    """
    reader = _Reader(policy)
    inits = [(container.restartable, reader.read(container)) for container in view.init_containers]
    mains = [reader.read(container) for container in view.containers]
    overhead = reader.read_overhead(view)
    sidecars = (amounts for restartable, amounts in inits if restartable)
    running = _sum((*mains, *sidecars, overhead))
    gpus = _larger(running, _sum((_peak(inits), overhead))) if inits else running
    remarks = reader.remarks
    if reader.asks:
        remarks += find_odd_names(policy, reader.asks)
    if view.spec.get("resources") is not None:
        remarks += find_pod_level(policy, view)
    first = reader.first
    if view.spec.get("resourceClaims") is not None:
        claimed = count_claims(policy, view, claims, namespace)
        remarks += claimed.remarks
        gpus, running = _sum((gpus, claimed.gpus)), _sum((running, claimed.gpus))
        first = first or claimed.first
    return Count(gpus, running, remarks, first or ("spec", "containers"))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in parts:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _peak(inits: Iterable[tuple[bool, Amounts]]) -> Amounts:
    """Returns the most that is in use, by name, while init containers run: one after the other, sidecars stay."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for restartable, amounts in inits:
        for name, amount in amounts.items():
            used = sidecars.get(name, 0) + amount
            peak[name] = max(peak.get(name, 0), used)
            if restartable:
                sidecars[name] = used
    return peak


class _Reader:
    """Reads the counted amounts of containers, and notes what is odd on the way."""

    __slots__ = ("asks", "counted", "first", "policy", "remarks")

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.counted = policy.types_by_resource
        self.remarks: list[Remark] = []
        self.asks: list[Ask] = []
        self.first: FieldPath | None = None

    def read(self, container: Container) -> Amounts:
        """Returns the counted amounts of one container that are above 0."""
        amounts: Amounts = {}
        for name, part, value in container.amounts():
            if name in _STANDARD:
                continue
            if name in self.counted:
                if amount := self._read_amount(container, name, part, value):
                    amounts[name] = amount
                    self.first = self.first or container.place(part, name)
            elif not isinstance(name, str):
                raise PodShapeError((*container.field, "resources", part), "has a key that is no string")
            elif not name.startswith("hugepages-"):
                self.asks.append(Ask(container, part, name, value))
                if len(self.asks) <= MOST_NAMES and is_uncounted_gpu(self.policy, name):
                    self._read_amount(container, name, part, value)
        return amounts

    def read_overhead(self, view: PodView) -> Amounts:
        """Returns the counted amounts that a RuntimeClass adds to the pod."""
        amounts: Amounts = {}
        for name, value in view.overhead.items():
            if name in self.counted and (amount := self._find(value, ("spec", "overhead", name))):
                amounts[name] = amount
                self.first = self.first or ("spec", "overhead", name)
        return amounts

    def _read_amount(self, container: Container, name: str, part: str, value: object) -> int:
        place = container.place(part, name)
        amount = self._find(value, place)
        if amount is None or part == "limits":
            return amount or 0
        if name in container.limits:
            self._compare(container, name, amount)
        elif not name.startswith(DEVICE_CLASS_PREFIX):
            message = f"{name} is requested without a limit; Kubernetes wants a limit that equals the request"
            self.remarks.append(Remark("gpu-limit-missing", place, message, f"limits: {{{name}: {amount}}}"))
        return amount

    def _compare(self, container: Container, name: str, amount: int) -> None:
        """Remarks a limit that does not go with its request: that of an implicit device class may be the larger one."""
        limit = self._find(container.limits[name], container.place("limits", name))
        may_differ = name.startswith(DEVICE_CLASS_PREFIX)
        if limit is None or limit == amount or (may_differ and limit > amount):
            return
        wanted = "a limit that is no less" if may_differ else "them equal"
        message = f"{amount} of {name} are requested, the limit is {limit}; Kubernetes wants {wanted}"
        self.remarks.append(Remark("gpu-request-not-limit", container.place("requests", name), message))

    def _find(self, value: object, place: FieldPath) -> int | None:
        """Returns a whole amount of at least 0; None where it is none, which is noted."""
        if value is None:
            message = "the amount is empty, which Kubernetes reads as 0"
            self.remarks.append(Remark("gpu-amount-empty", place, message, "a whole number, or leave the key out"))
            return 0
        try:
            amount = parse_quantity(value)
        except QuantityError as error:
            self.remarks.append(Remark("gpu-amount-unreadable", place, str(error), 'a whole number such as "4"'))
            return None
        if isinstance(amount, Fraction):
            message = f"{shown(str(value))} GPUs are no whole number; Kubernetes takes whole GPUs only"
            self.remarks.append(Remark("gpu-amount-fractional", place, message, "MIG or time-slicing share one GPU"))
            return None
        if amount < 0:
            self.remarks.append(Remark("gpu-amount-negative", place, f"{shown(str(value))} GPUs are less than none"))
            return None
        return amount
