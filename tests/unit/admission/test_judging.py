"""The corners of judging: sizes, wishes, access, schedulers, and what is done about what was found."""

import pytest
from builders import (
    GROUP,
    REQUIRED,
    TYPE,
    access,
    container,
    described,
    enforcing,
    gpu_type,
    group,
    override,
    owned,
    patched,
    pod,
    policy,
    preference,
    preferred,
    profile,
    required,
    within,
)

from gpupolicy.admission import admit
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Action, Admission, Routing, Scheduler

POLICY = policy()
OVERFLOW = policy(group("SMALL", 1, 2, 4), group("LARGE", 8, overflow=("SMALL",)))


@pytest.mark.parametrize(
    ("size", "hint"),
    [
        pytest.param(3, "ask for 2 or 4", id="between"),
        pytest.param(9, "ask for 8", id="above"),
        pytest.param(9223372036854775807, "ask for 8", id="huge"),
    ],
)
def test_the_nearest_sizes_are_offered(size, hint):
    assert admit(POLICY, pod(size)).violations[0].hint == hint


@pytest.mark.parametrize("sizes", [(3,), (2, 1), (9223372036854775807, 9223372036854775807)], ids=str)
def test_the_sum_over_containers_counts_not_each(sizes):
    (violation,) = admit(POLICY, pod(*sizes)).violations

    assert violation.message == f"the pod asks for {sum(sizes)} GPUs; admitted are 1, 2, 4, 8"


def test_an_init_container_with_one_gpu_is_told_in_the_singular():
    (warning,) = admit(POLICY, pod(None, init=(container(1),))).warnings
    message = (
        "with its init containers the pod needs 1 GPU, without them 0: the scheduler holds 1 for the pod's whole life"
    )

    assert warning.message == message


def test_a_type_without_any_admitted_size_says_so():
    found = policy(types=(gpu_type("V100", 4, request_sizes=(8,)),))
    (violation,) = admit(found, pod(8)).violations

    assert (violation.message, violation.hint) == ("the pod asks for 8 GPUs; admitted are none", None)


@pytest.mark.parametrize(
    ("size", "allowed"), [pytest.param(3, True, id="on-one-type"), pytest.param(5, False, id="on-none")]
)
def test_a_size_needs_one_type_that_admits_it(size, allowed):
    found = policy(group("ALL", 1, 3), types=(gpu_type("V100"), gpu_type("A100", request_sizes=(3,))))

    assert admit(found, pod(size)).allowed is allowed


def test_a_request_goes_to_types_whose_nodes_are_large_enough():
    found = policy(group("ALL", 4, 8), types=(gpu_type("V100", 4), gpu_type("A100", 8)))

    assert admit(found, pod(8)).placement.gpu_types == ("A100",)


def test_a_wish_for_a_type_whose_nodes_are_too_small_is_a_contradiction():
    found = policy(group("ALL", 4, 8), types=(gpu_type("V100", 4), gpu_type("A100", 8)))
    (violation,) = admit(found, pod(8, nodeSelector={TYPE: "V100"})).violations

    assert (violation.rule, violation.message) == (
        "placement-contradiction",
        "the pod wants my.gpu.cluster/gpu-type In [V100], but requests for 8 GPUs are served by ALL of A100",
    )


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        pytest.param("V10", "did you mean V100", id="close"),
        pytest.param("H200", "known: A100, V100, v100", id="far"),
    ],
)
def test_an_unknown_type_is_answered_with_the_known_ones(value, hint):
    assert admit(POLICY, pod(1, nodeSelector={TYPE: value})).violations[0].hint == hint


def test_a_wish_for_another_group_is_answered_with_what_to_do():
    affinity = required([within(GROUP, "SLOT-8")])
    field = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"

    assert admit(POLICY, pod(2, affinity=affinity)).violations[0].hint == f"leave {field} out, or name SLOT-2"


