"""The patch: merged into every term that the user wrote, brought up to date by a later run, and never twice."""

import pytest
from builders import (
    GROUP,
    PREFERRED,
    REQUIRED,
    ROUTED_TO,
    TYPE,
    container,
    described,
    enforcing,
    gpu_type,
    group,
    patched,
    pod,
    policy,
    preference,
    preferred,
    required,
    terms_of,
    within,
)

from gpupolicy.admission import admit
from gpupolicy.model import Admission, Routing

POLICY = policy()
OVERFLOW = policy(group("SMALL", 1, 2), group("MIDDLE", 4), group("LARGE", 8, overflow=("MIDDLE", "SMALL")))
PREFERRING = policy(admission=Admission(routing=Routing.PREFERRED))
OFF = policy(admission=Admission(routing=Routing.OFF))

IN_1, IN_2, IN_4, IN_8 = (within(GROUP, f"SLOT-{size}") for size in (1, 2, 4, 8))
FIELDS = {"matchFields": [within("metadata.name", "gpu-01")]}
PODS = {"podAntiAffinity": {PREFERRED: []}}


def mutated(document, found=POLICY):
    return patched(document, admit(found, document).patch)


def with_terms(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def in_levels(*levels):
    return within(GROUP, *levels)


# Every shape in which a pod's affinity may arrive (measured on 1.37.2), and what has to become of it.
@pytest.mark.parametrize(
    ("affinity", "result"),
    [
        pytest.param({}, required([IN_8]), id="empty"),
        pytest.param(None, required([IN_8]), id="null"),
        pytest.param({"nodeAffinity": {}}, required([IN_8]), id="node-affinity-empty"),
        pytest.param({"nodeAffinity": None}, required([IN_8]), id="node-affinity-null"),
        pytest.param(PODS, {**PODS, **required([IN_8])}, id="anti-affinity-alone"),
        pytest.param(
            preferred(preference(50, within("zone", "a"))),
            {
                "nodeAffinity": {
                    **preferred(preference(50, within("zone", "a")))["nodeAffinity"],
                    **required([IN_8])["nodeAffinity"],
                }
            },
            id="preferred-alone",
        ),
        pytest.param({"nodeAffinity": {REQUIRED: None}}, required([IN_8]), id="required-null"),
        pytest.param(
            required([within("zone", "a")], [within("zone", "b"), within(TYPE, "A100")]),
            required([within("zone", "a"), IN_8], [within("zone", "b"), within(TYPE, "A100"), IN_8]),
            id="two-terms",
        ),
        pytest.param(with_terms(FIELDS), with_terms({**FIELDS, "matchExpressions": [IN_8]}), id="fields-alone"),
        pytest.param(
            with_terms({**FIELDS, "matchExpressions": None}),
            with_terms({**FIELDS, "matchExpressions": [IN_8]}),
            id="fields-and-null",
        ),
        pytest.param(
            with_terms({}, {"matchExpressions": [within("zone", "a")]}),
            with_terms({}, {"matchExpressions": [within("zone", "a"), IN_8]}),
            id="empty-term-beside-a-real-one",
        ),
    ],
)
def test_the_group_is_required_in_every_term_and_the_rest_is_kept(affinity, result):
    assert mutated(pod(8, affinity=affinity))["spec"]["affinity"] == result


@pytest.mark.parametrize("value", [{}, {"nodeSelectorTerms": []}, {"nodeSelectorTerms": None}], ids=str)
@pytest.mark.parametrize("action", ["deny", "warn"])
def test_a_required_node_affinity_without_a_term_is_never_filled(value, action):
    """It matches no node, and without us the API server refuses it: a term of ours would let the pod run."""
    document = pod(8, affinity={"nodeAffinity": {REQUIRED: value}})

    assert mutated(document, policy(admission=enforcing(action))) == document


def test_a_pod_without_affinity_gets_one():
    assert mutated(pod(8))["spec"]["affinity"] == required([IN_8])


@pytest.mark.parametrize(
    ("own", "result"),
    [
        pytest.param([IN_2], [IN_2], id="the-group-itself"),
        pytest.param([within(GROUP, "SLOT-2", "SLOT-8")], [within(GROUP, "SLOT-2", "SLOT-8"), IN_2], id="a-wider-list"),
        pytest.param(
            [within(GROUP, operator="Exists")], [within(GROUP, operator="Exists"), IN_2], id="any-group-at-all"
        ),
        pytest.param(
            [within(GROUP, "SLOT-8", operator="NotIn")],
            [within(GROUP, "SLOT-8", operator="NotIn"), IN_2],
            id="not-another-group",
        ),
    ],
)
def test_a_wish_that_is_as_narrow_is_enough(own, result):
    assert terms_of(mutated(pod(2, affinity=required(own)))) == [{"matchExpressions": result}]


def test_a_wish_for_an_overflow_group_is_enough():
    own = [within(GROUP, "SMALL")]

    assert terms_of(mutated(pod(8, affinity=required(own)), OVERFLOW)) == [{"matchExpressions": own}]


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        pytest.param({}, "gpu-binpack", id="unset"),
        pytest.param({"schedulerName": ""}, "gpu-binpack", id="empty"),
        pytest.param({"schedulerName": "default-scheduler"}, "gpu-binpack", id="default"),
        pytest.param({"schedulerName": "volcano"}, "volcano", id="another-scheduler"),
        pytest.param({"schedulerName": "gpu-binpack"}, "gpu-binpack", id="ours"),
    ],
)
def test_the_scheduler_is_set_where_nobody_chose_one(spec, name):
    assert mutated(pod(1, **spec))["spec"]["schedulerName"] == name


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        pytest.param(
            {"spec": pod(1)["spec"]},
            {"op": "add", "path": "/metadata", "value": {"annotations": {ROUTED_TO: "SLOT-1"}}},
            id="no-metadata",
        ),
        pytest.param(
            pod(1), {"op": "add", "path": "/metadata/annotations", "value": {ROUTED_TO: "SLOT-1"}}, id="no-annotations"
        ),
        pytest.param(
            described(pod(1), annotations={"team.example/cost": "a"}),
            {"op": "add", "path": "/metadata/annotations/gpupolicy.dev~1routed-to", "value": "SLOT-1"},
            id="other-annotations",
        ),
    ],
)
def test_the_route_is_noted_on_the_pod(document, operation):
    assert admit(POLICY, document).patch[-1] == operation


