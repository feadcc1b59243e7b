"""Commands that mend what an audit finds: kubectl lines to paste, each for the kind of owner that the pods have."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpupolicy.auditing.report import MISPLACED, NOT_ROUTED, Owner, Remedy
from gpupolicy.auditing.resizing import Resize
from gpupolicy.errors import counted
from gpupolicy.workloads import group_of

SIZE = "request-size-not-admitted"
_RESTARTED = {("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet")}
_PATCHED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): ("spec", "template", "spec"),
    ("apps", "StatefulSet"): ("spec", "template", "spec"),
    ("apps", "DaemonSet"): ("spec", "template", "spec"),
    ("apps", "ReplicaSet"): ("spec", "template", "spec"),
    ("", "ReplicationController"): ("spec", "template", "spec"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
_DELETED_NOTES = {
    ("", "Pod"): "nobody makes it again: apply its manifest again afterwards",
    ("batch", "Job"): "the Job makes others; each one deleted counts as failed (backoffLimit)",
    ("batch", "CronJob"): "the Job makes others; each one deleted counts as failed (backoffLimit)",
}
_BUDGETS = "a deletion asks no PodDisruptionBudget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is wrong with an owner's pods.

    ``is_template_fine``: the owner's template was seen, and does not have the inadmissible number of GPUs (any more).
    ``pods`` are those that have to be made again, as far as they are listed; ``are_all_listed``: no more.
    """

    owner: Owner
    rules: frozenset[str]
    resize: Resize | None = None
    is_template_fine: bool = False
    pods: tuple[str, ...] = ()
    are_all_listed: bool = True


def find_remedies(situation: Situation, kubectl: Sequence[str] = ("kubectl",)) -> tuple[Remedy, ...]:
    """Returns what mends the situation; nothing for faults that only the author of the pods can mend.

    Args:
        situation: what is wrong.
        kubectl: the words that every command begins with.
    """
    kind = (group_of(situation.owner.api_version), situation.owner.kind)
    command = _Command((*kubectl, "--namespace", situation.owner.namespace), situation.owner)
    placing = tuple(rule for rule in (NOT_ROUTED, MISPLACED) if rule in situation.rules)
    if SIZE in situation.rules and not situation.is_template_fine:
        mended = _mend_size(situation, kind, command)
        if mended is None:
            return ()
        rolls = kind in _RESTARTED or kind == ("", "Pod")
        return (Remedy(rules=(SIZE, *(placing if rolls else ())), commands=mended[0], note=mended[1]),)
    rules = (SIZE, *placing) if SIZE in situation.rules else placing
    if not rules or situation.rules - {SIZE, NOT_ROUTED, MISPLACED}:
        return ()  # new pods would be denied
    return (_mend_place(situation, kind, command, rules),)


@dataclass(frozen=True, slots=True)
class _Command:
    """Writes command lines about an owner; ``start`` ends with the namespace."""

    start: tuple[str, ...]
    owner: Owner

    def line(self, *words: str) -> str:
        """Returns a line for a POSIX shell."""
        return shlex.join((*self.start, *words))

    @property
    def target(self) -> str:
        """The owner as kubectl calls it: deployment/serve."""
        return f"{self.owner.kind.lower()}/{self.owner.name}"


def _mend_size(situation: Situation, kind: tuple[str, str], command: _Command) -> tuple[tuple[str, ...], str] | None:
    resize = situation.resize
    asking = f"with {counted(resize.gpus, 'GPU')}" if resize else "with a number of GPUs that is admitted"
    if kind in (("", "Pod"), ("batch", "Job")):
        note = f"it cannot be changed, and ends here: make it again {asking}"
        return (command.line("delete", command.target),), note
    if resize is None or kind not in _PATCHED:
        return None
    patch = json.dumps(_nested(_PATCHED[kind], resize.to_patch()), separators=(",", ":"))
    commands = (command.line("patch", command.target, "--patch", patch),)
    if kind in _RESTARTED:
        return commands, f"its pods are made again {asking}, one after the other"
    if kind == ("batch", "CronJob"):
        return commands, f"its next Jobs make pods {asking}; those that run go on"
    ending = (command.line("delete", "pod", *situation.pods),) if situation.pods else ()
    return (*commands, *ending), f"pods that it makes from now on are made {asking}"


def _mend_place(situation: Situation, kind: tuple[str, str], command: _Command, rules: tuple[str, ...]) -> Remedy:
    is_part = rules == (MISPLACED,) and situation.are_all_listed  # then the others need not go
    if kind in _RESTARTED and not is_part:
        note = "the webhook routes the pods that are made then"
        return Remedy(rules=rules, commands=(command.line("rollout", "restart", command.target),), note=note)
    again = _DELETED_NOTES.get(kind, f"the {situation.owner.kind} makes others, which the webhook routes")
    rest = "" if situation.are_all_listed else "; these are the first of its pods"
    commands = (command.line("delete", "pod", *situation.pods),) if situation.pods else ()
    return Remedy(rules=rules, commands=commands, note=f"{again}{rest}; {_BUDGETS}")


def _nested(path: tuple[str, ...], value: object) -> object:
    for step in reversed(path):
        value = {step: value}
    return value