def test_a_wish_for_a_label_that_the_types_have_otherwise_is_a_contradiction_without_a_hint():
    found = policy(types=(gpu_type("V100", node_selector=LabelSelector(match_labels={"product": "Tesla"})),))
    (violation,) = admit(found, pod(2, nodeSelector={"product": "Ampere"})).violations

    assert (violation.message, violation.hint) == (
        "the pod wants product In [Ampere], but requests for 2 GPUs are served by SLOT-2 of V100",
        None,
    )


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        pytest.param(
            {"nodeSelector": {TYPE: "v100"}, "affinity": required([within(TYPE, "A100")])},
            "the pod wants my.gpu.cluster/gpu-type In [v100] and my.gpu.cluster/gpu-type In [A100], "
            "which no node has together",
            id="two-types",
        ),
        pytest.param(
            {"nodeSelector": {"zone": "a"}, "affinity": required([within("zone", "b")])},
            "the pod wants zone In [a] and zone In [b], which no node has together",
            id="two-values-of-a-label-that-nothing-is-known-of",
        ),
        pytest.param(
            {"affinity": required([within(TYPE, "V100", operator="NotIn"), within(TYPE, "A100", operator="NotIn")])},
            "the pod wants my.gpu.cluster/gpu-type NotIn [V100] and my.gpu.cluster/gpu-type NotIn [A100], "
            "which no node that serves requests for 2 GPUs has together",
            id="no-type-is-left",
        ),
    ],
)
def test_wishes_that_exclude_each_other_are_told_together(wishes, message):
    (violation,) = admit(POLICY, pod(2, **wishes)).violations

    assert (violation.rule, violation.message, violation.hint) == ("placement-contradiction", message, None)


@pytest.mark.parametrize("routing", list(Routing))
def test_a_comparison_with_no_number_is_a_contradiction(routing):
    """The API server takes it, and kube-scheduler finds no node."""
    affinity = required([within("nvidia.com/gpu.memory", "40Gi", operator="Gt")])
    (violation,) = admit(policy(admission=Admission(routing=routing)), pod(2, affinity=affinity)).violations

    assert (violation.rule, violation.message, violation.hint) == (
        "placement-contradiction",
        "the pod wants nvidia.com/gpu.memory Gt [40Gi], "
        "but Gt and Lt compare with one whole number, so no node meets it",
        "write one whole number",
    )


def test_a_preference_that_compares_with_no_number_is_warned_about():
    affinity = preferred(preference(1, within("zone", "a")), preference(1, within("memory", "40Gi", operator="Gt")))
    (warning,) = admit(POLICY, pod(2, affinity=affinity)).warnings

    assert (warning.rule, warning.message, warning.field[-4:]) == (
        "term-never-matches",
        "the pod prefers memory Gt [40Gi], but Gt and Lt compare with one whole number: "
        "kube-scheduler fails wherever it has to choose among nodes, and the pod waits",
        (1, "preference", "matchExpressions", 0),
    )


@pytest.mark.parametrize("routing", list(Routing))
def test_wishes_that_exclude_each_other_are_denied_however_pods_are_routed(routing):
    wishes = {"nodeSelector": {"zone": "a"}, "affinity": required([within("zone", "b")])}

    assert admit(policy(admission=Admission(routing=routing)), pod(2, **wishes)).allowed is False


@pytest.mark.parametrize("routing", list(Routing))
def test_a_required_node_affinity_without_a_term_is_a_contradiction(routing):
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}
    (violation,) = admit(policy(admission=Admission(routing=routing)), pod(2, affinity=affinity)).violations

    assert (violation.rule, violation.message, violation.hint) == (
        "placement-contradiction",
        "a required node affinity without a term matches no node",
        "name a term, or remove it",
    )


def test_terms_that_all_lead_nowhere_are_told_one_by_one():
    affinity = required([within(TYPE, "H200")], [within(GROUP, "SLOT-8")])
    decision = admit(POLICY, pod(2, affinity=affinity))

    assert [(v.rule, v.field[5]) for v in decision.violations] == [
        ("placement-contradiction", 0),
        ("placement-contradiction", 1),
    ]


def test_one_term_that_leads_somewhere_is_enough():
    decision = admit(POLICY, pod(2, affinity=required([within(TYPE, "H200")], [within(TYPE, "A100")])))

    assert (decision.allowed, decision.placement.gpu_types) == (True, ("A100",))


def test_a_hundred_thousand_faults_are_told_in_short():
    decision = admit(POLICY, pod(*["0.5"] * 1000))

    assert (len(decision.violations), decision.reason.endswith("; and 40 more")) == (50, True)


