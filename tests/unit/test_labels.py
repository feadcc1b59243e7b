"""Names that Kubernetes takes, selectors, and which label keys a kubelet may set on itself."""

import pytest
from builders import within

from gpupolicy.labels import (
    LabelSelector,
    Requirement,
    find_dns_label_problem,
    find_dns_subdomain_problem,
    find_glob_problem,
    find_label_key_problem,
    find_label_value_problem,
    is_kubelet_settable,
    matches_glob,
    to_requirement,
)


@pytest.mark.parametrize("value", ["", "a", "SLOT-8", "NVIDIA-V100_32.GB", "x" * 63])
def test_a_label_value_of_letters_digits_dashes_is_taken(value):
    assert find_label_value_problem(value) is None


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("x" * 64, "has 64 characters, at most 63 are allowed", id="long"),
        pytest.param(
            "-a",
            "may hold letters, digits, '-', '_' and '.', and starts and ends with a letter or digit",
            id="dash-first",
        ),
        pytest.param(
            "A 100",
            "may hold letters, digits, '-', '_' and '.', and starts and ends with a letter or digit",
            id="space",
        ),
        pytest.param(
            "a\n", "may hold letters, digits, '-', '_' and '.', and starts and ends with a letter or digit", id="line"
        ),
    ],
)
def test_a_label_value_that_kubernetes_refuses_says_why(value, problem):
    assert find_label_value_problem(value) == problem


@pytest.mark.parametrize("key", ["a", "my.gpu.cluster/gpu-type", "nvidia.com/gpu.product"])
def test_a_label_key_with_or_without_prefix_is_taken(key):
    assert find_label_key_problem(key) is None


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        pytest.param("", "has an empty name", id="empty"),
        pytest.param("a/", "has an empty name", id="no-name"),
        pytest.param("/a", "prefix is empty", id="no-prefix"),
        pytest.param(
            "My.Domain/a",
            "prefix may hold lower case letters, digits, '-' and '.', and starts and ends with a letter or digit",
            id="upper-case-prefix",
        ),
        pytest.param(
            "a/b/c",
            "prefix may hold lower case letters, digits, '-' and '.', and starts and ends with a letter or digit",
            id="two-slashes",
        ),
        pytest.param("a/" + "x" * 64, "name has 64 characters, at most 63 are allowed", id="long-name"),
    ],
)
def test_a_label_key_that_kubernetes_refuses_says_why(key, problem):
    assert find_label_key_problem(key) == problem


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("training", None, id="fine"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("a" * 64, "has 64 characters, at most 63 are allowed", id="long"),
        pytest.param(
            "a.b", "may hold lower case letters, digits and '-', and starts and ends with a letter or digit", id="dot"
        ),
    ],
)
def test_a_dns_label_is_lower_case_and_short(name, problem):
    assert find_dns_label_problem(name) == problem


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("a.b-c.d", None, id="fine"),
        pytest.param("a" * 254, "has 254 characters, at most 253 are allowed", id="long"),
        pytest.param(
            "a..b",
            "may hold lower case letters, digits, '-' and '.', and starts and ends with a letter or digit",
            id="empty-label",
        ),
    ],
)
def test_a_dns_subdomain_is_dns_labels_joined_by_dots(name, problem):
    assert find_dns_subdomain_problem(name) == problem


# Measured on 1.37.2 with NodeRestriction.
@pytest.mark.parametrize(
    "key",
    [
        "my.gpu.cluster/node-group",
        "nvidia.com/gpu.product",
        "plain",
        "node.kubernetes.io/anything",
        "my.node.kubernetes.io/anything",
        "kubelet.kubernetes.io/x",
        "topology.kubernetes.io/zone",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/arch",
    ],
)
def test_a_kubelet_may_set(key):
    assert is_kubelet_settable(key) is True


@pytest.mark.parametrize(
    "key",
    [
        "node-restriction.kubernetes.io/group",
        "my.gpu.cluster.node-restriction.kubernetes.io/node-group",
        "my-node-restriction.kubernetes.io/x",
        "kubernetes.io/gpu",
        "gpu.kubernetes.io/x",
        "k8s.io/x",
        "x.k8s.io/y",
        "node-role.kubernetes.io/gpu",
        "topology.kubernetes.io/rack",
    ],
)
def test_a_kubelet_may_not_set(key):
    assert is_kubelet_settable(key) is False


