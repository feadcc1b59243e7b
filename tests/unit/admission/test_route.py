"""What a target means: requirements, preferences and the note, and what is read back from a note."""

import pytest
from builders import GROUP, ROUTED_TO, TYPE, described, pod, policy

from gpupolicy.admission.placement import Target
from gpupolicy.admission.route import NOWHERE, Preference, find_previous, find_route
from gpupolicy.labels import Requirement
from gpupolicy.model import Admission, Routing
from gpupolicy.pod import PodView

POLICY = policy()
TARGET = Target((("LARGE",), ("MIDDLE", "SMALL")), ("V100",), fence=("SMALL",))


def within(key, *values):
    return Requirement(key=key, operator="In", values=values)


@pytest.mark.parametrize(
    ("routing", "requirements", "weights"),
    [
        pytest.param("required", (within(GROUP, "LARGE", "MIDDLE", "SMALL"),), [100], id="required"),
        pytest.param("preferred", (within(GROUP, "SMALL"),), [100, 10], id="preferred-within-the-fence"),
    ],
)
def test_a_route_depends_on_the_routing(routing, requirements, weights):
    route = find_route(policy(admission=Admission(routing=Routing(routing))), TARGET)

    assert (route.requirements, [p.weight for p in route.preferences]) == (requirements, weights)


def test_a_preference_names_the_groups_of_its_level():
    route = find_route(POLICY, TARGET)

    assert route.preferences == (Preference(100, within(GROUP, "LARGE")),)


def test_the_type_is_required_beside_the_groups():
    route = find_route(POLICY, Target((("SMALL",),), ("V100", "A100"), requires_type=True))

    assert route.requirements == (within(GROUP, "SMALL"), within(TYPE, "V100", "A100"))


def noted(note):
    return find_previous(POLICY, PodView(described(pod(1), annotations={ROUTED_TO: note})))


@pytest.mark.parametrize(
    ("target", "note"),
    [
        pytest.param(Target((("SLOT-8",),), ()), "SLOT-8", id="one-group"),
        pytest.param(Target((("A", "B"), ("C",)), ()), "A,B>C", id="levels"),
        pytest.param(Target((("A",),), ("V100", "A100"), requires_type=True), "A|V100,A100", id="types"),
        pytest.param(Target((), ("V100",), requires_type=True), "|V100", id="types-alone"),
        pytest.param(Target((), ("V100",)), "", id="nothing"),
    ],
)
def test_a_route_is_noted_in_one_line(target, note):
    assert find_route(POLICY, target).note == note


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(Target((("A", "B"), ("C",)), ("V100",)), id="levels"),
        pytest.param(Target((("A",),), ("V100", "A100"), requires_type=True), id="types"),
        pytest.param(Target((), ("V100",), requires_type=True), id="types-alone"),
    ],
)
def test_what_is_read_back_from_a_note_requires_the_same(target):
    route = find_route(POLICY, target)
    found = noted(route.note)

    assert (found.requirements, found.preferences, found.note) == (route.requirements, route.preferences, route.note)


@pytest.mark.parametrize("note", ["", None, 8, ["A"], "x" * 16_385], ids=["empty", "null", "number", "list", "long"])
def test_a_note_of_no_sense_leads_nowhere(note):
    assert noted(note) == NOWHERE


def test_a_route_is_worked_out_once():
    assert find_route(POLICY, TARGET) is find_route(POLICY, TARGET)
