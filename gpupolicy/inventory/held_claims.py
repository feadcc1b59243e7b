"""What pods hold through resource claims (DRA): each pod asks for the whole claim, a node holds a shared one once."""

from __future__ import annotations

from collections.abc import Mapping

from gpupolicy.admission.claims import CLAIM, NOT_COUNTED, ClaimKey, Claims, find_named
from gpupolicy.admission.counting import Count, count_gpus
from gpupolicy.errors import Finding, Severity, shown
from gpupolicy.model import Policy
from gpupolicy.pod import PodView


class HeldClaims:
    """Counts pods with their claims, and remembers which claims a node holds already."""

    def __init__(self, policy: Policy, claims: Claims) -> None:
        self._policy, self._claims = policy, claims
        self._held: dict[str, set[ClaimKey]] = {}
        self._unseen: list[tuple[str, str]] = []

    def count(self, view: PodView, namespace: str, name: str) -> Count:
        """Returns the effective request of a pod, and what is odd about it."""
        counted = count_gpus(self._policy, view, self._claims, namespace)
        if self._policy.uses_device_classes and any(remark.rule == NOT_COUNTED for remark in counted.remarks):
            self._unseen.append((namespace, name))
        return counted

    def count_on_node(self, view: PodView, namespace: str, node: str, gpus: Mapping[str, int]) -> Mapping[str, int]:
        """Returns what a pod that asks for ``gpus`` adds to what its node holds."""
        if not has_claims(view):
            return gpus
        named, held = set(find_named(view, namespace)), self._held.setdefault(node, set())
        again = named & held
        held |= {key for key in named if key[0] == CLAIM}
        if not again:
            return gpus
        others = {key: self._claims[key] for key in named - again if key in self._claims}
        added = count_gpus(self._policy, view, others, namespace).gpus
        return {resource: amount for resource, amount in added.items() if resource in gpus}

    def finding(self) -> Finding | None:
        """Returns that pods name claims that are not known, where a GPU type is had through claims at all."""
        if not self._unseen:
            return None
        first, count = "/".join(shown(part, 63) for part in min(self._unseen)), len(self._unseen)
        who = f"{count} pods, {first} first, name" if count > 1 else f"pod {first} names"
        message = f"{who} resource claims that are not known or cannot be read; their devices are not counted"
        return Finding(rule="pod-claim-not-counted", severity=Severity.WARNING, field=("pods",), message=message)


def has_claims(view: PodView) -> bool:
    """Returns whether a pod has resource claims; that is asked of every pod, so it looks no further."""
    return view.spec.get("resourceClaims") is not None


def shares_claims(view: PodView, namespace: str) -> bool:
    """Returns whether a pod names a claim that other pods may hold as well, longer than it does."""
    return has_claims(view) and any(kind == CLAIM for kind, _, _ in find_named(view, namespace))
