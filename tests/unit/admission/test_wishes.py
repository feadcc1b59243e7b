"""What a pod's own nodeSelector and terms leave of the types and groups on offer."""

import pytest
from builders import GROUP, REQUIRED, TYPE, gpu_type, group, pod, policy, required, within

from gpupolicy.admission.wishes import Way, describe, find_rivals, find_ways, resolve_aliases
from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.pod import PodView

SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
PRODUCT = "nvidia.com/gpu.product"
POLICY = policy(
    group("SMALL", 1, 2, types=("V100", "A100")),
    group("LARGE", 8, types=("A100", "H100")),
    types=(
        gpu_type("V100", aliases=("v100",)),
        gpu_type("A100", node_selector=LabelSelector(match_labels={PRODUCT: "NVIDIA-A100"})),
        gpu_type("H100"),
    ),
)
TYPES, GROUPS = ("V100", "A100", "H100"), ("SMALL", "LARGE")


def ways(ours=(), **spec):
    return find_ways(POLICY, PodView(pod(1, **spec)), TYPES, GROUPS, ours)


def left(**spec):
    return [(way.gpu_types, way.slot_groups) for way in ways(**spec)]


def test_a_pod_without_wishes_has_one_way_everywhere():
    assert left() == [(TYPES, GROUPS)]


@pytest.mark.parametrize(
    ("selector", "types", "groups"),
    [
        pytest.param({TYPE: "H100"}, ("H100",), ("LARGE",), id="type"),
        pytest.param({TYPE: "v100"}, ("V100",), ("SMALL",), id="alias"),
        pytest.param({GROUP: "SMALL"}, ("V100", "A100"), ("SMALL",), id="group"),
        pytest.param({TYPE: "A100", GROUP: "SMALL"}, ("A100",), ("SMALL",), id="both"),
        pytest.param({SUPPORT: "true"}, TYPES, GROUPS, id="support"),
        pytest.param({PRODUCT: "NVIDIA-A100"}, TYPES, GROUPS, id="label-of-one-type-unknown-on-others"),
        pytest.param({PRODUCT: "Tesla"}, ("V100", "H100"), GROUPS, id="label-that-one-type-has-otherwise"),
        pytest.param({"zone": "b"}, TYPES, GROUPS, id="label-that-nothing-is-known-of"),
    ],
)
def test_a_node_selector_narrows(selector, types, groups):
    assert left(nodeSelector=selector) == [(types, groups)]


@pytest.mark.parametrize(
    ("expression", "types", "groups"),
    [
        pytest.param(within(TYPE, "V100", "H100"), ("V100", "H100"), GROUPS, id="in"),
        pytest.param(within(TYPE, "V100", operator="NotIn"), ("A100", "H100"), GROUPS, id="not-in"),
        pytest.param(within(TYPE, "v100", operator="NotIn"), ("A100", "H100"), GROUPS, id="not-in-alias"),
        pytest.param(within(TYPE, operator="Exists"), TYPES, GROUPS, id="exists"),
        pytest.param(within(GROUP, "LARGE", "GONE"), ("A100", "H100"), ("LARGE",), id="group-in"),
        pytest.param(within(GROUP, "LARGE", operator="NotIn"), ("V100", "A100"), ("SMALL",), id="group-not-in"),
        pytest.param(within(GROUP, operator="Exists"), TYPES, GROUPS, id="group-exists"),
        pytest.param(within("gpus", "4", operator="Gt"), TYPES, GROUPS, id="unknown-number"),
        pytest.param(within(SUPPORT, "true"), TYPES, GROUPS, id="support"),
    ],
)
def test_an_expression_narrows(expression, types, groups):
    assert left(affinity=required([expression])) == [(types, groups)]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(within(TYPE, "H200"), id="unknown-type"),
        pytest.param(within(TYPE, operator="DoesNotExist"), id="no-type"),
        pytest.param(within(TYPE, "4", operator="Gt"), id="type-as-number"),
        pytest.param(within(GROUP, operator="DoesNotExist"), id="no-group"),
        pytest.param(within(GROUP, "4", operator="Lt"), id="group-as-number"),
        pytest.param(within(GROUP), id="in-nothing"),
        pytest.param(within(SUPPORT, "false"), id="support-false"),
        pytest.param(within(SUPPORT, operator="DoesNotExist"), id="no-support"),
    ],
)
def test_an_expression_that_no_node_of_the_policy_meets_blocks(expression):
    (way,) = ways(affinity=required([within("zone", "b"), expression]))

    assert (way.is_possible, way.blocker.field[-1]) == (False, 1)


