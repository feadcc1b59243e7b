"""Lint of hand-written KubeSchedulerConfiguration files: what kube-scheduler refuses, and what it takes in silence."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import Rule
from gpupolicy.linting.foreign.kinds import SCHEDULER_GROUP, SCHEDULER_KIND, SCHEDULER_VERSION
from gpupolicy.linting.foreign.reading import Object
from gpupolicy.linting.foreign.scheduler import (
    affinity_rules,
    argument_rules,
    document_rules,
    extender_rules,
    fit_rules,
    lease_rules,
    packing_rules,
    plugin_rules,
    policy_rules,
    profile_rules,
)
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.fields import argument_shape, configuration_shape
from gpupolicy.linting.foreign.shapes import check_shape, is_sound
from gpupolicy.model import Policy

# a document in one of these is read like v1 after the version itself has been refused
_ALIKE = (SCHEDULER_VERSION, f"{SCHEDULER_GROUP}/v1beta3", f"{SCHEDULER_GROUP}/v1beta2", None)

RULES: tuple[Rule, ...] = (
    document_rules.scheduler_config_version_unknown,
    document_rules.scheduler_config_kind_unknown,
    document_rules.scheduler_number_out_of_range,
    document_rules.scheduler_backoff_order,
    document_rules.preemption_candidates_zero,
    lease_rules.leader_election_lock_unknown,
    lease_rules.leader_election_durations,
    lease_rules.leader_election_shares_lease,
    lease_rules.default_scheduler_taken,
    profile_rules.profile_name_missing,
    profile_rules.profile_name_repeated,
    profile_rules.profile_name_not_dns,
    profile_rules.queue_sort_differs,
    profile_rules.queue_sort_not_single,
    profile_rules.bind_plugin_missing,
    profile_rules.node_resources_not_checked,
    plugin_rules.plugin_unknown,
    plugin_rules.plugin_removed,
    plugin_rules.plugin_name_without_effect,
    plugin_rules.plugin_at_wrong_point,
    plugin_rules.plugin_enabled_twice,
    plugin_rules.plugin_weight_negative,
    plugin_rules.plugin_weight_zero,
    plugin_rules.plugin_weight_without_effect,
    argument_rules.plugin_config_repeated,
    argument_rules.plugin_args_of_other_kind,
    argument_rules.plugin_args_without_effect,
    argument_rules.balanced_allocation_resources,
    argument_rules.spread_defaulting_type,
    argument_rules.spread_constraint_refused,
    argument_rules.volume_shape_not_available,
    argument_rules.device_timeout_refused,
    affinity_rules.added_affinity_refused,
    affinity_rules.added_affinity_matches_nothing,
    fit_rules.scoring_strategy_unknown,
    fit_rules.resource_weight_out_of_range,
    fit_rules.resource_weight_defaulted,
    fit_rules.scored_resource_repeated,
    fit_rules.resource_name_not_known,
    fit_rules.capacity_shape_missing,
    fit_rules.capacity_shape_unexpected,
    fit_rules.shape_points_refused,
    fit_rules.ignored_resource_refused,
    fit_rules.gpu_resource_ignored,
    packing_rules.packing_profile_spreads,
    packing_rules.packing_resources_defaulted,
    packing_rules.packing_without_gpu,
    packing_rules.gpu_weight_too_low,
    packing_rules.packing_outweighed,
    packing_rules.packing_samples_nodes,
    extender_rules.extender_weight_missing,
    extender_rules.extender_binds_twice,
    extender_rules.extender_resource_refused,
    extender_rules.extender_resource_without_fit,
    extender_rules.extender_tls_refused,
    policy_rules.policy_profile_missing,
    policy_rules.policy_profile_differs,
    policy_rules.policy_lease_differs,
)


def lint_scheduler_configuration(value: Object, policy: Policy | None = None) -> Iterator[Finding]:
    """Judges a document of kube-scheduler's configuration group.

    Args:
        value: the document.
        policy: names the Kubernetes version (else the newest known) and the profiles that are expected.

    Returns:
        Findings with paths from the root of the document; the meaning waits while values have a wrong type.
    """
    configuration = SchedulerConfiguration(value=value, policy=policy)
    about_kind = (
        *document_rules.scheduler_config_version_unknown(configuration),
        *document_rules.scheduler_config_kind_unknown(configuration),
    )
    if value.get("apiVersion") not in _ALIKE or value.get("kind") != SCHEDULER_KIND:
        yield from about_kind
        return
    shape = tuple(check_scheduler_shape(configuration))
    yield from shape
    rules = RULES if is_sound(shape) else RULES[:2]
    for rule in rules:
        yield from rule(configuration)


def check_scheduler_shape(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Yields unknown fields and wrong types, those in the arguments of known plugins too.

    Source: k8s.io/kube-scheduler config/v1, decodeNestedObjects.
    """
    yield from check_shape(configuration.value, configuration_shape(configuration.version))
    for profile in configuration.profiles:
        for path, name, args in profile.plugin_configs():
            shape = argument_shape(name, configuration.version)
            if shape is not None and args is not None:
                yield from check_shape(args, shape, (*path, "args"))