@pytest.mark.parametrize(
    ("rules", "namespace", "message"),
    [
        pytest.param(
            (access("team-a", types=("A100",)),),
            "team-a",
            None,
            id="another-type-is-left",
        ),
        pytest.param(
            (access("team-a", groups=("SLOT-1",)),),
            "team-a",
            "namespace team-a may not use SLOT-4, which serve requests for 4 GPUs",
            id="group",
        ),
        pytest.param(
            (access("team-b"),),
            "team-a",
            "namespace team-a may use no GPU type; the pod needs V100, A100",
            id="no-rule",
        ),
        pytest.param(
            (access("team-a", types=()),),
            "team-a",
            "namespace team-a may use no GPU type; the pod needs V100, A100",
            id="no-type",
        ),
    ],
)
def test_access_is_judged_by_what_is_left(rules, namespace, message):
    decision = admit(policy(admission=Admission(access=rules)), pod(4), namespace=namespace)

    assert ([v.message for v in decision.violations] or [None]) == [message]


def test_a_wish_for_a_type_that_the_namespace_may_not_use_is_a_contradiction():
    found = policy(admission=Admission(access=(access("team-a", types=("A100",)),)))
    (violation,) = admit(found, pod(4, nodeSelector={TYPE: "V100"})).violations

    assert (violation.rule, violation.message) == (
        "placement-contradiction",
        "the pod wants my.gpu.cluster/gpu-type In [V100], but requests for 4 GPUs of namespace team-a are served by "
        "SLOT-4 of A100",
    )


def test_a_namespace_whose_types_are_in_no_group_of_the_size_is_told_of_the_types():
    groups = (group("SMALL", 1, 2, 4), group("LARGE", 8, types=("A100",), overflow=("SMALL",)))
    found = policy(*groups, admission=Admission(access=(access("team-a", types=("V100",)),)))
    (violation,) = admit(found, pod(8)).violations

    assert (violation.rule, violation.message) == (
        "access-denied",
        "namespace team-a may use V100; requests for 8 GPUs are served by LARGE of A100",
    )