def test_an_alias_in_the_node_selector_becomes_the_name_on_the_nodes():
    assert mutated(pod(1, nodeSelector={TYPE: "v100"}))["spec"]["nodeSelector"] == {TYPE: "V100"}


def test_an_alias_in_a_term_becomes_the_name_on_the_nodes():
    document = mutated(pod(1, affinity=required([within(TYPE, "v100", "A100")])))

    assert terms_of(document) == [{"matchExpressions": [within(TYPE, "V100", "A100"), IN_1]}]


def test_an_alias_in_a_preference_becomes_the_name_on_the_nodes():
    document = mutated(pod(1, affinity=preferred(preference(9, within(TYPE, "v100")))))

    assert document["spec"]["affinity"]["nodeAffinity"][PREFERRED] == [preference(9, within(TYPE, "V100"))]


def test_an_alias_is_resolved_without_routing_too():
    assert mutated(pod(1, nodeSelector={TYPE: "v100"}), OFF)["spec"]["nodeSelector"] == {TYPE: "V100"}


ORDER = [preference(100, within(GROUP, "LARGE")), preference(10, within(GROUP, "MIDDLE"))]


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param(None, id="no-affinity"),
        pytest.param({"nodeAffinity": {}}, id="node-affinity"),
        pytest.param({"nodeAffinity": {PREFERRED: []}}, id="empty-preferences"),
        pytest.param({"nodeAffinity": {PREFERRED: None}}, id="null-preferences"),
        pytest.param(required([within("zone", "a")]), id="terms"),
    ],
)
def test_overflow_is_a_preference_with_falling_weights(affinity):
    document = mutated(pod(8, affinity=affinity), OVERFLOW)

    assert document["spec"]["affinity"]["nodeAffinity"][PREFERRED] == ORDER


def test_every_level_of_overflow_is_allowed():
    document = mutated(pod(8), OVERFLOW)

    assert terms_of(document) == [{"matchExpressions": [in_levels("LARGE", "MIDDLE", "SMALL")]}]


def test_the_users_own_preferences_stay_before_ours():
    own = preference(50, within("zone", "a"))
    document = mutated(pod(8, affinity=preferred(own)), OVERFLOW)

    assert document["spec"]["affinity"]["nodeAffinity"][PREFERRED] == [own, *ORDER]


def test_preferred_routing_prefers_the_group_and_requires_nothing():
    assert mutated(pod(4), PREFERRING)["spec"]["affinity"] == preferred(preference(100, IN_4))


def test_routing_off_sets_the_scheduler_alone():
    assert mutated(pod(4), OFF) == pod(4, schedulerName="gpu-binpack")


REAL = [
    pytest.param(pod(4), id="plain"),
    pytest.param(pod(8, affinity=required([within("zone", "a")], [within(TYPE, "v100")])), id="terms"),
    pytest.param(pod(8, affinity=preferred(preference(50, within("zone", "a")))), id="preferences"),
    pytest.param(pod(8, affinity=with_terms({}, FIELDS)), id="empty-and-fields"),
    pytest.param(pod(2, nodeSelector={TYPE: "v100"}), id="alias"),
]


