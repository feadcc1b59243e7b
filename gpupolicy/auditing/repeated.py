"""Pods by name: one that is listed twice counts once, as in ``capacity``, and is told."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.auditing.report import REPEATED
from gpupolicy.errors import Finding, LocatedFinding, Severity, locate, shown

MOST_FINDINGS = 20


class Pods:
    """The names of the pods that were judged."""

    def __init__(self) -> None:
        self._names: set[tuple[str, str]] = set()
        self._repeated: list[str] = []
        self._more = 0

    def is_repeated(self, namespace: str, name: object) -> bool:
        """Returns whether a pod of this name was here before; pods without a name are never the same."""
        if not isinstance(name, str) or not name:
            return False
        key = (namespace, name)
        if key not in self._names:
            self._names.add(key)
            return False
        if len(self._repeated) < MOST_FINDINGS:
            self._repeated.append(f"{shown(namespace, 63)}/{shown(name, 63)}")
        else:
            self._more += 1
        return True

    def findings(self) -> Iterator[LocatedFinding]:
        """Yields a warning for each pod that came again, then how many more there were."""
        for name in sorted(self._repeated):
            yield _warning(("pods", name), f"pod {name} is listed twice; the first one counts")
        if self._more:
            yield _warning(("pods",), f"and {self._more} more pods")


def _warning(field: tuple[str, ...], message: str) -> LocatedFinding:
    return locate(Finding(rule=REPEATED, severity=Severity.WARNING, field=field, message=message), None, None, None)
