"""Which foreign objects stand in a document: itself, the items of a list, the files inside a ConfigMap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.linting.foreign.kinds import (
    LIST,
    NODE,
    SCHEDULER_GROUP,
    SCHEDULER_KIND,
    WEBHOOK_GROUP,
    WEBHOOK_KINDS,
)
from gpupolicy.linting.foreign.reading import Object, items, mapping, text
from gpupolicy.model import Policy

Linter = Callable[[Object, Policy | None], Iterator[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An object and its place in the document."""

    path: FieldPath
    value: Object

    @property
    def kind(self) -> str:
        """The kind, "" where there is none."""
        return text(self.value.get("kind"))

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        group, slash, _ = text(self.value.get("apiVersion")).partition("/")
        return group if slash else ""


def is_known(member: Member) -> bool:
    """Returns whether this room judges an object, by its group and kind."""
    return _is_scheduler_configuration(member) or _is_registration(member) or _is_node(member)


def find_linter(member: Member) -> Linter | None:
    """Returns the function that judges an object, None for what this room does not know; loads its rules."""
    if _is_scheduler_configuration(member):
        from gpupolicy.linting.foreign.scheduler import lint_scheduler_configuration

        return lint_scheduler_configuration
    if _is_registration(member):
        from gpupolicy.linting.foreign.webhooks import lint_webhook_configuration

        return lint_webhook_configuration
    if _is_node(member):
        from gpupolicy.linting.foreign.nodes import lint_node

        return lint_node
    return None


def _is_scheduler_configuration(member: Member) -> bool:
    return member.group == SCHEDULER_GROUP or member.kind == SCHEDULER_KIND or _is_scheduler_policy(member)


def _is_registration(member: Member) -> bool:
    return member.kind in WEBHOOK_KINDS or (member.group == WEBHOOK_GROUP and "Webhook" in member.kind)


def _is_node(member: Member) -> bool:
    return member.kind == NODE and member.group in ("", "core")


def _is_scheduler_policy(member: Member) -> bool:
    """Whether this is the policy file of kube-schedulers before 1.23; Policy is a kind of other groups too."""
    return member.kind == "Policy" and member.group == "" and bool({"predicates", "priorities"} & set(member.value))


def is_list(value: object) -> bool:
    """Returns whether a document is a list of objects: List, NodeList, ..."""
    kind = text(mapping(value).get("kind"))
    return kind.endswith(LIST) and isinstance(mapping(value).get("items"), list | None)


def members(value: object) -> Iterator[Member]:
    """Yields the objects of a document: the items of a list, else the document itself.

    An item of a typed list that does not say its kind is of the list's kind, as the API server writes it.
    """
    document = mapping(value)
    if not is_list(document):
        yield Member(path=(), value=document)
        return
    kind = text(document.get("kind")).removesuffix(LIST)
    defaults = {"apiVersion": document.get("apiVersion"), "kind": kind} if kind else {}
    for index, item in items(document.get("items")):
        yield Member(path=("items", index), value={**defaults, **mapping(item)})
