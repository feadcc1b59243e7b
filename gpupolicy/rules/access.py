"""Rules about spec.admission.access: which namespaces may use which types and groups."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.model import AccessRule, Policy
from gpupolicy.rules.findings import error, warning
from gpupolicy.suggestions import hint_known

_ACCESS = ("spec", "admission", "access")


def access_type_unknown(policy: Policy) -> Iterator[Finding]:
    """Access to a GPU type that the policy does not have.

    Why: the namespaces may use less than it reads.
    Bad:  access: [{gpuTypes: [V10]}]
    Good: access: [{gpuTypes: [V100]}]
    Source: design: access names types, not their aliases.
    """
    for index, rule in enumerate(policy.admission.access):
        for position, name in enumerate(rule.gpu_types or ()):
            if name not in policy.types_by_name:
                named = policy.type_names.get(name)
                hint = f"write {named}, of which it is an alias" if named else hint_known(name, policy.types_by_name)
                field = (*_ACCESS, index, "gpuTypes", position)
                yield error("access-type-unknown", field, f"{name} is no GPU type of this policy", hint)


def access_group_unknown(policy: Policy) -> Iterator[Finding]:
    """Access to a slot group that the policy does not have.

    Why: the namespaces may use less than it reads.
    Bad:  access: [{slotGroups: [SLOT-3]}]
    Good: access: [{slotGroups: [SLOT-4]}]
    Source: design: access names slot groups.
    """
    for index, rule in enumerate(policy.admission.access):
        for position, name in enumerate(rule.slot_groups or ()):
            if name not in policy.groups_by_name:
                field = (*_ACCESS, index, "slotGroups", position)
                hint = hint_known(name, policy.groups_by_name)
                yield error("access-group-unknown", field, f"{name} is no slot group of this policy", hint)


def access_allows_nothing(policy: Policy) -> Iterator[Finding]:
    """An entry of access that lets its namespaces use nothing.

    Why: with any entry present a namespace needs one that grants something; this one locks out whom it names.
    Bad:  access: [{namespaces: [lab], gpuTypes: []}], or a type together with groups that claim none of its nodes
    Good: access: [{namespaces: [lab], gpuTypes: [V100]}]
    Source: design: a list that is left out means all, an empty one means none.
    """
    for index, rule in enumerate(policy.admission.access):
        for key, names in (("gpuTypes", rule.gpu_types), ("slotGroups", rule.slot_groups)):
            if names is not None and not names:
                message = f"{key} is empty, so this entry grants nothing"
                hint = f"leave {key} out to grant all"
                yield error("access-allows-nothing", (*_ACCESS, index, key), message, hint)
        if _is_known(policy, rule) and rule.gpu_types and rule.slot_groups and not _meet(policy, rule):
            message = "none of these groups claims nodes of any of these types, so this entry grants nothing"
            yield error("access-allows-nothing", (*_ACCESS, index, "slotGroups"), message)


def slot_group_without_access(policy: Policy) -> Iterator[Finding]:
    """A slot group that no entry of access grants.

    Why: with any entry present nobody may use the group, so its nodes stay idle.
    Bad:  groups SLOT-4 and SLOT-8, and access: [{slotGroups: [SLOT-4]}]
    Good: access: [{slotGroups: [SLOT-4]}, {namespaces: [llm], slotGroups: [SLOT-8]}]
    Source: design: with any entry present a namespace needs a matching one.
    """
    rules = policy.admission.access
    for index, group in enumerate(policy.slot_groups):
        if rules and not any(_grants(rule, group.name, [claim.gpu_type for claim in group.nodes]) for rule in rules):
            message = f"no entry of access grants slot group {group.name}"
            yield warning("slot-group-without-access", ("spec", "slotGroups", index, "name"), message)


def _grants(rule: AccessRule, group: str, types: list[str]) -> bool:
    if rule.slot_groups is not None and group not in rule.slot_groups:
        return False
    return rule.gpu_types is None or not types or bool(set(types) & set(rule.gpu_types))


def _is_known(policy: Policy, rule: AccessRule) -> bool:
    return set(rule.gpu_types or ()) <= policy.types_by_name.keys() and set(rule.slot_groups or ()) <= (
        policy.groups_by_name.keys()
    )


def _meet(policy: Policy, rule: AccessRule) -> bool:
    groups = [policy.groups_by_name[name] for name in rule.slot_groups or ()]
    return any(group.serves(name) for group in groups for name in rule.gpu_types or ())
