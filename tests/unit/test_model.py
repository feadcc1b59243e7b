"""The policy as values: look-ups, sizes, weights, and which namespaces are meant."""

from dataclasses import FrozenInstanceError, replace

import pytest
from builders import GROUP, TYPE, gpu_type, group, policy, profile

from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.model import (
    AccessRule,
    Action,
    Admission,
    Enforcement,
    EnforcementOverride,
    Exemption,
    Labels,
    NamespaceMatch,
    Origin,
    Scheduler,
    Taint,
    overflow_weights,
    powers_of_two,
)

NAME = "kubernetes.io/metadata.name"


def by_label(**labels):
    return LabelSelector(match_labels=labels)


def test_labels_stand_under_the_prefix():
    labels = Labels(prefix="gpu.example.com")

    assert (labels.gpu_type, labels.node_group, labels.gpu_support) == (
        "gpu.example.com/gpu-type",
        "gpu.example.com/node-group",
        "gpu.example.com/nvidia-gpu-support",
    )


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [
        pytest.param(1, (1,), id="one"),
        pytest.param(8, (1, 2, 4, 8), id="eight"),
        pytest.param(6, (1, 2, 4), id="six"),
    ],
)
def test_powers_of_two_go_up_to_the_limit(limit, sizes):
    assert powers_of_two(limit) == sizes


@pytest.mark.parametrize(
    ("admitted", "own", "gpus", "sizes"),
    [
        pytest.param(None, None, 8, (1, 2, 4, 8), id="powers-of-two"),
        pytest.param((8, 2, 2), None, 8, (2, 8), id="list-sorted-and-once"),
        pytest.param(None, (1, 3), 8, (1, 3), id="own-list"),
        pytest.param((1, 2), (1, 3), 8, (1, 3), id="own-list-before-the-general-one"),
        pytest.param((1, 4, 8), None, 4, (1, 4), id="none-larger-than-a-node"),
    ],
)
def test_sizes_of_a_type(admitted, own, gpus, sizes):
    v100 = gpu_type("V100", gpus, request_sizes=own)
    found = policy(types=(v100,), admission=Admission(request_sizes=admitted))

    assert found.sizes_of(v100) == sizes


@pytest.mark.parametrize(
    ("levels", "weights"),
    [
        pytest.param(0, (), id="none"),
        pytest.param(1, (), id="one-level-needs-no-term"),
        pytest.param(2, (100,), id="two"),
        pytest.param(3, (100, 10), id="three"),
        pytest.param(4, (100, 10, 1), id="four"),
        pytest.param(5, (100, 22, 5, 1), id="five"),
    ],
)
def test_overflow_weights_fall_as_steeply_as_kubernetes_allows(levels, weights):
    assert overflow_weights(levels) == weights


@pytest.mark.parametrize("levels", [50, 101, 500])
def test_overflow_weights_of_many_levels_stay_within_what_kubernetes_allows(levels):
    weights = overflow_weights(levels)

    assert (len(weights), max(weights), min(weights)) == (levels - 1, 100, 1)


@pytest.mark.parametrize(
    ("names", "selector", "matches"),
    [
        pytest.param((), None, True, id="all"),
        pytest.param(("team-*",), None, True, id="glob"),
        pytest.param(("other",), None, False, id="other-name"),
        pytest.param((), by_label(tier="gold"), True, id="label"),
        pytest.param((), by_label(tier="iron"), False, id="other-label"),
        pytest.param(("team-a",), by_label(tier="iron"), False, id="both-must-hold"),
        pytest.param((), by_label(**{NAME: "team-a"}), True, id="name-as-label"),
    ],
)
def test_a_namespace_is_meant_by_name_and_labels(names, selector, matches):
    assert NamespaceMatch(names=names, selector=selector).matches("team-a", {"tier": "gold"}) is matches


def test_a_label_cannot_pretend_another_namespace_name():
    match = NamespaceMatch(selector=by_label(**{NAME: "kube-system"}))

    assert match.matches("team-a", {NAME: "kube-system"}) is False


def selecting(**labels):
    return NamespaceMatch(selector=by_label(**labels))


@pytest.mark.parametrize(
    ("selector", "needed"),
    [
        pytest.param(None, False, id="no-selector"),
        pytest.param(LabelSelector(), False, id="selects-all"),
        pytest.param(by_label(**{NAME: "team-a"}), False, id="the-name"),
        pytest.param(by_label(tier="gold"), True, id="another-label"),
        pytest.param(by_label(**{NAME: "team-a", "tier": "gold"}), True, id="name-and-another"),
        pytest.param(
            LabelSelector(match_expressions=(Requirement(key="tier", operator="DoesNotExist"),)), True, id="absence"
        ),
    ],
)
def test_labels_of_a_namespace_are_needed_where_more_than_its_name_is_looked_at(selector, needed):
    assert NamespaceMatch(names=("team-*",), selector=selector).needs_labels is needed


def test_every_place_that_needs_labels_of_namespaces_is_known():
    found = policy(
        admission=Admission(
            enforcement=Enforcement(
                overrides=(
                    EnforcementOverride(action=Action.WARN),
                    EnforcementOverride(action=Action.WARN, namespaces=selecting(stage="trial")),
                )
            ),
            exemptions=(Exemption(reason="why", namespaces=selecting(team="drivers")),),
            access=(
                AccessRule(namespaces=selecting(**{NAME: "team-a"})),
                AccessRule(namespaces=selecting(tier="gold")),
            ),
        )
    )

    assert found.namespace_label_fields == (
        ("spec", "admission", "enforcement", "overrides", 1, "namespaceSelector"),
        ("spec", "admission", "exemptions", 0, "namespaceSelector"),
        ("spec", "admission", "access", 1, "namespaceSelector"),
    )
    assert found.uses_namespace_labels is True


