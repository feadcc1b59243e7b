"""Which exemptions the pods that run use, and which of those end soon."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from gpupolicy.auditing.report import EXPIRES_SOON, ExemptionUse, Owner
from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity, counted, locate
from gpupolicy.model import Exemption, Policy


class ExemptionUses:
    """Counts the pods and owners that use each exemption of a policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._indexes = {id(each): index for index, each in enumerate(policy.admission.exemptions)}
        self._pods: dict[int, int] = {}
        self._owners: dict[int, set[Owner]] = {}

    def add(self, exemption: Exemption, owner: Owner) -> None:
        """Counts a pod."""
        index = self._indexes[id(exemption)]
        self._pods[index] = self._pods.get(index, 0) + 1
        self._owners.setdefault(index, set()).add(owner)

    def finish(self, now: datetime | None) -> tuple[ExemptionUse, ...]:
        """Returns the uses in the order of the policy."""
        return tuple(self._tell(index, now) for index in sorted(self._pods))

    def _tell(self, index: int, now: datetime | None) -> ExemptionUse:
        exemption = self._policy.admission.exemptions[index]
        days = (exemption.expires - now.date()).days if exemption.expires is not None and now is not None else None
        place = self._policy.cite("spec", "admission", "exemptions", index)
        owners = len(self._owners[index])
        return ExemptionUse(exemption=exemption, place=place, pods=self._pods[index], owners=owners, days_left=days)

    def find_ends(self, now: datetime | None, within_days: int) -> Iterator[LocatedFinding]:
        """Yields a warning for each exemption in use that ends within so many days, with its place in the policy."""
        for use in self.finish(now):
            if use.days_left is None or use.days_left > within_days:
                continue
            index = self._indexes[id(use.exemption)]
            where: FieldPath = ("spec", "admission", "exemptions", index, "expires")
            by = f", owned by {use.exemption.owner}" if use.exemption.owner else ""
            users = f"{counted(use.pods, 'pod')} of {counted(use.owners, 'owner')}"
            message = f"the exemption ({use.exemption.reason}){by} ends on {use.exemption.expires}; in use by {users}"
            finding = Finding(rule=EXPIRES_SOON, severity=Severity.WARNING, field=where, message=message)
            yield locate(finding, self._policy.origin.file, *(self._policy.find_place(where) or (None, None)))
