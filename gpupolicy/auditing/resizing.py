"""Finds the amount that makes a pod with an inadmissible number of GPUs admissible; proved by asking admission."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpupolicy.admission import Decision
from gpupolicy.model import Policy
from gpupolicy.pod import Container, JSONMap, PodView
from gpupolicy.quantity import QuantityError, parse_quantity

Admit = Callable[[JSONMap], Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """Another amount for one container. ``parts`` are those that name the resource: limits, requests or both."""

    container: str
    resource: str
    amount: int
    parts: tuple[str, ...]
    gpus: int

    def to_patch(self) -> dict[str, object]:
        """Returns the change as a strategic merge patch of a pod spec."""
        amounts = {part: {self.resource: str(self.amount)} for part in self.parts}
        return {"containers": [{"name": self.container, "resources": amounts}]}


def find_resize(policy: Policy, pod: JSONMap, gpus: Mapping[str, int], admit: Admit) -> Resize | None:
    """Finds the nearest number of GPUs that admission takes, the larger one first: a pod that has less may not run.

    Args:
        policy: the policy.
        pod: a pod that is denied for its number of GPUs.
        gpus: its effective request.
        admit: decides on a pod that is changed.

    Returns:
        The change of the container that asks for most; None where no such change is admitted.
    """
    if len(gpus) != 1:
        return None
    ((resource, size),) = gpus.items()
    container = _find_largest(PodView(pod), resource)
    if container is None:
        return None
    asked, name = container
    for wanted in _nearest(policy, resource, size):
        amount = asked[1] + wanted - size
        if amount < 1:
            continue
        changed = _change(pod, asked[0], resource, amount)
        decision = admit(changed)
        if decision.allowed and sum(decision.gpus.values()) == wanted:
            parts = tuple(
                p
                for p, amounts in (("limits", asked[0].limits), ("requests", asked[0].requests))
                if resource in amounts
            )
            return Resize(container=name, resource=resource, amount=amount, parts=parts, gpus=wanted)
    return None


def _nearest(policy: Policy, resource: str, size: int) -> Iterator[int]:
    sizes = sorted({n for gpu_type in policy.types_by_resource[resource] for n in policy.sizes_of(gpu_type)})
    yield from (n for n in sizes if n > size)
    yield from (n for n in reversed(sizes) if n < size)


def _find_largest(view: PodView, resource: str) -> tuple[tuple[Container, int], str] | None:
    """Returns the container that asks for most of a resource, how much, and its name."""
    asking = []
    for container in view.containers:
        amounts = {name: value for name, _, value in container.amounts()}
        name = _name_of(view, container)
        if resource in amounts and name and (amount := _whole(amounts[resource])):
            asking.append(((container, amount), name))
    return max(asking, key=lambda each: each[0][1], default=None)


def _name_of(view: PodView, container: Container) -> str:
    containers = view.spec["containers"]
    index = container.field[-1]
    found = containers[index].get("name") if isinstance(containers, list) and isinstance(index, int) else None
    return found if isinstance(found, str) else ""


def _whole(value: object) -> int:
    try:
        amount = parse_quantity(value)
    except QuantityError:
        return 0
    return amount if isinstance(amount, int) else 0


def _change(pod: JSONMap, container: Container, resource: str, amount: int) -> JSONMap:
    """Returns the pod with another amount; what does not change is shared."""
    spec = dict(PodView(pod).spec)
    containers: list[Any] = list(spec["containers"])  # type: ignore[call-overload]  # the view has read it as a list
    index = int(container.field[-1])
    resources = dict(containers[index]["resources"])
    for part in ("limits", "requests"):
        if resource in (resources.get(part) or {}):
            resources[part] = {**resources[part], resource: str(amount)}
    containers[index] = {**containers[index], "resources": resources}
    return {**pod, "spec": {**spec, "containers": containers}}
