"""Reads a saved plan: what ``nodes plan -o`` wrote, back into values. Pure: takes what JSON holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.assignment import labels_for
from gpupolicy.errors import InputError, shown
from gpupolicy.model import Policy, Taint
from gpupolicy.node import JSONMap
from gpupolicy.rollout.plan import NodeChange, NodePlan, Resident, Seen
from gpupolicy.rollout.planning import digest

KIND = "NodePlan"
_NOT_OURS = "this is no plan that gpupolicy nodes plan -o has written"


def read_plan(document: object, policy: Policy) -> NodePlan:
    """Returns a saved plan.

    Args:
        document: what the file holds.
        policy: the policy, which has to be the one that the plan was made by.

    Raises:
        InputError: it is no plan, or one of another policy.
    """
    if (
        not isinstance(document, Mapping)
        or document.get("kind") != KIND
        or not isinstance(document.get("plan"), Mapping)
    ):
        raise InputError(_NOT_OURS)
    reader = _Part(document, "")
    made = reader.part("plan")
    if made.text("policy") != policy.name or made.text("digest") != digest(policy):
        raise InputError(
            f"the plan was made by another policy, or by this one before it was changed (plan: {made.text('policy')} "
            f"{made.text('digest')}, now: {policy.name} {digest(policy)}): run gpupolicy nodes plan again"
        )
    return NodePlan(
        policy=policy.name,
        digest=made.text("digest"),
        manager=made.text("fieldManager"),
        changes=tuple(_read_change(change, policy) for change in reader.parts("changes")),
        unfinished=tuple(reader.texts("unfinished")),
        nodes=made.number("nodes"),
    )


def _read_change(change: _Part, policy: Policy) -> NodeChange:
    gpu_type, groups = change.text("gpuType"), change.part("slotGroup")
    after = groups.find_text("to")
    if gpu_type not in policy.types_by_name or (after is not None and after not in policy.groups_by_name):
        raise InputError(f"{change.field}: there is no GPU type {shown(gpu_type)} or no slot group {shown(str(after))}")
    return NodeChange(
        node=change.text("node"),
        gpu_type=gpu_type,
        before=groups.find_text("from"),
        after=after,
        wanted=labels_for(policy, gpu_type, after),
        reason=change.text("reason"),
        set=change.part("set").strings(),
        remove=tuple(change.texts("remove")),
        set_taints=tuple(_read_taint(taint) for taint in change.parts("setTaints")),
        remove_taints=tuple(_read_taint(taint) for taint in change.parts("removeTaints")),
        residents=tuple(_read_resident(pod) for pod in change.parts("pods")),
        seen=_read_seen(change.part("seen")),
    )


def _read_taint(taint: _Part) -> Taint:
    return Taint(key=taint.text("key"), value=taint.find_text("value") or "", effect=taint.text("effect"))


def _read_resident(pod: _Part) -> Resident:
    return Resident(namespace=pod.text("namespace"), name=pod.text("name"), gpus=pod.number("gpus"))


def _read_seen(seen: _Part) -> Seen:
    return Seen(
        resource_version=seen.text("resourceVersion"),
        uid=seen.text("uid"),
        labels=seen.part("labels").strings(),
        taints=tuple(seen.texts("taints")),
        is_unschedulable=seen.raw("unschedulable") is True,
        allocatable=None if seen.raw("allocatable") is None else seen.number("allocatable"),
    )


class _Part:
    """A mapping of the file; what is missing or of another kind is an InputError with its field."""

    def __init__(self, value: JSONMap, field: str) -> None:
        self._value, self.field = value, field

    def raw(self, name: str) -> object:
        return self._value.get(name)

    def text(self, name: str) -> str:
        value = self.find_text(name)
        if value is None:
            raise self._wrong(name, "a string")
        return value

    def find_text(self, name: str) -> str | None:
        value = self._value.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def number(self, name: str) -> int:
        value = self._value.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "a whole number")
        return value

    def part(self, name: str) -> _Part:
        value = self._value.get(name)
        if not isinstance(value, Mapping):
            raise self._wrong(name, "an object")
        return _Part(value, self._path(name))

    def parts(self, name: str) -> Iterator[_Part]:
        for index, value in enumerate(self._list(name)):
            if not isinstance(value, Mapping):
                raise self._wrong(f"{name}[{index}]", "an object")
            yield _Part(value, self._path(f"{name}[{index}]"))

    def texts(self, name: str) -> Iterator[str]:
        for index, value in enumerate(self._list(name)):
            if not isinstance(value, str):
                raise self._wrong(f"{name}[{index}]", "a string")
            yield value

    def strings(self) -> Mapping[str, str]:
        return {str(name): self.text(str(name)) for name in self._value}

    def _list(self, name: str) -> list[object]:
        value = self._value.get(name, [])  # lists that are empty may be left out
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def _path(self, name: str) -> str:
        return f"{self.field}.{name}" if self.field else name

    def _wrong(self, name: str, expected: str) -> InputError:
        return InputError(f"{self._path(name)}: {expected} is expected; {_NOT_OURS}")
