"""Tolerations: added for the taints of the pod's groups where none covers them, and never twice."""

import pytest
from builders import GROUP, ROUTED_TO, described, group, patched, pod, policy

from gpupolicy.admission import admit
from gpupolicy.model import Admission, Routing


def ladder(small="PreferNoSchedule", large="NoSchedule", **fields):
    return policy(group("SMALL", 1, 2, taint=small), group("LARGE", 8, overflow=("SMALL",), taint=large), **fields)


POLICY = ladder()
PREFERRING = ladder(admission=Admission(routing=Routing.PREFERRED))
OFF = ladder(admission=Admission(routing=Routing.OFF))
EVICTING = ladder(small="NoExecute")


def ours(name, effect):
    return {"key": GROUP, "operator": "Equal", "value": name, "effect": effect}


SMALL, LARGE = ours("SMALL", "PreferNoSchedule"), ours("LARGE", "NoSchedule")
OTHER = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def mutated(document, found=POLICY):
    return patched(document, admit(found, document).patch)


def tolerations(document, found=POLICY):
    return mutated(document, found)["spec"].get("tolerations")


@pytest.mark.parametrize(
    ("present", "result"),
    [
        pytest.param({}, [SMALL], id="none"),
        pytest.param({"tolerations": None}, [SMALL], id="null"),
        pytest.param({"tolerations": []}, [SMALL], id="empty"),
        pytest.param({"tolerations": [OTHER]}, [OTHER, SMALL], id="another"),
    ],
)
def test_the_taint_of_the_slot_group_is_tolerated(present, result):
    assert tolerations(pod(1, **present)) == result


def test_the_taints_of_overflow_groups_are_tolerated_too():
    assert tolerations(pod(8)) == [LARGE, SMALL]


def test_a_group_without_a_taint_needs_no_toleration():
    assert tolerations(pod(1), policy(group("SMALL", 1), group("LARGE", 8, taint="NoSchedule"))) is None


@pytest.mark.parametrize(
    "covering",
    [
        pytest.param({"operator": "Exists"}, id="everything"),
        pytest.param({"key": "", "operator": "Exists", "effect": ""}, id="everything-in-empty-words"),
        pytest.param({"operator": "Exists", "effect": "NoExecute"}, id="every-key"),
        pytest.param({"key": GROUP, "operator": "Exists"}, id="every-value-and-effect"),
        pytest.param({"key": GROUP, "value": "SMALL"}, id="equal-by-default"),
        pytest.param({**ours("SMALL", "NoExecute"), "operator": ""}, id="operator-empty"),
        pytest.param(ours("SMALL", "NoExecute"), id="the-same"),
    ],
)
def test_nothing_is_added_beside_a_toleration_that_covers(covering):
    assert tolerations(pod(1, tolerations=[covering]), EVICTING) == [covering]


@pytest.mark.parametrize(
    "narrow",
    [
        pytest.param({"key": GROUP, "operator": "Exists", "effect": "NoSchedule"}, id="another-effect"),
        pytest.param({"key": "other", "operator": "Exists"}, id="another-key"),
        pytest.param(ours("LARGE", "NoExecute"), id="another-value"),
        pytest.param({"key": GROUP}, id="no-value"),
        pytest.param({"key": GROUP, "operator": "Gt", "value": "SMALL"}, id="a-comparison-of-numbers"),
        pytest.param({"operator": "Exists", "tolerationSeconds": 300}, id="only-for-a-while"),
    ],
)
def test_a_toleration_that_does_not_cover_stays_and_ours_is_added(narrow):
    assert tolerations(pod(1, tolerations=[narrow]), EVICTING) == [narrow, ours("SMALL", "NoExecute")]


def test_a_toleration_for_a_while_covers_a_taint_that_evicts_nobody():
    brief = {"key": GROUP, "operator": "Exists", "tolerationSeconds": 300}

    assert tolerations(pod(1, tolerations=[brief])) == [brief]


def test_a_second_run_adds_nothing():
    assert admit(POLICY, mutated(pod(8))).patch == ()


def test_a_pod_that_grew_has_the_tolerations_of_its_new_groups_alone():
    grown = mutated(pod(1, tolerations=[OTHER]))
    grown["spec"]["containers"] = pod(8)["spec"]["containers"]

    found = policy(group("SMALL", 1, taint="NoSchedule"), group("LARGE", 8, taint="NoSchedule"))
    again = mutated({**grown, "spec": {**grown["spec"], "tolerations": [OTHER, ours("SMALL", "NoSchedule")]}}, found)

    assert again["spec"]["tolerations"] == [OTHER, LARGE]


def test_a_forged_note_removes_no_toleration_that_is_not_of_our_form():
    forged = described(pod(1, tolerations=[{**LARGE, "operator": "Exists"}]), annotations={ROUTED_TO: "LARGE"})

    assert tolerations(forged) == [{**LARGE, "operator": "Exists"}, SMALL]


def test_a_preferred_routing_tolerates_the_groups_that_it_prefers():
    assert tolerations(pod(8), PREFERRING) == [LARGE, SMALL]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        pytest.param(pod(8), OFF, id="not-routed"),
        pytest.param(pod(None), POLICY, id="without-gpus"),
        pytest.param(pod(8, nodeName="gpu-01"), ladder(admission=Admission()), id="sent-to-a-node"),
    ],
)
def test_who_is_not_routed_gets_no_toleration(document, found):
    assert tolerations(document, found) is None


def final(document, found=POLICY):
    return [v.message for v in admit(found, document, final=True).violations]


def test_a_pod_in_its_final_form_without_the_toleration_it_needs_is_denied():
    lost = mutated(pod(8))
    lost["spec"]["tolerations"] = [SMALL]

    assert final(lost) == [
        "the pod is not routed: it does not tolerate the taint of its slot groups; "
        "the mutating webhook did not see it, or another one changed it afterwards"
    ]


@pytest.mark.parametrize(
    ("gpus", "found"),
    [
        pytest.param(1, POLICY, id="a-taint-that-keeps-nobody-off"),
        pytest.param(8, PREFERRING, id="a-routing-that-binds-to-no-node"),
    ],
)
def test_a_pod_that_can_run_without_the_toleration_is_allowed_without_it(gpus, found):
    lost = mutated(pod(gpus), found)
    del lost["spec"]["tolerations"]

    assert final(lost, found) == []