@pytest.mark.parametrize("routing", [Routing.REQUIRED, Routing.PREFERRED, Routing.OFF])
def test_types_that_the_namespace_may_not_use_are_fenced_off_under_every_routing(routing):
    found = policy(admission=Admission(routing=routing, access=(access("team-a", types=("A100",)),)))
    document = patched(pod(4), admit(found, pod(4)).patch)
    (term,) = document["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]

    assert within(TYPE, "A100") in term["matchExpressions"]


@pytest.mark.parametrize("routing", [Routing.PREFERRED, Routing.OFF])
def test_groups_that_the_namespace_may_not_use_are_fenced_off_where_routing_does_not_bind(routing):
    found = policy(admission=Admission(routing=routing, access=(access("team-a", groups=("SLOT-4", "SLOT-8")),)))
    document = patched(pod(4), admit(found, pod(4)).patch)
    (term,) = document["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]

    assert term["matchExpressions"] == [within(GROUP, "SLOT-4", "SLOT-8")]


def test_a_wish_outside_the_fence_is_a_contradiction_under_preferred_routing():
    found = policy(admission=Admission(routing=Routing.PREFERRED, access=(access("team-a", types=("A100",)),)))
    (violation,) = admit(found, pod(4, nodeSelector={TYPE: "V100"})).violations

    assert violation.message == (
        "the pod wants my.gpu.cluster/gpu-type In [V100], but namespace team-a may use any slot group of A100"
    )


def test_a_wish_for_another_group_is_fine_where_routing_only_prefers():
    found = policy(admission=Admission(routing=Routing.PREFERRED))

    assert admit(found, pod(2, nodeSelector={GROUP: "SLOT-8"})).allowed is True


@pytest.mark.parametrize("routing", [Routing.PREFERRED, Routing.OFF])
@pytest.mark.parametrize(
    ("size", "wish", "message"),
    [
        pytest.param(
            2,
            {TYPE: "H200"},
            "my.gpu.cluster/gpu-type In [H200], but requests for 2 GPUs are admitted on V100, A100",
            id="a-type-of-no-name",
        ),
        pytest.param(
            8,
            {TYPE: "V100"},
            "my.gpu.cluster/gpu-type In [V100], but requests for 8 GPUs are admitted on A100",
            id="a-type-that-is-too-small",
        ),
        pytest.param(
            2,
            {GROUP: "GONE"},
            "my.gpu.cluster/node-group In [GONE], but the slot groups are ALL",
            id="a-group-of-no-name",
        ),
    ],
)
def test_a_wish_for_a_name_that_no_node_has_is_a_contradiction_where_routing_does_not_bind(
    routing, size, wish, message
):
    """Our labels belong to the policy; nodes that it does not know have none of them."""
    types = (gpu_type("V100", 4), gpu_type("A100"))
    found = policy(group("ALL", 2, 4, 8), types=types, admission=Admission(routing=routing))
    (violation,) = admit(found, pod(size, nodeSelector=wish)).violations

    assert (violation.rule, violation.message) == ("placement-contradiction", f"the pod wants {message}")


@pytest.mark.parametrize("routing", [Routing.PREFERRED, Routing.OFF])
@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(within(TYPE, operator="DoesNotExist"), id="no-type"),
        pytest.param(within(GROUP, operator="DoesNotExist"), id="no-group"),
        pytest.param(within("product", "Ampere"), id="another-product"),
    ],
)
def test_nodes_that_the_policy_does_not_know_are_open_where_routing_does_not_bind(routing, expression):
    types = (gpu_type("V100", node_selector=LabelSelector(match_labels={"product": "Tesla"})),)
    found = policy(group("ALL", 2, types=("V100",)), types=types, admission=Admission(routing=routing))

    assert admit(found, pod(2, affinity=required([expression]))).allowed is True


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        pytest.param({}, False, id="everywhere"),
        pytest.param({"nodeSelector": {TYPE: "A100"}}, True, id="where-it-may"),
        pytest.param({"affinity": required([within(TYPE, "V100", operator="NotIn")])}, True, id="not-where-it-may-not"),
        pytest.param({"affinity": required([within(TYPE, "A100")], [within("zone", "a")])}, False, id="one-term-open"),
    ],
)
def test_a_daemonset_cannot_go_round_access(spec, allowed):
    found = policy(admission=Admission(access=(access("team-a", types=("A100",)),)))

    assert admit(found, owned(pod(1, **spec), "DaemonSet")).allowed is allowed


@pytest.mark.parametrize("routing", list(Routing))
@pytest.mark.parametrize(
    ("wish", "hint"),
    [
        pytest.param(within(TYPE, "v100"), "did you mean V100", id="alias"),
        pytest.param(within(TYPE, "H200"), "known: A100, V100", id="no-type"),
    ],
)
def test_a_daemonset_is_told_of_a_type_that_no_node_has(wish, hint, routing):
    """Its controller looks for the words of the template on nodes: no pod comes whose alias we could resolve."""
    found = policy(admission=Admission(routing=routing))
    (violation,) = admit(found, owned(pod(1, affinity=required([wish])), "DaemonSet")).violations

    assert (violation.rule, violation.message, violation.hint) == (
        "placement-contradiction",
        f"the pod wants my.gpu.cluster/gpu-type In [{wish['values'][0]}], but a DaemonSet finds GPUs on nodes of "
        "V100, A100, in SLOT-1, SLOT-2, SLOT-4, SLOT-8",
        hint,
    )


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(within(TYPE, "V100"), id="a-type"),
        pytest.param(within(GROUP, "SLOT-8"), id="another-group"),
        pytest.param(within(GROUP, operator="DoesNotExist"), id="nodes-outside-the-groups"),
        pytest.param(within("zone", "a"), id="a-label-that-nothing-is-known-of"),
    ],
)
def test_a_daemonset_may_want_any_node_that_there_may_be(expression):
    assert admit(POLICY, owned(pod(1, affinity=required([expression])), "DaemonSet")).allowed is True


def test_a_daemonsets_pod_for_which_its_controller_has_found_a_node_may_want_what_the_policy_does_not_know():
    term = {"matchFields": [within("metadata.name", "gpu-01")], "matchExpressions": [within(TYPE, "H200")]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}

    assert admit(POLICY, owned(pod(1, affinity=affinity), "DaemonSet")).allowed is True


