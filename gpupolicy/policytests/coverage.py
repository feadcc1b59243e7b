"""Which parts of a policy its tests have to do with: what no case touches may be wrong without anybody seeing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpupolicy.admission import ADMISSION_RULES, Decision
from gpupolicy.model import NamespaceMatch, Policy, Routing
from gpupolicy.policytests.report import Case, Coverage, Covered

Part = tuple[str, str]  # what it is about, and its name


@dataclass(slots=True)
class CoverageCounter:
    """Counts, for one policy, the cases that each part of it took part in."""

    policy: Policy
    cases: int = 0
    _counts: Counter[Part] = field(default_factory=Counter)

    def add(self, case: Case, decisions: tuple[Decision, ...], namespace: str) -> None:
        """Counts one case."""
        self.cases += 1
        touched = {part for decision in decisions for part in self._touched(case, decision, namespace)}
        self._counts.update(touched)

    def report(self, file: str) -> Coverage:
        """Returns the coverage so far; ``file`` is how the policy is called."""
        parts = tuple(self._covered(about, name, place) for about, name, place in self._parts())
        rules = tuple(self._covered("rule", rule) for rule in ADMISSION_RULES)
        return Coverage(policy=file, cases=self.cases, parts=parts, rules=rules)

    def _covered(self, about: str, name: str, place: str | None = None) -> Covered:
        return Covered(about=about, name=name, cases=self._counts[about, name], place=place)

    def _touched(self, case: Case, decision: Decision, namespace: str) -> Iterator[Part]:
        """Yields the parts that one decision has to do with, some of them more than once."""
        if decision.placement is not None:
            size = sum(decision.gpus.values())
            for name in decision.placement.slot_groups:
                is_own = size in self.policy.groups_by_name[name].sizes
                yield "slot group" if is_own else "overflow", name
            yield from (("GPU type", name) for name in decision.placement.gpu_types)
        rules = {finding.rule for finding in (*decision.violations, *decision.warnings, *decision.audited)}
        yield from (("rule", rule) for rule in rules)
        for index, exemption in enumerate(self.policy.admission.exemptions):
            if exemption is decision.exemption:
                yield "exemption", str(index)
        if decision.gpus:
            yield from self._at_namespace(case, namespace, rules)

    def _at_namespace(self, case: Case, namespace: str, rules: set[str]) -> Iterator[Part]:
        def fits(match: NamespaceMatch) -> bool:
            return match.matches(namespace, case.namespace_labels)

        admission = self.policy.admission
        yield from (("access", str(index)) for index, entry in enumerate(admission.access) if fits(entry.namespaces))
        for rule in rules:
            overrides = enumerate(admission.enforcement.overrides)
            matching = (i for i, o in overrides if (not o.rules or rule in o.rules) and fits(o.namespaces))
            if (first := next(matching, None)) is not None:
                yield "override", str(first)

    def _parts(self) -> Iterator[tuple[str, str, str]]:
        """Yields every part of the policy, with its place."""
        policy, admission = self.policy, ("spec", "admission")
        for index, gpu_type in enumerate(policy.gpu_types):
            yield "GPU type", gpu_type.name, policy.cite("spec", "gpuTypes", index)
        if _sends_to_groups(policy):
            yield from self._groups()
        for index in range(len(policy.admission.exemptions)):
            yield "exemption", str(index), policy.cite(*admission, "exemptions", index)
        for index in range(len(policy.admission.access)):
            yield "access", str(index), policy.cite(*admission, "access", index)
        for index in range(len(policy.admission.enforcement.overrides)):
            yield "override", str(index), policy.cite(*admission, "enforcement", "overrides", index)

    def _groups(self) -> Iterator[tuple[str, str, str]]:
        policy = self.policy
        for index, group in enumerate(policy.slot_groups):
            yield "slot group", group.name, policy.cite("spec", "slotGroups", index)
        for name in dict.fromkeys(name for group in policy.slot_groups for name in group.overflow):
            yield "overflow", name, policy.cite("spec", "slotGroups", list(policy.groups_by_name).index(name))


def _sends_to_groups(policy: Policy) -> bool:
    """Whether any pod is sent to a slot group: by the routing, or by access to some of them only."""
    is_routed = policy.admission.routing is not Routing.OFF
    return is_routed or any(entry.slot_groups is not None for entry in policy.admission.access)