def test_a_policy_without_such_a_place_needs_no_labels():
    assert policy().uses_namespace_labels is False


def test_a_type_is_found_by_name_and_alias():
    found = policy(types=(gpu_type("V100", aliases=("v100", "volta")),))

    assert found.type_names == {"V100": "V100", "v100": "V100", "volta": "V100"}


def test_a_name_is_never_an_alias_of_another_type():
    found = policy(types=(gpu_type("V100", aliases=("A100",)), gpu_type("A100")))

    assert (found.aliases, found.type_names["A100"]) == ({}, "A100")


def test_the_implicit_name_of_a_device_class_counts_as_its_type():
    v100 = gpu_type("V100", device_classes=("gpu.example.com",))

    assert policy(types=(v100,)).types_by_resource == {
        "nvidia.com/gpu": (v100,),
        "deviceclass.resource.kubernetes.io/gpu.example.com": (v100,),
    }


def test_resource_names_come_once_in_the_order_of_the_policy():
    found = policy(types=(gpu_type("A"), gpu_type("B", resource_name="amd.com/gpu"), gpu_type("C")))

    assert found.resource_names == ("nvidia.com/gpu", "amd.com/gpu")


def test_groups_are_found_by_the_size_that_they_serve():
    small, large = group("SMALL", 1, 2), group("LARGE", 2, 8)

    assert policy(small, large).groups_by_size == {1: (small,), 2: (small, large), 8: (large,)}


def test_a_group_serves_the_types_that_it_claims_nodes_of():
    found = policy(group("SMALL", 1, types=("V100",)), group("LARGE", 8))

    assert found.types_of_group == {"SMALL": {"V100"}, "LARGE": {"V100", "A100"}}


def test_what_is_known_of_a_nodes_labels_comes_from_its_type():
    v100 = gpu_type("V100", node_selector=by_label(product="Tesla"))

    assert policy(types=(v100,)).node_labels_of_type["V100"] == {
        "product": "Tesla",
        TYPE: "V100",
        "my.gpu.cluster/nvidia-gpu-support": "true",
    }


def test_a_policy_without_aliases_has_the_same_types():
    plain = policy(types=(gpu_type("V100", aliases=("v100",)),)).without_aliases

    assert (plain, dict(plain.aliases)) == (policy(types=(gpu_type("V100"),)), {})


def test_known_label_keys_are_ours_and_those_of_the_types():
    expressed = LabelSelector(match_expressions=(Requirement(key="memory", operator="Exists"),))
    types = (gpu_type("V100", node_selector=by_label(product="Tesla")), gpu_type("A100", node_selector=expressed))
    support = "my.gpu.cluster/nvidia-gpu-support"

    assert policy(types=types).known_label_keys == {"product", "memory", TYPE, GROUP, support}


def test_scheduler_names_are_those_of_the_profiles():
    found = policy(scheduler=Scheduler(profiles=(profile("a"), profile("b"))))

    assert found.scheduler_names == ("a", "b")


ORIGIN = Origin(file="policy.yaml", places={("spec",): (4, 1), ("spec", "slotGroups", 1): (12, 5)})


@pytest.mark.parametrize(
    ("path", "cited"),
    [
        pytest.param(("spec", "slotGroups", 1), "policy.yaml:12", id="field"),
        pytest.param(("spec", "slotGroups", 1, "sizes"), "policy.yaml:12", id="nearest-above"),
        pytest.param(("spec", "admission"), "policy.yaml:4", id="section"),
        pytest.param(("metadata",), "policy.yaml", id="unknown-place"),
    ],
)
def test_a_policy_is_cited_by_line(path, cited):
    assert policy(origin=ORIGIN).cite(*path) == cited


def test_policies_are_compared_by_meaning():
    assert policy(origin=ORIGIN) == policy()


def test_what_was_worked_out_is_no_part_of_the_value():
    used = policy()
    used.memo["key"] = "worked out"

    assert used == policy()


def test_a_changed_copy_works_everything_out_anew():
    used = policy()
    used.memo["key"] = "worked out"

    assert replace(used, name="other").memo == {}


def test_a_policy_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        policy().name = "other"


def test_an_expression_of_a_selector_is_used_too():
    selector = LabelSelector(match_expressions=(Requirement(key="tier", operator="In", values=("gold",)),))

    assert NamespaceMatch(selector=selector).matches("team-a", {"tier": "gold"}) is True


@pytest.mark.parametrize(
    ("value", "text", "json"),
    [
        pytest.param("x", "a/b=x:NoSchedule", {"effect": "NoSchedule", "key": "a/b", "value": "x"}, id="with-a-value"),
        pytest.param("", "a/b:NoSchedule", {"effect": "NoSchedule", "key": "a/b"}, id="without-one"),
    ],
)
def test_a_taint_is_written_as_kubectl_and_the_api_have_it(value, text, json):
    taint = Taint(key="a/b", value=value, effect="NoSchedule")

    assert (str(taint), taint.to_json()) == (text, json)


def test_groups_without_a_taint_are_not_among_the_taints():
    found = policy(group("SMALL", 1), group("LARGE", 8, taint="NoSchedule"))

    assert found.taints_by_group == {
        "LARGE": Taint(key="my.gpu.cluster/node-group", value="LARGE", effect="NoSchedule")
    }