def test_a_daemonset_whose_alias_excludes_nothing_cannot_go_round_access():
    found = policy(admission=Admission(access=(access("team-a", types=("A100",)),)))
    document = pod(1, affinity=required([within(TYPE, "v100", operator="NotIn")]))

    assert [v.rule for v in admit(found, owned(document, "DaemonSet")).violations] == ["access-denied"]


def test_a_daemonset_needs_no_warning_where_nobody_is_routed():
    found = policy(admission=Admission(routing=Routing.OFF))

    assert admit(found, owned(pod(1), "DaemonSet")).warnings == ()


def test_a_daemonset_that_goes_round_access_learns_where():
    found = policy(admission=Admission(access=(access("team-a", types=("A100",), groups=("SLOT-1",)),)))
    (violation,) = admit(found, owned(pod(1), "DaemonSet")).violations

    assert violation.message == (
        "namespace team-a may not use V100, SLOT-2, SLOT-4, SLOT-8, where the DaemonSet's pods run as well"
    )


@pytest.mark.parametrize(
    ("document", "name"),
    [
        pytest.param(pod(1), "first", id="the-policys-first"),
        pytest.param(pod(4), "own", id="of-the-group"),
        pytest.param(pod(8), "first", id="not-of-the-overflow-group"),
        pytest.param(pod(8, nodeSelector={GROUP: "MIDDLE"}), "own", id="of-the-overflow-group-that-is-left"),
    ],
)
def test_the_profile_is_that_of_the_first_group(document, name):
    found = policy(
        group("SMALL", 1),
        group("MIDDLE", 4, scheduler_name="own"),
        group("LARGE", 8, overflow=("MIDDLE",)),
        scheduler=Scheduler(profiles=(profile("first"), profile("own"))),
    )

    assert admit(found, document).placement.scheduler_name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("gpu-binpak", "did you mean gpu-binpack; name others in otherSchedulers", id="close"),
        pytest.param("kai", "known: gpu-binpack, volcano; name others in otherSchedulers", id="far"),
    ],
)
def test_an_unknown_scheduler_is_answered_with_the_known_ones(name, hint):
    assert admit(POLICY, pod(1, schedulerName=name)).warnings[0].hint == hint


def test_a_policy_without_profiles_judges_no_scheduler():
    decision = admit(policy(scheduler=Scheduler()), pod(1, schedulerName="kai"))

    assert (decision.warnings, decision.placement.scheduler_name) == ((), "kai")


def test_a_policy_without_profiles_sets_no_scheduler():
    assert admit(policy(scheduler=Scheduler()), pod(1)).placement.scheduler_name is None


def test_our_own_preferences_do_not_dilute_the_order():
    routed = patched(pod(8), admit(OVERFLOW, pod(8)).patch)

    assert admit(OVERFLOW, routed).warnings == ()


def test_a_preference_for_our_groups_in_another_order_dilutes_it():
    document = pod(8, affinity=preferred(preference(100, within(GROUP, "SMALL"))))

    assert [w.rule for w in admit(OVERFLOW, document).warnings] == ["overflow-order-diluted"]


def test_findings_carry_the_severity_of_what_is_done():
    admission = enforcing("audit", override("deny", "node-name-set"), override("warn", "scheduler-not-known"))
    document = pod(1, nodeName="n", schedulerName="kai", tolerations=[{"operator": "Exists"}])
    decision = admit(policy(admission=admission), document)

    assert [
        [(f.rule, f.severity) for f in found] for found in (decision.violations, decision.warnings, decision.audited)
    ] == [
        [("node-name-set", "error")],
        [("scheduler-not-known", "warning")],
        [("tolerates-everything", "info")],
    ]


def test_what_is_only_warned_about_is_still_routed():
    found = policy(admission=enforcing("warn"))

    assert admit(found, pod(4, schedulerName="kai")).placement.slot_groups == ("SLOT-4",)


@pytest.mark.parametrize("action", list(Action))
def test_a_pod_that_goes_nowhere_is_never_patched(action):
    document = described(pod(3), labels={"a": "b"})

    assert admit(policy(admission=enforcing(action)), document).patch == ()
