"""Which groups serve a request, in which order, and what access leaves of them."""

import pytest
from builders import access, gpu_type, group, policy

from gpupolicy.admission.placement import EVERYTHING, Access, Target, access_field, find_access, find_target
from gpupolicy.labels import LabelSelector
from gpupolicy.model import AccessRule, Admission, NamespaceMatch, Routing

V100, A100 = gpu_type("V100"), gpu_type("A100")
BOTH = (V100, A100)


def target(size, *groups, types=BOTH, allowed=EVERYTHING, routing="required"):
    found = policy(*groups, types=types, admission=Admission(routing=Routing(routing)))
    return find_target(found, types, size, allowed)


def test_a_request_goes_to_the_group_of_its_size():
    assert target(4) == Target((("SLOT-4",),), ("V100", "A100"))


def test_groups_of_the_same_size_are_equal():
    assert target(1, group("A", 1), group("B", 1, 2)).levels == (("A", "B"),)


def test_overflow_follows_in_the_order_listed():
    found = target(8, group("S", 1), group("M", 4), group("L", 8, overflow=("M", "S")))

    assert found.levels == (("L",), ("M",), ("S",))


def test_the_overflow_of_equal_groups_is_merged_level_by_level():
    found = target(
        8,
        group("S", 1),
        group("M", 4),
        group("A", 8, overflow=("S",)),
        group("B", 8, overflow=("M", "S")),
    )

    assert found.levels == (("A", "B"), ("S", "M"))


def test_overflow_is_not_followed_further():
    found = target(8, group("S", 1), group("M", 4, overflow=("S",)), group("L", 8, overflow=("M",)))

    assert found.levels == (("L",), ("M",))


def test_overflow_back_to_an_own_group_counts_once():
    assert target(8, group("A", 8, overflow=("B",)), group("B", 8, overflow=("A",))).levels == (("A", "B"),)


def test_an_unknown_overflow_group_is_left_out():
    assert target(8, group("L", 8, overflow=("GONE",))).levels == (("L",),)


def test_a_size_that_no_group_serves_goes_nowhere():
    assert target(4, group("S", 1)) is None


def test_a_group_without_nodes_of_the_types_does_not_serve():
    found = policy(group("SMALL", 1, types=("V100",)), group("OTHER", 1, types=("A100",)), types=BOTH)

    assert find_target(found, (A100,), 1, EVERYTHING) == Target((("OTHER",),), ("A100",))


def test_only_types_that_the_groups_have_are_named():
    assert target(1, group("SMALL", 1, types=("V100",))).gpu_types == ("V100",)


@pytest.mark.parametrize(
    ("types", "size", "gpu_types", "requires_type"),
    [
        pytest.param(BOTH, 4, ("V100", "A100"), False, id="every-type-may-serve"),
        pytest.param(
            (V100, gpu_type("A100", request_sizes=(1,))), 4, ("V100",), True, id="size-not-admitted-on-the-other"
        ),
        pytest.param((V100, gpu_type("A100", 4)), 8, ("V100",), False, id="the-other-is-too-small-anyway"),
    ],
)
def test_a_type_is_required_where_a_group_has_nodes_that_may_not_serve(types, size, gpu_types, requires_type):
    found = target(size, group("ALL", 1, 2, 4, 8), types=types)

    assert (found.gpu_types, found.requires_type) == (gpu_types, requires_type)


def test_a_type_that_the_namespace_may_not_use_is_fenced_off():
    found = target(4, allowed=Access(gpu_types=frozenset({"A100"})))

    assert found == Target((("SLOT-4",),), ("A100",), requires_type=True)


def test_a_group_that_the_namespace_may_not_use_is_left_out():
    groups = (group("S", 1), group("L", 8, overflow=("S",)))

    assert target(8, *groups, allowed=Access(slot_groups=frozenset({"L"}))).levels == (("L",),)


def test_a_namespace_without_an_own_group_goes_nowhere():
    groups = (group("S", 1), group("L", 8, overflow=("S",)))

    assert target(8, *groups, allowed=Access(slot_groups=frozenset({"S"}))) is None


@pytest.mark.parametrize("routing", ["preferred", "off"])
def test_where_routing_does_not_bind_the_allowed_groups_are_a_fence(routing):
    found = target(4, allowed=Access(slot_groups=frozenset({"SLOT-8", "SLOT-4"})), routing=routing)

    assert found.fence == ("SLOT-4", "SLOT-8")


@pytest.mark.parametrize("routing", ["preferred", "off"])
def test_where_everything_is_allowed_there_is_no_fence(routing):
    assert target(4, routing=routing).fence == ()


@pytest.mark.parametrize("routing", ["required", "preferred", "off"])
def test_access_to_no_group_at_all_goes_nowhere(routing):
    assert target(4, allowed=Access(slot_groups=frozenset()), routing=routing) is None


def test_without_routing_there_are_no_levels():
    assert target(4, routing="off") == Target((), ("V100", "A100"))


def test_without_routing_no_group_needs_to_serve_the_size():
    assert target(4, group("S", 1), routing="off") == Target((), ("V100", "A100"))


def allowed(*rules, namespace="team-a", labels=None):
    found = policy(types=BOTH, admission=Admission(access=rules))
    return find_access(found, namespace, labels or {})


def test_without_access_rules_everything_is_allowed():
    assert allowed() == Access(None, None)


def test_a_namespace_that_no_rule_names_may_use_nothing():
    assert allowed(access("team-b")) is None


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        pytest.param((access("team-*", types=("V100",)),), Access(frozenset({"V100"}), None), id="omitted-means-all"),
        pytest.param(
            (access(types=("V100",), groups=("SLOT-1",)), access("team-a", types=("A100",), groups=("SLOT-8",))),
            Access(frozenset({"V100", "A100"}), frozenset({"SLOT-1", "SLOT-8"})),
            id="rules-add-up",
        ),
        pytest.param((access(types=("V100",)), access("team-a")), Access(None, None), id="one-allows-all"),
        pytest.param(
            (access("team-a", types=("V100",)), access("team-b", types=("A100",))),
            Access(frozenset({"V100"}), None),
            id="rules-of-others-do-not-count",
        ),
    ],
)
def test_access_is_the_union_of_the_rules_that_match(rules, found):
    assert allowed(*rules) == found


def test_access_by_namespace_labels():
    rule = AccessRule(namespaces=NamespaceMatch(selector=LabelSelector(match_labels={"tier": "gold"})))

    assert (allowed(rule, labels={"tier": "gold"}), allowed(rule)) == (Access(), None)


@pytest.mark.parametrize(
    ("namespace", "field"),
    [
        pytest.param("team-b", ("spec", "admission", "access", 1), id="first-that-matches"),
        pytest.param("other", ("spec", "admission", "access"), id="none-matches"),
    ],
)
def test_the_field_that_decides_access_is_known(namespace, field):
    found = policy(admission=Admission(access=(access("team-a"), access("team-b"))))

    assert access_field(found, namespace, {}) == field