@pytest.mark.parametrize(
    ("name", "patterns", "matches"),
    [
        pytest.param("team-a", ("team-a",), True, id="name"),
        pytest.param("team-a", ("x", "team-*"), True, id="star"),
        pytest.param("gpu-03", ("gpu-0[1-4]",), True, id="range"),
        pytest.param("gpu-05", ("gpu-0[1-4]",), False, id="outside-range"),
        pytest.param("Team-a", ("team-a",), False, id="case-counts"),
        pytest.param("team-ab", ("team-?",), False, id="one-character"),
        pytest.param("team-a", (), False, id="no-pattern"),
    ],
)
def test_a_glob_matches_the_whole_name(name, patterns, matches):
    assert matches_glob(name, patterns) is matches


@pytest.mark.parametrize(
    ("one", "other", "implies"),
    [
        pytest.param(("In", "a"), ("In", "a", "b"), True, id="fewer-values"),
        pytest.param(("In", "a", "b"), ("In", "a"), False, id="more-values"),
        pytest.param(("NotIn", "a", "b"), ("NotIn", "a"), True, id="more-values-shut-out"),
        pytest.param(("NotIn", "a"), ("NotIn", "a", "b"), False, id="fewer-values-shut-out"),
        pytest.param(("In", "a"), ("Exists",), True, id="a-value-is-there"),
        pytest.param(("NotIn", "a"), ("Exists",), False, id="not-in-needs-no-label"),
        pytest.param(("Gt", "4"), ("Gt", "4"), True, id="same-bound"),
        pytest.param(("Gt", "8"), ("Gt", "4"), False, id="bounds-are-not-compared"),
    ],
)
def test_one_requirement_implies_another(one, other, implies):
    first, second = (Requirement(key="k", operator=operator, values=tuple(v)) for operator, *v in (one, other))

    assert first.implies(second) is implies


@pytest.mark.parametrize(
    ("operator", "values", "labels", "matches"),
    [
        pytest.param("In", ("a", "b"), {"k": "a"}, True, id="in"),
        pytest.param("In", ("a",), {}, False, id="in-absent"),
        pytest.param("NotIn", ("a",), {"k": "a"}, False, id="not-in"),
        pytest.param("NotIn", ("a",), {}, True, id="not-in-absent"),
        pytest.param("Exists", (), {"k": ""}, True, id="exists"),
        pytest.param("Exists", (), {}, False, id="exists-absent"),
        pytest.param("DoesNotExist", (), {}, True, id="does-not-exist"),
        pytest.param("DoesNotExist", (), {"k": "a"}, False, id="does-not-exist-present"),
        pytest.param("Gt", ("4",), {"k": "8"}, True, id="gt"),
        pytest.param("Gt", ("8",), {"k": "8"}, False, id="gt-equal"),
        pytest.param("Lt", ("4",), {"k": "-3"}, True, id="lt"),
        pytest.param("Lt", ("4",), {"k": "0000000000000000000000003"}, True, id="lt-zeros"),
        pytest.param("Gt", ("4",), {"k": "many"}, False, id="gt-word"),
        pytest.param("Gt", ("4",), {}, False, id="gt-absent"),
        pytest.param("Gt", ("4", "5"), {"k": "8"}, False, id="gt-two-values"),
        pytest.param("Lt", ("99999999999999999999",), {"k": "8"}, False, id="lt-beyond-64-bits"),
    ],
)
def test_an_expression_holds_as_kubernetes_has_it(operator, values, labels, matches):
    assert Requirement(key="k", operator=operator, values=values).matches(labels) is matches


SELECTOR = LabelSelector(match_labels={"a": "1"}, match_expressions=(Requirement(key="b", operator="Exists"),))


@pytest.mark.parametrize(
    ("labels", "matches"),
    [
        pytest.param({"a": "1", "b": "x"}, True, id="both"),
        pytest.param({"a": "1"}, False, id="label-alone"),
        pytest.param({"b": "x"}, False, id="expression-alone"),
    ],
)
def test_all_parts_of_a_selector_must_hold(labels, matches):
    assert SELECTOR.matches(labels) is matches


