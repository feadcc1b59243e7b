"""Lint of hand-written webhook registrations: what the API server refuses, and what can stop a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import Rule
from gpupolicy.linting.foreign.reading import Object
from gpupolicy.linting.foreign.shapes import check_shape, is_sound
from gpupolicy.linting.foreign.webhooks import (
    behaviour_rules,
    client_rules,
    condition_rules,
    object_rules,
    reach_rules,
)
from gpupolicy.linting.foreign.webhooks.fields import SHAPES
from gpupolicy.linting.foreign.webhooks.registration import WebhookConfiguration
from gpupolicy.model import Policy

RULES: tuple[Rule, ...] = (
    object_rules.webhook_version_unknown,
    object_rules.webhook_kind_unknown,
    object_rules.webhook_configuration_name,
    object_rules.webhook_label_refused,
    object_rules.webhook_name_not_qualified,
    object_rules.webhook_name_repeated,
    object_rules.webhook_timeout_out_of_range,
    object_rules.webhook_side_effects,
    object_rules.webhook_review_versions,
    object_rules.webhook_review_old,
    object_rules.webhook_value_unknown,
    object_rules.webhook_rule_incomplete,
    object_rules.webhook_rule_mixes_wildcard,
    object_rules.webhook_selector_refused,
    client_rules.webhook_client_not_single,
    client_rules.webhook_url_refused,
    client_rules.webhook_service_refused,
    client_rules.webhook_ca_not_pem,
    client_rules.webhook_ca_missing,
    condition_rules.match_conditions_too_many,
    condition_rules.match_condition_name,
    condition_rules.match_condition_unreadable,
    condition_rules.match_condition_namespace_object,
    condition_rules.match_condition_unguarded,
    reach_rules.webhook_blocks_cluster,
    reach_rules.webhook_holds_lifelines,
    reach_rules.webhook_sees_every_pod,
    reach_rules.webhook_covers_subresources,
    reach_rules.webhook_match_exact,
    reach_rules.webhook_rule_never_matches,
    behaviour_rules.webhook_mutates_updates,
    behaviour_rules.webhook_wait_long,
    behaviour_rules.webhook_not_called_again,
    behaviour_rules.webhook_order_late,
    behaviour_rules.webhook_label_goes_round,
    behaviour_rules.webhook_differs_from_policy,
)


def lint_webhook_configuration(value: Object, policy: Policy | None = None) -> Iterator[Finding]:
    """Judges a document of the group admissionregistration.k8s.io that registers webhooks.

    Args:
        value: the document.
        policy: tells which registration is that of the policy's own webhook.

    Returns:
        Findings with paths from the root of the document; the meaning waits while values have a wrong type.
    """
    configuration = WebhookConfiguration(value=value, policy=policy)
    shape = SHAPES.get(configuration.kind)
    if shape is None:
        yield from object_rules.webhook_kind_unknown(configuration)
        return
    findings = tuple(check_shape(value, shape))
    yield from findings
    for rule in RULES if is_sound(findings) else RULES[:1]:
        yield from rule(configuration)