EXPRESSED = policy(
    types=(
        gpu_type(
            "V100",
            node_selector=LabelSelector(
                match_expressions=(
                    Requirement(key=PRODUCT, operator="In", values=("V100-16GB", "V100-32GB")),
                    Requirement(key="memory", operator="Lt", values=("40000",)),
                )
            ),
        ),
        gpu_type("A100", node_selector=LabelSelector(match_labels={PRODUCT: "A100", "memory": "80000"})),
    )
)


@pytest.mark.parametrize(
    ("expression", "types"),
    [
        pytest.param(within(PRODUCT, "V100-32GB", "A100"), ("V100", "A100"), id="one-of-each"),
        pytest.param(within(PRODUCT, "V100-16GB"), ("V100",), id="one-of-several-products"),
        pytest.param(within(PRODUCT, "V100-16GB", operator="NotIn"), ("V100", "A100"), id="another-product-is-left"),
        pytest.param(within(PRODUCT, "V100-16GB", "V100-32GB", operator="NotIn"), ("A100",), id="no-product-is-left"),
        pytest.param(within(PRODUCT, "H100"), (), id="a-product-of-no-type"),
        pytest.param(within("memory", "50000", operator="Gt"), ("A100",), id="more-than-the-type-has"),
    ],
)
def test_expressions_by_which_types_are_recognised_narrow_too(expression, types):
    document = pod(1, affinity=required([expression]))
    (way,) = find_ways(EXPRESSED, PodView(document), ("V100", "A100"), ("SLOT-1",))

    assert way.gpu_types == types


def test_wishes_that_only_exclude_each_other_together_block_at_the_second():
    (way,) = ways(affinity=required([within(TYPE, "H100"), within(GROUP, "SMALL")]))

    assert (way.is_possible, way.blocker.requirement.key) == (False, GROUP)


@pytest.mark.parametrize(
    ("chosen", "expression", "matches_nothing"),
    [
        pytest.param("a", within("zone", "b"), True, id="another-value"),
        pytest.param("a", within("zone", "a", operator="NotIn"), True, id="not-this-value"),
        pytest.param("a", within("zone", operator="DoesNotExist"), True, id="no-value"),
        pytest.param("4", within("zone", "4", operator="Gt"), True, id="a-larger-number"),
        pytest.param("a", within("zone", "a", "b"), False, id="this-value-too"),
        pytest.param("a", within("zone", operator="Exists"), False, id="any-value"),
        pytest.param("a", within("rack", "b"), False, id="another-label"),
    ],
)
def test_a_term_that_the_node_selector_excludes_matches_nothing_whatever_the_label(chosen, expression, matches_nothing):
    (way,) = ways(nodeSelector={"zone": chosen}, affinity=required([expression]))

    assert (way.matches_nothing, way.is_possible) == (matches_nothing, not matches_nothing)


@pytest.mark.parametrize("key", ["zone", TYPE, "nvidia.com/gpu.memory"])
def test_an_expression_that_compares_with_no_number_matches_nothing_whatever_the_label(key):
    (way,) = ways(affinity=required([within(key, "40Gi", operator="Gt")]))

    assert (way.matches_nothing, way.blocker.field[-1]) == (True, 0)


@pytest.mark.parametrize("names", [("v100", "V100"), ("V100", "v100"), ("v100", "v100")], ids=str)
def test_a_type_and_its_alias_do_not_exclude_each_other(names):
    selected, listed = names

    assert left(nodeSelector={TYPE: selected}, affinity=required([within(TYPE, listed)])) == [(("V100",), ("SMALL",))]


