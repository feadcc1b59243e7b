"""Labels that a fleet already has for groups and types: which keys, of which prefix, and what their values mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gpupolicy.discovery.fleet import GPUNode
from gpupolicy.discovery.remarks import Notes
from gpupolicy.labels import find_dns_subdomain_problem, find_label_key_problem, find_label_value_problem
from gpupolicy.model import Labels

GROUP_NAME, TYPE_NAME, SUPPORT_NAME = "node-group", "gpu-type", "nvidia-gpu-support"

_SLOT = re.compile(r"(?:.*[-_.])?slots?[-_.]?([0-9]{1,4}(?:[-_.][0-9]{1,4})*)", re.IGNORECASE)
_GPUS = re.compile(r"(?:.*[-_.])?([0-9]{1,4})[-_.]?(?:x[-_.]?)?gpus?(?:[-_.].*)?", re.IGNORECASE)
_RESERVED = ("kubernetes.io", "k8s.io")
_FREE = "node-restriction.kubernetes.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """The keys in use (None: none), and the prefix that the policy takes. ``owns_groups``: the key is the policy's."""

    prefix: str = Labels().prefix
    group_key: str | None = None
    type_key: str | None = None

    @property
    def owns_groups(self) -> bool:
        """Whether the group label in use is the one that the policy will own."""
        return self.group_key == f"{self.prefix}/{GROUP_NAME}"

    @property
    def owns_types(self) -> bool:
        """Whether the type label in use is the one that the policy will own."""
        return self.type_key == f"{self.prefix}/{TYPE_NAME}"


def find_existing(nodes: Iterable[GPUNode], notes: Notes) -> Existing:
    """Returns the group and type labels of GPU nodes.

    A key is a group's by its name, or by values such as SLOT-4. Its prefix becomes the policy's where a policy may have
    it.
    """
    labels = [node.labels for node in nodes]
    group_key = _most_common(labels, lambda key, _: _name_of(key) == GROUP_NAME, "slot groups", notes)
    group_key = group_key or _most_common(labels, lambda _, value: bool(_SLOT.fullmatch(value)), "slot groups", notes)
    type_key = _most_common(labels, lambda key, _: _name_of(key) == TYPE_NAME, "GPU types", notes)
    prefix = Labels().prefix
    for key, name in ((group_key, GROUP_NAME), (type_key, TYPE_NAME)):
        if key is not None and key.endswith(f"/{name}"):
            found = key.removesuffix(f"/{name}")
            if _may_own(found):
                prefix = found
                break
            notes.add(f"{key} is in a domain of Kubernetes itself; the policy keeps its labels under {prefix}")
    return Existing(prefix=prefix, group_key=group_key, type_key=type_key)


def without_groups(existing: Existing, nodes: Iterable[GPUNode]) -> Existing:
    """Returns what is there as if it had no groups; the policy then keeps off the labels that are in use."""
    prefix = existing.prefix
    keys = {key for node in nodes for key in node.labels}
    while f"{prefix}/{GROUP_NAME}" in keys:
        prefix = f"slots.{prefix}"
    return Existing(prefix=prefix, type_key=existing.type_key)


def read_sizes(group: str) -> tuple[int, ...]:
    """Returns the sizes that a group's name says: SLOT-4, slot-1-2, 8-gpu; none where it says nothing."""
    if matched := _SLOT.fullmatch(group):
        sizes = {int(part) for part in re.split(r"[-_.]", matched[1])}
    elif matched := _GPUS.fullmatch(group):
        sizes = {int(matched[1])}
    else:
        return ()
    return tuple(sorted(size for size in sizes if size))


def _most_common(
    labels: Iterable[Mapping[str, str]], fits: Callable[[str, str], bool], what: str, notes: Notes
) -> str | None:
    """Returns the key that fits: one beside our own support label first, then the one that most nodes have."""
    labels = tuple(labels)
    number = Counter(
        key
        for node in labels
        for key, value in node.items()
        if value and fits(key, value) and not find_label_value_problem(value) and not find_label_key_problem(key)
    )
    ours = {key for key in number if any(f"{key.rpartition('/')[0]}/{SUPPORT_NAME}" in node for node in labels)}
    keys = sorted(number, key=lambda key: (key not in ours, -number[key], key))
    if len(keys) > 1 and keys[0] not in ours:
        notes.add(f"several labels look like {what}: {', '.join(keys)}; {keys[0]} is taken, which most nodes have")
    return keys[0] if keys else None


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]


def _may_own(prefix: str) -> bool:
    reserved = any(prefix == domain or prefix.endswith(f".{domain}") for domain in _RESERVED)
    is_free = prefix == _FREE or prefix.endswith(f".{_FREE}")
    return not find_dns_subdomain_problem(prefix) and (is_free or not reserved)
