"""Who owns a field of a node: what ``metadata.managedFields`` says about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpupolicy.node import JSONMap

FIELD_MANAGER = "gpupolicy"
APPLY = "Apply"

_KUBELET = "kubelet"
_LABELS = ("f:metadata", "f:labels")
_TAINTS = ("f:spec", "f:taints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A field manager's entry: ``operation`` is Apply or Update, ``time`` as the API prints it (empty: not told)."""

    manager: str
    operation: str = "Update"
    subresource: str = ""
    time: str = ""

    @property
    def is_kubelet(self) -> bool:
        """Whether a kubelet wrote: by its name, or through the node's status, which nobody else writes labels by."""
        return self.manager == _KUBELET or self.subresource == "status"

    @property
    def applies(self) -> bool:
        """Whether it is server-side apply, which sets the field again at every run."""
        return self.operation == APPLY

    def told(self) -> str:
        """Returns who and when, for a message."""
        how = ", server-side apply" if self.applies else ""
        through = f", through {self.subresource}" if self.subresource else ""
        when = f" at {self.time}" if self.time else ""
        return f"{self.manager or 'a manager without a name'}{how}{through}{when}"


def has_owners(node: JSONMap) -> bool:
    """Returns whether the node says who owns its fields; a dump does only when asked to (--show-managed-fields)."""
    return next(_entries(node), None) is not None


def label_owners(node: JSONMap, key: str) -> tuple[Owner, ...]:
    """Returns the owners of a label, the latest first."""
    return _owners(node, (*_LABELS, f"f:{key}"))


def taint_owners(node: JSONMap) -> tuple[Owner, ...]:
    """Returns the owners of the node's taints: spec.taints is one field, whose last writer owns it whole."""
    return _owners(node, _TAINTS)


def is_ours(owner: Owner, manager: str) -> bool:
    """Returns whether an entry is what our own apply wrote."""
    return owner.manager == manager and owner.applies


def was_applied(node: JSONMap, manager: str) -> bool:
    """Returns whether our apply has ever been at the node, and still owns something of it."""
    return any(is_ours(owner, manager) for owner, _ in _entries(node))


def find_other(node: JSONMap, key: str, manager: str) -> Owner | None:
    """Returns who has set a label that we do not own: the latest; None where we own it or nobody is known."""
    owners = label_owners(node, key)
    if any(is_ours(owner, manager) for owner in owners):
        return None
    return next(iter(owners), None)


def _owners(node: JSONMap, path: tuple[str, ...]) -> tuple[Owner, ...]:
    found = [owner for owner, fields in _entries(node) if _holds(fields, path)]
    return tuple(sorted(found, key=lambda owner: (owner.time, owner.manager), reverse=True))


def _entries(node: JSONMap) -> Iterator[tuple[Owner, JSONMap]]:
    metadata = node.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        if isinstance(entry, Mapping) and isinstance(fields := entry.get("fieldsV1"), Mapping):
            owner = Owner(
                manager=_text(entry, "manager"),
                operation=_text(entry, "operation") or "Update",
                subresource=_text(entry, "subresource"),
                time=_text(entry, "time"),
            )
            yield owner, fields


def _text(entry: JSONMap, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _holds(fields: JSONMap, path: tuple[str, ...]) -> bool:
    found: object = fields
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return False
        found = found[step]
    return True
