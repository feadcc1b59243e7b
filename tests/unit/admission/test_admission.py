"""The decision: which operations are judged, who is not judged, what an UPDATE may change, and what is answered."""

from datetime import UTC, date, datetime

import pytest
from builders import (
    GPU,
    GROUP,
    ROUTED_TO,
    TYPE,
    container,
    described,
    enforcing,
    exemption,
    group,
    override,
    owned,
    patched,
    pod,
    policy,
    required,
    within,
)

from gpupolicy.admission import Placement, admit
from gpupolicy.errors import Finding, Severity, UsageError
from gpupolicy.model import Admission, Origin, Routing

POLICY = policy()
CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"
MIRROR = {"kubernetes.io/config.mirror": "5f0c"}
DAEMONS = policy(admission=Admission(exemptions=(exemption(owner_kinds=("DaemonSet", "Node")),)))


def mutated(document, found=POLICY):
    return patched(document, admit(found, document).patch)


def test_an_admitted_pod_is_placed():
    decision = admit(POLICY, pod(4))

    assert (decision.allowed, decision.judged, decision.placement, decision.gpus) == (
        True,
        True,
        Placement(gpu_types=("V100", "A100"), slot_groups=("SLOT-4",), scheduler_name="gpu-binpack"),
        {GPU: 4},
    )


def test_an_operation_that_there_is_not_is_no_way_past_the_decision():
    with pytest.raises(UsageError, match='there is no operation "create"; known are CREATE, UPDATE, DELETE, CONNECT'):
        admit(POLICY, pod(3), operation="create")


def test_a_denied_pod_is_neither_placed_nor_patched():
    decision = admit(POLICY, pod(3))

    assert (decision.allowed, decision.placement, decision.patch, decision.gpus) == (False, None, (), {GPU: 3})


def test_a_violation_names_rule_field_and_hint():
    assert admit(POLICY, pod(3)).violations == (
        Finding(
            rule="request-size-not-admitted",
            severity=Severity.ERROR,
            field=("spec", "containers", 0, "resources", "limits", GPU),
            message="the pod asks for 3 GPUs; admitted are 1, 2, 4, 8",
            hint="ask for 2 or 4",
        ),
    )


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param(pod(4), "4 nvidia.com/gpu: slot group SLOT-4, scheduled by gpu-binpack", id="routed"),
        pytest.param(pod(None), "the pod asks for no GPU", id="no-gpu"),
        pytest.param(pod(0), "the pod asks for no GPU", id="zero"),
        pytest.param(pod(None, resourceClaims=[{"name": "a"}]), "the pod asks for no GPU that is counted", id="claim"),
        pytest.param(
            pod() | {"spec": {"containers": [container(1, resource="amd.com/gpu")]}},
            "the pod asks for no GPU that is counted",
            id="another-vendor",
        ),
        pytest.param(owned(pod(1), "DaemonSet"), "1 nvidia.com/gpu: allowed, not routed", id="daemon"),
        pytest.param(
            pod(3),
            "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy.yaml:30) [request-size-not-admitted]",
            id="denied-by-a-line-of-the-policy",
        ),
        pytest.param(
            pod(-1, 3),
            "-1 GPUs are less than none [gpu-amount-negative]; "
            "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy.yaml:30) [request-size-not-admitted]",
            id="all-violations",
        ),
        pytest.param(
            pod() | {"spec": {"containers": "x"}},
            "spec.containers is a string, a list is expected [pod-not-readable]",
            id="unreadable",
        ),
    ],
)
def test_the_reason_is_one_line(document, reason):
    origin = Origin(file="policy.yaml", places={("spec", "admission", "requestSizes"): (30, 5)})

    assert admit(policy(origin=origin), document).reason == reason


def test_without_routing_the_reason_says_so():
    found = policy(admission=Admission(routing=Routing.OFF))

    assert admit(found, pod(4)).reason == "4 nvidia.com/gpu: allowed, not routed, scheduled by gpu-binpack"


def test_the_field_of_the_policy_behind_a_rule_is_told():
    assert admit(POLICY, pod(2, nodeSelector={GROUP: "SLOT-8"})).causes == {
        "placement-contradiction": ("spec", "slotGroups", 1)
    }


