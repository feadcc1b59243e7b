"""What the policy says is done when a rule of admission is broken."""

from __future__ import annotations

from gpupolicy.admission.scope import Request
from gpupolicy.admission_rules import WARNINGS
from gpupolicy.model import Action, Policy


def action_for(policy: Policy, rule: str, request: Request) -> Action:
    """Returns what is done when a rule is broken in the request's namespace.

    The first override that fits decides. A rule that only warns becomes a denial where an override names it, never by
    the default for all rules; it is audited where everything is.
    """
    enforcement = policy.admission.enforcement
    action = enforcement.default
    named = False
    for override in enforcement.overrides:
        if override.rules and rule not in override.rules:
            continue
        if override.namespaces.matches(request.namespace, request.namespace_labels):
            action, named = override.action, bool(override.rules)
            break
    if rule in WARNINGS and action is Action.DENY and not named:
        return Action.WARN
    return action
