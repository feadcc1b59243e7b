"""Rules about every selector of a policy, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import LabelSelector, Requirement, find_label_key_problem, find_label_value_problem
from gpupolicy.model import Policy
from gpupolicy.rules.admission import namespace_matches
from gpupolicy.rules.findings import error, warning

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def selector_not_valid(policy: Policy) -> Iterator[Finding]:
    """A selector with keys or values that no label can have, or without the values that its operator needs.

    Why: it can match nothing, or the API server refuses what is compiled from it.
    Bad:  matchExpressions: [{key: nvidia.com/gpu.product, operator: In}]
    Good: matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [Tesla-V100-SXM2-32GB]}]
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    for field, selector in _selectors(policy):
        for key, value in selector.match_labels.items():
            problem = find_label_key_problem(key)
            if problem:
                yield error("selector-not-valid", (*field, "matchLabels", key), f'"{key}" is no label key: {problem}')
            elif problem := find_label_value_problem(value):
                yield error(
                    "selector-not-valid", (*field, "matchLabels", key), f'"{value}" is no label value: it {problem}'
                )
        for index, requirement in enumerate(selector.match_expressions):
            if problem := _find_problem(requirement):
                yield error("selector-not-valid", (*field, "matchExpressions", index), problem)


def selector_selects_everything(policy: Policy) -> Iterator[Finding]:
    """A nodeSelector without any condition.

    Why: it takes every node, and reads as if it chose some.
    Bad:  nodeSelector: {}
    Good: nodeSelector: {matchLabels: {nvidia.com/gpu.product: Tesla-V100-SXM2-32GB}}
    Source: an empty selector selects everything.
    """
    for field, selector in _selectors(policy):
        if field[-1] == "nodeSelector" and not selector.match_labels and not selector.match_expressions:
            yield warning("selector-selects-everything", field, "an empty nodeSelector selects every node")


def selector_key_own(policy: Policy) -> Iterator[Finding]:
    """A claim by a nodeSelector that a node no longer fits once it is labelled as the policy says.

    Why: the policy sets these labels itself, so the choice undoes itself: every second run moves the nodes back.
    Bad:  {name: SLOT-8, nodes: [{gpuType: V100, nodeSelector: {matchLabels: {my.gpu.cluster/node-group: SLOT-4}}}]}
    Good: nodeSelector: {matchLabels: {example.com/rack: r12}}, a label that somebody else sets
    Source: design: a node that is as planned is planned again.
    """
    labels = policy.labels
    for field, selector in _selectors(policy):
        if field[1] != "slotGroups":
            continue  # a type is known again by its label
        group = policy.slot_groups[int(field[2])]
        gpu_type = group.nodes[int(field[4])].gpu_type
        planned = {labels.node_group: group.name, labels.gpu_type: gpu_type, labels.gpu_support: "true"}
        lost = next((r for r in selector.to_requirements() if r.key in planned and not r.matches(planned)), None)
        if lost is not None:
            message = (
                f"this policy sets {lost.key} to {planned[lost.key]} on these nodes, and then selects none of them"
            )
            yield error("selector-key-own", field, message, "select by a label that somebody else sets")


def _find_problem(requirement: Requirement) -> str | None:
    operator, values = requirement.operator, requirement.values
    if problem := find_label_key_problem(requirement.key):
        return f'"{requirement.key}" is no label key: {problem}'
    if operator in ("In", "NotIn"):
        bad = next((value for value in values if find_label_value_problem(value)), None)
        if bad is not None:
            return f'"{bad}" is no label value: it {find_label_value_problem(bad)}'
        return None if values else f"{operator} needs values"
    if operator in ("Exists", "DoesNotExist"):
        return f"{operator} takes no values" if values else None
    is_integer = len(values) == 1 and _INTEGER.fullmatch(values[0])
    return None if is_integer else f"{operator} takes one whole number"


def _selectors(policy: Policy) -> Iterator[tuple[FieldPath, LabelSelector]]:
    """Yields every selector with its field."""
    for index, gpu_type in enumerate(policy.gpu_types):
        if gpu_type.node_selector is not None:
            yield ("spec", "gpuTypes", index, "nodeSelector"), gpu_type.node_selector
    for index, group in enumerate(policy.slot_groups):
        for position, claim in enumerate(group.nodes):
            if claim.node_selector is not None:
                yield ("spec", "slotGroups", index, "nodes", position, "nodeSelector"), claim.node_selector
    for field, match in namespace_matches(policy):
        if match.selector is not None:
            yield (*field, "namespaceSelector"), match.selector
    for index, exemption in enumerate(policy.admission.exemptions):
        if exemption.pod_selector is not None:
            yield ("spec", "admission", "exemptions", index, "podSelector"), exemption.pod_selector