@pytest.mark.parametrize("found", [POLICY, OVERFLOW, PREFERRING, OFF], ids=["strict", "overflow", "preferred", "off"])
@pytest.mark.parametrize("document", REAL)
def test_a_second_run_changes_nothing(document, found):
    assert admit(found, mutated(document, found)).patch == ()


def grown(document, *gpus):
    """What a later webhook does: it adds containers to a pod that was routed already."""
    containers = [*document["spec"]["containers"], *(container(amount, name="added") for amount in gpus)]
    return {**document, "spec": {**document["spec"], "containers": containers}}


@pytest.mark.parametrize(
    ("affinity", "result"),
    [
        pytest.param(None, [[IN_4]], id="no-terms"),
        pytest.param(required([within("zone", "a")]), [[within("zone", "a"), IN_4]], id="terms"),
        pytest.param(
            required([within(TYPE, "A100")], [within("zone", "b")]),
            [[within(TYPE, "A100"), IN_4], [within("zone", "b"), IN_4]],
            id="two-terms",
        ),
    ],
)
def test_a_pod_that_a_later_webhook_lets_grow_is_routed_anew(affinity, result):
    document = mutated(grown(mutated(pod(2, affinity=affinity)), 2))

    assert [term["matchExpressions"] for term in terms_of(document)] == result


def test_a_pod_that_grew_notes_its_new_route():
    assert mutated(grown(mutated(pod(2)), 2))["metadata"]["annotations"] == {ROUTED_TO: "SLOT-4"}


def test_growing_out_of_an_overflow_group_opens_the_own_group():
    """What the first run required is narrower than what the pod may use now, but no wish of the user."""
    document = mutated(grown(mutated(pod(2), OVERFLOW), 2, 4), OVERFLOW)

    assert terms_of(document) == [{"matchExpressions": [in_levels("LARGE", "MIDDLE", "SMALL")]}]


def test_preferences_of_an_earlier_run_leave_with_their_route():
    own = preference(50, within("zone", "a"))
    first = mutated(pod(8, affinity=preferred(own)), OVERFLOW)
    shrunk = {**first, "spec": {**first["spec"], "containers": [container(4)]}}

    assert mutated(shrunk, OVERFLOW)["spec"]["affinity"]["nodeAffinity"][PREFERRED] == [own]


def test_a_wish_that_the_user_wrote_like_ours_without_a_note_is_a_wish():
    assert admit(POLICY, pod(4, affinity=required([IN_2]))).allowed is False


def test_a_forged_note_gains_nothing():
    """It may only say which expression to replace: the pod still goes to the group of its size."""
    forged = described(pod(2, affinity=required([IN_8])), annotations={ROUTED_TO: "SLOT-8"})

    assert terms_of(mutated(forged)) == [{"matchExpressions": [IN_2]}]


BY_SIZE = policy(
    group("ALL", 1, 2, 4, 8, types=("V100", "A100", "H100")),
    types=(gpu_type("V100", request_sizes=(4,)), gpu_type("A100", request_sizes=(2,)), gpu_type("H100")),
)


def test_the_type_is_required_where_the_groups_have_nodes_of_types_that_do_not_admit_the_size():
    assert terms_of(mutated(pod(2), BY_SIZE)) == [
        {"matchExpressions": [in_levels("ALL"), within(TYPE, "A100", "H100")]}
    ]


@pytest.mark.parametrize(
    ("more", "types"),
    [
        pytest.param(2, ("V100", "H100"), id="other-types"),
        pytest.param(6, ("H100",), id="fewer-types"),
    ],
)
def test_a_required_type_is_replaced_when_the_pod_grows(more, types):
    document = mutated(grown(mutated(pod(2), BY_SIZE), more), BY_SIZE)

    assert terms_of(document) == [{"matchExpressions": [in_levels("ALL"), within(TYPE, *types)]}]


def test_a_type_goes_on_being_required_where_the_grown_pod_would_not_need_it():
    found = policy(
        group("ALL", 1, 2, 4),
        types=(gpu_type("V100", request_sizes=(4,)), gpu_type("A100", request_sizes=(2, 4))),
    )
    document = mutated(grown(mutated(pod(2), found), 2), found)

    assert terms_of(document) == [{"matchExpressions": [in_levels("ALL"), within(TYPE, "V100", "A100")]}]


@pytest.mark.parametrize("note", ["", ">", "|", "a|b|c", ",", "x" * 20_000, 8, None, ["SLOT-8"]], ids=repr)
def test_a_note_of_no_sense_is_overwritten(note):
    document = described(pod(2), annotations={ROUTED_TO: note})

    assert mutated(document)["metadata"]["annotations"] == {ROUTED_TO: "SLOT-2"}