@pytest.mark.parametrize(
    ("operation", "subresource", "reason"),
    [
        pytest.param("DELETE", "", "DELETE of a pod is not judged", id="delete"),
        pytest.param("CONNECT", "exec", "CONNECT of exec is not judged", id="connect"),
        pytest.param("CREATE", "binding", "CREATE of binding is not judged", id="binding"),
        pytest.param("CREATE", "eviction", "CREATE of eviction is not judged", id="eviction"),
        pytest.param("UPDATE", "status", "UPDATE of status is not judged", id="status"),
        pytest.param("UPDATE", "resize", "UPDATE of resize is not judged", id="resize"),
        pytest.param("UPDATE", "ephemeralcontainers", "UPDATE of ephemeralcontainers is not judged", id="debug"),
    ],
)
def test_other_operations_pass_whatever_the_object_is(operation, subresource, reason):
    decision = admit(POLICY, None, operation=operation, subresource=subresource)

    assert (decision.allowed, decision.judged, decision.reason) == (True, False, reason)


@pytest.mark.parametrize(
    "document", [None, "pod", [], {}, {"spec": None}, {"metadata": 1, "spec": {"containers": []}}], ids=repr
)
def test_a_pod_of_the_wrong_shape_is_denied_not_raised(document):
    decision = admit(POLICY, document)

    assert (decision.allowed, [v.rule for v in decision.violations]) == (False, ["pod-not-readable"])


def test_an_unreadable_pod_is_denied_even_where_all_is_audited():
    assert admit(policy(admission=enforcing("audit")), {"spec": 1}).allowed is False


# Who is not judged.


def test_an_exempt_pod_is_left_as_it_is():
    decision = admit(POLICY, pod(3), namespace="kube-system")

    assert (decision.allowed, decision.judged, decision.patch, decision.gpus, decision.reason) == (
        True,
        False,
        (),
        {GPU: 3},
        "exempt: part of the cluster (policy)",
    )


def test_the_exemption_that_was_used_is_told():
    assert admit(POLICY, pod(3), namespace="kube-system").exemption == exemption("kube-system")


@pytest.mark.parametrize(
    ("namespace", "allowed"),
    [
        pytest.param("kube-system", True, id="of-the-request"),
        pytest.param(None, False, id="of-the-pod"),
    ],
)
def test_the_namespace_of_the_request_counts_before_the_pods_own(namespace, allowed):
    assert admit(POLICY, pod(3), namespace=namespace).allowed is allowed


def test_a_pod_without_any_namespace_is_in_default():
    found = policy(admission=Admission(exemptions=(exemption("default"),)))

    assert admit(found, {"spec": pod(3)["spec"]}).allowed is True


@pytest.mark.parametrize(
    ("username", "judged"),
    [
        pytest.param(CONTROLLER, False, id="real"),
        pytest.param("dev-1", True, id="forged"),
    ],
)
def test_a_daemonset_is_exempt_if_its_controller_made_the_pod(username, judged):
    assert admit(DAEMONS, owned(pod(3), "DaemonSet"), username=username).judged is judged


def test_a_forged_daemonset_is_routed_like_any_pod():
    decision = admit(POLICY, owned(pod(1), "DaemonSet"), username="dev-1")

    assert decision.placement.slot_groups == ("SLOT-1",)


@pytest.mark.parametrize(
    ("username", "allowed"),
    [
        pytest.param("system:node:gpu-01", True, id="made-by-a-kubelet"),
        pytest.param("dev-1", False, id="forged"),
    ],
)
def test_a_mirror_pod_passes_if_a_kubelet_made_it(username, allowed):
    document = described(pod(3, nodeName="gpu-01"), annotations=MIRROR)

    assert admit(POLICY, document, username=username).allowed is allowed


def test_an_exemption_ends_with_its_last_day():
    found = policy(admission=Admission(exemptions=(exemption("team-a", expires=date(2027, 1, 31)),)))
    last, after = (datetime(2027, month, day, tzinfo=UTC) for month, day in ((1, 31), (2, 1)))

    assert (admit(found, pod(3), now=last).allowed, admit(found, pod(3), now=after).allowed) == (True, False)


def test_a_pod_without_gpus_hears_nothing_of_an_expired_exemption():
    found = policy(admission=Admission(exemptions=(exemption("team-a", expires=date(2020, 1, 1)),)))

    assert admit(found, pod(None), now=datetime(2027, 1, 1, tzinfo=UTC)).warnings == ()


