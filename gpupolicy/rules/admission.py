"""Rules about spec.admission: enforcement and namespace names."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.admission_rules import ADMISSION_RULES
from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import LabelSelector, covers_globs, find_dns_label_problem, find_glob_problem
from gpupolicy.model import NamespaceMatch, Policy
from gpupolicy.rules.findings import error, tell_name, warning
from gpupolicy.suggestions import hint_known

_ADMISSION = ("spec", "admission")
_OVERRIDES = (*_ADMISSION, "enforcement", "overrides")


def enforcement_rule_unknown(policy: Policy) -> Iterator[Finding]:
    """An override of enforcement for a rule that does not exist.

    Why: the override never applies, so what was meant to warn denies.
    Bad:  overrides: [{rules: [request-size], action: warn}]
    Good: overrides: [{rules: [request-size-not-admitted], action: warn}]
    Source: the table of admission rules in the documentation.
    """
    for index, override in enumerate(policy.admission.enforcement.overrides):
        for position, name in enumerate(override.rules):
            if name not in ADMISSION_RULES:
                field = (*_OVERRIDES, index, "rules", position)
                message = f"{name} is no admission rule"
                yield error("enforcement-rule-unknown", field, message, hint_known(name, ADMISSION_RULES))


def override_never_reached(policy: Policy) -> Iterator[Finding]:
    """An override of enforcement behind one that fits everything it fits.

    Why: the first override that fits wins.
    Bad:  overrides: [{action: warn}, {namespaces: [prod], action: deny}]
    Good: overrides: [{namespaces: [prod], action: deny}, {action: warn}]
    Source: design: the first that fits wins.
    """
    overrides = policy.admission.enforcement.overrides
    for index, override in enumerate(overrides):
        for earlier in range(index):
            first = overrides[earlier]
            same_rules = not first.rules or (override.rules and set(override.rules) <= set(first.rules))
            if same_rules and _is_within(override.namespaces, first.namespaces):
                message = f"override {earlier} already fits all that this one fits, and the first wins"
                yield warning("override-never-reached", (*_OVERRIDES, index), message, "move it up")
                break


def _is_within(inner: NamespaceMatch, outer: NamespaceMatch) -> bool:
    """Returns whether one choice of namespaces surely holds all of another."""
    by_name = not outer.names or covers_globs(outer.names, inner.names or ("*",))
    return by_name and (outer.selector is None or (inner.selector or LabelSelector()).narrows(outer.selector))


def namespace_name_not_dns(policy: Policy) -> Iterator[Finding]:
    """A namespace that cannot exist.

    Why: the entry never matches; namespaces are listed one by one, not in one text, and chosen by shell patterns.
    Bad:  namespaces: ["kube-system,gpu-operator"], or ["team-.*"]
    Good: namespaces: [kube-system, gpu-operator]
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
    """
    for field, match in namespace_matches(policy):
        for position, name in enumerate(match.names):
            if problem := find_glob_problem(name, find_dns_label_problem):
                place = (*field, "namespaces", position)
                yield error("namespace-name-not-dns", place, tell_name(name, "namespace", problem))


def namespace_matches(policy: Policy) -> Iterator[tuple[FieldPath, NamespaceMatch]]:
    """Yields every choice of namespaces in the policy, with the field of the entry that makes it."""
    for index, override in enumerate(policy.admission.enforcement.overrides):
        yield (*_OVERRIDES, index), override.namespaces
    for index, exemption in enumerate(policy.admission.exemptions):
        yield (*_ADMISSION, "exemptions", index), exemption.namespaces
    for index, rule in enumerate(policy.admission.access):
        yield (*_ADMISSION, "access", index), rule.namespaces
