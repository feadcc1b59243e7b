"""Lint of Nodes, as manifests or dumps: what the API server refuses, and what does not fit the policy."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import Rule
from gpupolicy.linting.foreign.nodes import capacity_rules, label_rules, object_rules, taint_rules
from gpupolicy.linting.foreign.nodes.inventory import NODE_SHAPE, NodeSubject
from gpupolicy.linting.foreign.reading import Object
from gpupolicy.linting.foreign.shapes import check_shape, is_sound
from gpupolicy.model import Policy

RULES: tuple[Rule, ...] = (
    object_rules.node_version_unknown,
    object_rules.node_name_refused,
    object_rules.node_label_refused,
    object_rules.node_taint_refused,
    object_rules.node_amount_refused,
    object_rules.node_allocatable_above_capacity,
    object_rules.node_status_missing,
    label_rules.node_type_unknown,
    label_rules.node_group_unknown,
    label_rules.node_group_lacks_type,
    label_rules.node_half_labelled,
    label_rules.node_support_label,
    label_rules.node_label_key_unknown,
    label_rules.node_type_contradicts,
    label_rules.node_product_shared,
    label_rules.node_label_set_by_kubelet,
    taint_rules.node_taint_absent,
    taint_rules.node_taint_unexpected,
    capacity_rules.node_without_gpus,
    capacity_rules.node_slots_lost,
    capacity_rules.node_gpus_unexpected,
    capacity_rules.node_not_labelled,
)


def lint_node(value: Object, policy: Policy | None = None) -> Iterator[Finding]:
    """Judges one Node.

    Args:
        value: the Node.
        policy: whose labels, types and groups are expected; None judges by the API alone.

    Returns:
        Findings with paths from the root of the Node; the meaning waits while values have a wrong type.
    """
    node = NodeSubject(value=value, policy=policy)
    findings = tuple(check_shape(value, NODE_SHAPE))
    yield from findings
    if is_sound(findings):
        for rule in RULES:
            yield from rule(node)