def test_enforcement_may_differ_by_namespace():
    found = policy(admission=enforcing("deny", override("warn", namespaces=("dev-*",))))

    assert (admit(found, pod(3)).allowed, admit(found, pod(3), namespace="dev-a").allowed) == (False, True)


def test_what_is_audited_is_neither_denied_nor_warned_about():
    decision = admit(policy(admission=enforcing("audit")), pod(3))

    assert (decision.allowed, decision.warnings, [f.rule for f in decision.audited]) == (
        True,
        (),
        ["request-size-not-admitted"],
    )


# The final form of a pod: what the validating webhook sees.


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod(4), id="plain"),
        pytest.param(pod(2, nodeSelector={TYPE: "v100"}), id="alias"),
        pytest.param(pod(8, affinity=required([within("zone", "a")], [within("zone", "b")])), id="terms"),
        pytest.param(pod(1, schedulerName="volcano"), id="another-scheduler"),
    ],
)
def test_a_routed_pod_passes_in_its_final_form(document):
    assert admit(POLICY, mutated(document), final=True).allowed is True


UNROUTED = "; the mutating webhook did not see it, or another one changed it afterwards"


@pytest.mark.parametrize(
    ("document", "lacking"),
    [
        pytest.param(
            pod(4),
            "not every way of placing it requires my.gpu.cluster/node-group In [SLOT-4] "
            "and its schedulerName is not gpu-binpack",
            id="everything",
        ),
        pytest.param(
            pod(4, schedulerName="gpu-binpack", affinity=required([within(GROUP, "SLOT-4")], [within("zone", "a")])),
            "not every way of placing it requires my.gpu.cluster/node-group In [SLOT-4]",
            id="one-term",
        ),
        pytest.param(
            pod(4, affinity=required([within(GROUP, "SLOT-4")])), "its schedulerName is not gpu-binpack", id="scheduler"
        ),
        pytest.param(
            pod(
                4,
                schedulerName="gpu-binpack",
                nodeSelector={TYPE: "v100"},
                affinity=required([within(GROUP, "SLOT-4")]),
            ),
            "a GPU type is named by an alias",
            id="alias",
        ),
    ],
)
def test_a_pod_that_is_not_routed_is_denied_in_its_final_form(document, lacking):
    (violation,) = admit(POLICY, document, final=True).violations

    assert (violation.rule, violation.message) == ("pod-not-routed", f"the pod is not routed: {lacking}{UNROUTED}")


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        pytest.param(pod(None), {}, id="no-gpu"),
        pytest.param(pod(4), {"namespace": "kube-system"}, id="exempt"),
        pytest.param(owned(pod(4), "DaemonSet"), {"username": CONTROLLER}, id="daemon"),
    ],
)
def test_a_pod_that_needs_no_routing_passes_in_its_final_form(document, fields):
    assert admit(POLICY, document, final=True, **fields).allowed is True


def test_a_note_that_is_missing_does_not_matter_in_the_final_form():
    routed = mutated(pod(4))

    assert admit(POLICY, {**routed, "metadata": {"name": "job-a"}}, final=True).allowed is True


def test_a_container_that_a_later_webhook_added_is_counted_in_the_final_form():
    routed = mutated(pod(2))
    grown = {**routed, "spec": {**routed["spec"], "containers": [*routed["spec"]["containers"], container(1)]}}

    assert [v.rule for v in admit(POLICY, grown, final=True).violations] == ["request-size-not-admitted"]


def test_growing_to_another_size_after_routing_is_denied_in_the_final_form():
    routed = mutated(pod(2))
    grown = {**routed, "spec": {**routed["spec"], "containers": [*routed["spec"]["containers"], container(2)]}}

    assert [v.rule for v in admit(POLICY, grown, final=True).violations] == ["pod-not-routed"]


def test_a_template_is_judged_by_its_metadata_and_spec():
    decision = admit(POLICY, {"metadata": {}, "spec": pod(4)["spec"]}, owner_kind="ReplicaSet")

    assert decision.placement.slot_groups == ("SLOT-4",)


def test_the_note_tells_the_levels_of_overflow():
    found = policy(group("SMALL", 1), group("LARGE", 8, overflow=("SMALL",)))

    assert mutated(pod(8), found)["metadata"]["annotations"] == {ROUTED_TO: "LARGE>SMALL"}
