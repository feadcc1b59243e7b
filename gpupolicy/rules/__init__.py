"""What a policy means, judged: one module per field of spec, and the registry of all rules.

Rules stand below loading, because ``load`` refuses what they call an error, and below linting, which adds what needs
files: nodes, and documents of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date

from gpupolicy.errors import Finding
from gpupolicy.model import Policy
from gpupolicy.rules import (
    access,
    admission,
    exemptions,
    gpu_types,
    labels,
    node_claims,
    profiles,
    scheduler,
    selectors,
    slot_groups,
    slot_sizes,
    taints,
    topology,
    webhook,
    weights,
    workloads,
)

Rule = Callable[[Policy], Iterator[Finding]]
DatedRule = Callable[[Policy, date], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    labels.policy_name_not_dns_label,
    labels.label_prefix_not_dns,
    labels.label_prefix_reserved,
    labels.label_key_unguarded,
    gpu_types.gpu_type_name_not_label,
    gpu_types.gpu_type_name_repeated,
    gpu_types.resource_name_not_extended,
    gpu_types.device_class_not_dns,
    gpu_types.gpu_type_selector_repeated,
    gpu_types.gpu_type_without_group,
    selectors.selector_not_valid,
    selectors.selector_selects_everything,
    selectors.selector_key_own,
    slot_groups.slot_group_name_not_label,
    slot_groups.slot_group_name_repeated,
    slot_groups.overflow_unknown,
    slot_groups.overflow_to_itself,
    slot_groups.overflow_repeated,
    slot_groups.overflow_circle,
    slot_groups.overflow_cannot_hold,
    slot_groups.group_scheduler_unknown,
    slot_sizes.slot_size_not_admitted,
    slot_sizes.slot_size_larger_than_node,
    slot_sizes.slot_size_repeated,
    slot_sizes.slot_sizes_leave_rest,
    slot_sizes.slot_sizes_overlap,
    slot_sizes.request_size_without_group,
    slot_sizes.request_size_larger_than_node,
    slot_sizes.claim_without_size,
    node_claims.slot_group_without_claims,
    node_claims.claim_type_unknown,
    node_claims.claim_weights_all_zero,
    node_claims.claim_mixes_weight,
    node_claims.node_claimed_twice,
    node_claims.node_name_not_dns,
    topology.topology_key_not_label,
    topology.topology_key_own,
    topology.topology_without_choice,
    topology.topology_not_alone,
    taints.taint_evicts_pods,
    taints.taint_keeps_nobody_off,
    taints.taint_without_routing,
    profiles.scheduler_name_not_dns,
    profiles.profile_repeated,
    profiles.default_scheduler_redefined,
    profiles.second_scheduler_without_profile,
    profiles.gpu_resource_not_weighed,
    profiles.resource_not_counted,
    profiles.resource_repeated,
    weights.weights_cannot_dominate,
    weights.strategy_spreads,
    weights.shape_missing,
    weights.shape_without_use,
    weights.shape_not_rising,
    scheduler.lease_of_the_control_plane,
    scheduler.lease_name_not_dns,
    scheduler.scheduler_named_as_webhook,
    scheduler.lease_durations_out_of_order,
    admission.enforcement_rule_unknown,
    admission.override_never_reached,
    admission.namespace_name_not_dns,
    exemptions.exemption_without_reason,
    exemptions.exemption_of_everything,
    exemptions.owner_kind_misspelt,
    exemptions.owner_kind_without_pods,
    exemptions.exemption_forgeable,
    exemptions.system_namespace_not_exempt,
    exemptions.own_namespace_not_exempt,
    access.access_type_unknown,
    access.access_group_unknown,
    access.access_allows_nothing,
    access.slot_group_without_access,
    webhook.webhook_name_not_dns,
    webhook.webhook_timeout_long,
    webhook.webhook_alone,
    webhook.certificate_issuer_without_use,
    workloads.workload_name_not_valid,
    workloads.workload_path_not_valid,
    workloads.workload_path_repeated,
    workloads.workload_kind_repeated,
    workloads.workload_known,
)
DATED_RULES: tuple[DatedRule, ...] = (exemptions.exemption_expired,)


def judge_policy(policy: Policy, *, today: date | None = None) -> Iterator[Finding]:
    """Yields what every rule finds, rule by rule.

    Args:
        policy: a policy of the right shape.
        today: the date for rules about expiry; without it they are silent.
    """
    for rule in RULES:
        yield from rule(policy)
    if today is not None:
        for dated in DATED_RULES:
            yield from dated(policy, today)