@pytest.mark.parametrize(
    ("own", "wish", "can_meet"),
    [
        pytest.param([], ("In", "a"), True, id="nothing-said-of-the-label"),
        pytest.param([("In", "a", "b")], ("In", "b", "c"), True, id="lists-that-share-a-value"),
        pytest.param([("In", "a", "b")], ("In", "c"), False, id="lists-that-share-none"),
        pytest.param([("In", "a", "b"), ("NotIn", "b")], ("In", "b"), False, id="the-shared-value-is-excluded"),
        pytest.param([("In", "a", "b")], ("NotIn", "a"), True, id="one-value-is-left"),
        pytest.param([("In", "a", "b")], ("NotIn", "a", "b"), False, id="no-value-is-left"),
        pytest.param([("In", "a")], ("Exists",), True, id="present"),
        pytest.param([("In", "a")], ("DoesNotExist",), False, id="present-and-absent"),
        pytest.param([("In", "4", "8")], ("Gt", "4"), True, id="a-number-of-the-list"),
        pytest.param([("In", "4", "8")], ("Gt", "8"), False, id="no-number-of-the-list"),
        pytest.param([("NotIn", "a")], ("In", "a"), False, id="the-excluded-value"),
        pytest.param([("NotIn", "a")], ("In", "a", "b"), True, id="another-than-the-excluded-value"),
        pytest.param([("NotIn", "a")], ("DoesNotExist",), True, id="absent-is-not-the-excluded-value"),
        pytest.param([("Exists",)], ("DoesNotExist",), False, id="exists-and-absent"),
        pytest.param([("Exists",)], ("NotIn", "a"), True, id="exists-with-another-value"),
        pytest.param([("DoesNotExist",)], ("In", "a"), False, id="absent-and-a-value"),
        pytest.param([("DoesNotExist",)], ("NotIn", "a"), True, id="absent-and-not-a-value"),
        pytest.param([("DoesNotExist",)], ("Gt", "1"), False, id="absent-and-a-number"),
        pytest.param([("Lt", "5")], ("Gt", "3"), True, id="one-number-between"),
        pytest.param([("Lt", "5")], ("Gt", "4"), False, id="no-number-between"),
        pytest.param([("Gt", "4")], ("Lt", "5"), False, id="no-number-between-the-other-way-round"),
        pytest.param([("Gt", "4")], ("Gt", "9"), True, id="both-above"),
        pytest.param([("Gt", "4")], ("In", "4", "x"), False, id="no-value-above"),
        pytest.param([("Lt", "5")], ("Gt", "x"), False, id="no-number"),
    ],
)
def test_a_wish_is_held_against_the_expressions_on_the_same_label(own, wish, can_meet):
    selector = LabelSelector(match_expressions=tuple(expression("label", *each) for each in own))

    assert selector.can_meet(expression("label", *wish)) is can_meet


def test_expressions_on_other_labels_say_nothing_of_a_wish():
    selector = LabelSelector(match_expressions=(expression("other", "In", "a"),))

    assert selector.can_meet(expression("label", "In", "b")) is True


@pytest.mark.parametrize(
    ("wish", "lacks_number"),
    [
        pytest.param(("Gt", "40"), False, id="number"),
        pytest.param(("Lt", "08"), False, id="leading-zero"),
        pytest.param(("Gt", "40Gi"), True, id="unit"),
        pytest.param(("Lt", "0.5"), True, id="fraction"),
        pytest.param(("Gt", ""), True, id="empty"),
        pytest.param(("Gt", "9223372036854775808"), True, id="larger-than-int64"),
        pytest.param(("In", "x"), False, id="another-operator"),
    ],
)
def test_only_whole_numbers_can_be_compared(wish, lacks_number):
    """Measured on 1.37.2: the API server takes any label value, kube-scheduler reads int64."""
    assert expression("label", *wish).lacks_number is lacks_number


def expression(key, operator, *values):
    return Requirement(key=key, operator=operator, values=values)


def test_an_empty_selector_selects_everything():
    assert LabelSelector().matches({}) is True


def test_a_selector_can_be_told_as_expressions_alone():
    assert SELECTOR.to_requirements() == (
        Requirement(key="a", operator="In", values=("1",)),
        Requirement(key="b", operator="Exists"),
    )


def test_a_foreign_expression_becomes_a_requirement():
    assert to_requirement(within("k", "a", "b")) == Requirement(key="k", operator="In", values=("a", "b"))


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("k in (a)", id="text"),
        pytest.param({"operator": "In", "values": []}, id="no-key"),
        pytest.param({"key": "k", "operator": "in", "values": ["a"]}, id="lower-case-operator"),
        pytest.param({"key": "k", "operator": ["In"]}, id="list-for-operator"),
        pytest.param({"key": "k", "operator": "In", "values": "a"}, id="text-for-values"),
        pytest.param({"key": "k", "operator": "In", "values": [1]}, id="number-for-value"),
    ],
)
def test_what_is_no_expression_becomes_none(expression):
    assert to_requirement(expression) is None


def test_a_pattern_that_is_longer_than_any_name_fits_none_and_takes_no_time() -> None:
    """Each bracket that nothing closes was looked for up to the end: minutes for 100,000."""
    pattern = "[" * 100_000

    assert not matches_glob("a", (pattern,))
    assert find_glob_problem(pattern, lambda _: None) == "has more than 1,000 characters"
