"""GPU pods on nodes where the policy would not put them now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpupolicy.errors import counted
from gpupolicy.inventory.seats import Seat
from gpupolicy.inventory.usage import GPUPod, Usage
from gpupolicy.model import Policy


class Misplacement(StrEnum):
    """What is wrong with the place of a pod."""

    NOT_SERVED = "not-served"  # no slot group is its home
    NO_TYPE = "no-type"  # its node is of no GPU type of the policy
    NO_GROUP = "no-group"  # its node is in no slot group
    OTHER_GROUP = "other-group"
    OTHER_TYPE = "other-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misplaced:
    """A pod, the type and group of the node it is on, and what is wrong with that."""

    pod: GPUPod
    gpu_type: str | None
    slot_group: str | None
    reason: Misplacement
    message: str


def find_misplaced(policy: Policy, seats: Mapping[str, Seat], usage: Usage) -> tuple[Misplaced, ...]:
    """Finds GPU pods that the policy would not put where they are.

    Args:
        policy: the policy.
        seats: GPU type and slot group by node name: ``read_seats`` for what is, ``assignment.Plan.groups`` for what
            would be. Pods on nodes that are not in it are passed over.
        usage: what runs.

    Returns:
        The misplaced pods by namespace and name. Exempt pods and those of DaemonSets are never misplaced.
    """
    found = (_judge(pod, seats[pod.node]) for pod in usage.pods if pod.node in seats)
    return tuple(misplaced for misplaced in found if misplaced is not None)


def _judge(pod: GPUPod, seat: Seat) -> Misplaced | None:
    gpu_type, group = seat
    home = pod.home
    if home.problem is not None:
        return _misplaced(pod, seat, Misplacement.NOT_SERVED, home.problem)
    if home.groups is not None:
        if gpu_type is None:
            return _misplaced(pod, seat, Misplacement.NO_TYPE, f"{pod.node} is of no GPU type of the policy")
        if group not in home.groups:
            reason = Misplacement.NO_GROUP if group is None else Misplacement.OTHER_GROUP
            stands = f"{pod.node} is in {group or 'no slot group'}"
            served = ", ".join(home.groups)
            return _misplaced(pod, seat, reason, f"{stands}; requests for {counted(pod.size, 'GPU')} go to {served}")
    if home.gpu_types is not None and gpu_type is not None and gpu_type not in home.gpu_types:
        message = f"{pod.node} is of type {gpu_type}; it may use {', '.join(home.gpu_types)}"
        return _misplaced(pod, seat, Misplacement.OTHER_TYPE, message)
    return None


def _misplaced(pod: GPUPod, seat: Seat, reason: Misplacement, message: str) -> Misplaced:
    return Misplaced(pod=pod, gpu_type=seat[0], slot_group=seat[1], reason=reason, message=message)