def rivals(**spec):
    (way,) = ways(**spec)
    return [describe(wish.requirement) for wish in find_rivals(POLICY, way, TYPES, GROUPS)]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param({"nodeSelector": {TYPE: "H200"}}, [], id="alone"),
        pytest.param(
            {"nodeSelector": {GROUP: "SMALL"}, "affinity": required([within(TYPE, "H100")])},
            [f"{GROUP} In [SMALL]"],
            id="the-node-selector",
        ),
        pytest.param(
            {"affinity": required([within(TYPE, "V100", operator="NotIn"), within(TYPE, "V100")])},
            [f"{TYPE} NotIn [V100]"],
            id="in-one-term",
        ),
        pytest.param(
            {"nodeSelector": {"zone": "a"}, "affinity": required([within("zone", "b")])},
            ["zone In [a]"],
            id="a-label-that-nothing-is-known-of",
        ),
        pytest.param(
            {
                "nodeSelector": {GROUP: "SMALL"},
                "affinity": required(
                    [
                        within("zone", "a"),
                        within(TYPE, "V100", operator="NotIn"),
                        within(TYPE, "H100", operator="NotIn"),
                        within(TYPE, "A100", operator="NotIn"),
                    ]
                ),
            },
            [f"{GROUP} In [SMALL]", f"{TYPE} NotIn [V100]"],
            id="all-that-left-fewer",
        ),
    ],
)
def test_the_wishes_are_told_that_exclude_another_one(spec, told):
    assert rivals(**spec) == told


def test_terms_are_ways_of_their_own():
    assert left(affinity=required([within(TYPE, "V100")], [within(TYPE, "H100")])) == [
        (("V100",), ("SMALL",)),
        (("H100",), ("LARGE",)),
    ]


def test_the_node_selector_holds_for_every_term():
    assert left(nodeSelector={GROUP: "SMALL"}, affinity=required([within(TYPE, "V100")], [within(TYPE, "H100")])) == [
        (("V100",), ("SMALL",)),
        ((), ()),
    ]


def test_a_node_selector_that_leaves_nothing_is_told_once():
    spec = {"nodeSelector": {GROUP: "GONE"}, "affinity": required(*[[within(TYPE, "V100")]] * 3)}

    assert [way.blocker.field for way in ways(**spec)] == [("spec", "nodeSelector", GROUP)]


def test_an_empty_term_is_a_way_that_matches_nothing():
    (way,) = ways(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}})
    field = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms", 0)

    assert way == Way(field, (), (), matches_nothing=True)


@pytest.mark.parametrize("value", [{}, {"nodeSelectorTerms": []}, {"nodeSelectorTerms": None}], ids=str)
def test_a_required_node_affinity_without_a_term_is_a_way_that_matches_nothing(value):
    (way,) = ways(affinity={"nodeAffinity": {REQUIRED: value}})

    assert way == Way(("spec", "affinity", "nodeAffinity", REQUIRED), (), (), matches_nothing=True)


def test_a_term_of_fields_alone_narrows_nothing_that_we_know():
    term = {"matchFields": [within("metadata.name", "gpu-01")]}

    assert left(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}) == [(TYPES, GROUPS)]


def test_an_operator_that_kubernetes_does_not_have_is_no_wish():
    assert left(affinity=required([within(TYPE, "V100", operator="Like")])) == [(TYPES, GROUPS)]


def test_what_an_earlier_run_of_ours_added_is_no_wish():
    ours = Requirement(key=GROUP, operator="In", values=("SMALL",))
    (way,) = ways((ours,), affinity=required([within(GROUP, "SMALL"), within(TYPE, "H100")]))

    assert (way.gpu_types, way.slot_groups) == (("H100",), ("LARGE",))


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        pytest.param((TYPE, "v100", "A100"), ("V100", "A100"), id="alias"),
        pytest.param((TYPE, "v100", "V100"), ("V100",), id="once"),
        pytest.param(("zone", "v100"), ("v100",), id="other-label"),
    ],
)
def test_aliases_are_resolved_on_the_type_label_alone(expression, values):
    key, *asked = expression

    assert resolve_aliases(POLICY, Requirement(key=key, operator="In", values=tuple(asked))).values == values


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        pytest.param(Requirement(key="zone", operator="In", values=("a", "b")), "zone In [a, b]", id="values"),
        pytest.param(Requirement(key="zone", operator="Exists"), "zone Exists", id="no-values"),
        pytest.param(
            Requirement(key="z", operator="In", values=tuple("abcdefgh")), "z In [a, b, c, d, e, and 3 more]", id="many"
        ),
        pytest.param(Requirement(key="z", operator="In", values=("a\nb",)), "z In [a\\nb]", id="line-break"),
    ],
)
def test_a_requirement_is_described_in_short(requirement, text):
    assert describe(requirement) == text
