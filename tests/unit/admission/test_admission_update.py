"""UPDATE is judged by what changed: unchanged and narrowed pods pass, deleting ones always."""

import pytest
from builders import (
    GROUP,
    TYPE,
    container,
    described,
    enforcing,
    override,
    owned,
    patched,
    pod,
    policy,
    required,
    within,
)

from gpupolicy.admission import admit

POLICY = policy()
ROUTED = patched(pod(2), admit(POLICY, pod(2)).patch)
DELETING = {"deletionTimestamp": "2026-11-29T10:00:00Z"}


def updated(document, old, **fields):
    return admit(POLICY, document, operation="UPDATE", old=old, **fields)


def changed(document, **spec):
    return {**document, "spec": {**document["spec"], **spec}}


def rules(decision):
    return [violation.rule for violation in decision.violations]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod(3), id="made-before-the-policy"),
        pytest.param(pod(4, nodeName="gpu-05", schedulerName="default-scheduler"), id="running-and-never-routed"),
        pytest.param(pod(2, nodeSelector={GROUP: "SLOT-8"}), id="contradicting"),
        pytest.param(pod("0.5"), id="fraction"),
        pytest.param({"spec": {"containers": "x"}}, id="unreadable"),
    ],
)
def test_an_unchanged_pod_passes(document):
    assert updated(document, document, final=True).allowed is True


@pytest.mark.parametrize("document", [pod(3), pod(4, nodeName="gpu-05"), ROUTED], ids=["bad", "bound", "routed"])
def test_a_change_of_labels_passes_unpatched(document):
    decision = updated(described(document, labels={"step": "2"}), document)

    assert (decision.allowed, decision.patch, decision.reason) == (True, (), "neither GPUs nor placement changed")


def test_a_change_of_other_resources_passes():
    old = pod() | {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 3, "cpu": 4}}}]}}
    new = pod() | {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "3", "cpu": 8}}}]}}

    assert updated(new, old).allowed is True


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(described(pod(3, nodeName="x"), **DELETING), id="bad"),
        pytest.param({"metadata": DELETING, "spec": "gone"}, id="unreadable"),
    ],
)
def test_a_pod_that_is_being_deleted_passes(document):
    decision = updated(document, pod(4))

    assert (decision.allowed, decision.reason) == (True, "the pod is being deleted")


def test_without_an_old_pod_there_is_nothing_to_judge():
    decision = updated(pod(3), None)

    assert (decision.allowed, decision.reason) == (True, "there is no old pod to compare with")


def test_an_old_pod_that_cannot_be_read_cannot_be_compared():
    decision = updated(pod(3), {"spec": 1})

    assert (decision.allowed, decision.reason) == (
        True,
        "the old pod cannot be read, so nothing can be compared",
    )


def test_an_update_to_an_unreadable_pod_is_denied():
    assert rules(updated({"spec": 1}, pod(3))) == ["pod-not-readable"]


@pytest.mark.parametrize(
    "narrowed",
    [
        pytest.param({"nodeSelector": {"zone": "b"}}, id="node-selector"),
        pytest.param({"nodeSelector": {TYPE: "A100"}}, id="type"),
        pytest.param({"nodeSelector": {GROUP: "SLOT-2"}}, id="its-own-group"),
        pytest.param({"affinity": required([within(GROUP, "SLOT-2"), within("zone", "b")])}, id="expression"),
    ],
)
def test_a_gated_pod_may_narrow_its_placement(narrowed):
    assert updated(changed(ROUTED, **narrowed), ROUTED, final=True).allowed is True


@pytest.mark.parametrize("key", [TYPE, "zone"])
def test_narrowing_to_one_of_several_terms_leaves_the_others_behind_without_a_word(key):
    old = pod(2, affinity=required([within(key, "V100")], [within(key, "A100")]))
    old = patched(old, admit(POLICY, old).patch)
    decision = updated(changed(old, nodeSelector={key: "A100"}), old, final=True)

    assert (decision.allowed, decision.warnings) == (True, ())


def test_narrowing_is_judged_but_never_patched():
    decision = updated(changed(pod(2), nodeSelector={"zone": "b"}), pod(2))

    assert (decision.allowed, decision.judged, decision.patch) == (True, True, ())


@pytest.mark.parametrize(
    "narrowed",
    [
        pytest.param({"nodeSelector": {GROUP: "SLOT-8"}}, id="another-group"),
        pytest.param({"nodeSelector": {TYPE: "H200"}}, id="unknown-type"),
        pytest.param({"affinity": required([within(GROUP, "SLOT-2"), within(GROUP, "SLOT-8")])}, id="expression"),
    ],
)
def test_narrowing_out_of_the_group_is_denied(narrowed):
    assert rules(updated(changed(ROUTED, **narrowed), ROUTED)) == ["placement-contradiction"]


def test_narrowing_a_pod_that_was_wrong_before_passes():
    old = pod(3, nodeSelector={GROUP: "SLOT-8"})

    assert updated(changed(old, nodeSelector={GROUP: "SLOT-8", "zone": "b"}), old).allowed is True


def test_naming_a_node_on_update_is_denied():
    assert rules(updated(changed(ROUTED, nodeName="gpu-05"), ROUTED)) == ["node-name-set"]


@pytest.mark.parametrize(
    "widened",
    [
        pytest.param({"affinity": required([within(GROUP, "SLOT-2")], [within("zone", "b")])}, id="another-term"),
        pytest.param({"affinity": None}, id="no-affinity"),
        pytest.param({"schedulerName": "default-scheduler"}, id="scheduler"),
    ],
)
def test_a_routed_pod_does_not_lose_its_routing(widened):
    assert rules(updated(changed(ROUTED, **widened), ROUTED, final=True)) == ["pod-not-routed"]


def test_a_pod_that_was_never_routed_need_not_become_so():
    assert updated(changed(pod(2), nodeSelector={"zone": "b"}), pod(2), final=True).allowed is True


def test_a_change_of_gpus_is_judged_in_full():
    assert rules(updated(changed(ROUTED, containers=[container(3)]), ROUTED)) == ["request-size-not-admitted"]


@pytest.mark.parametrize("old", [pod(4), pod(None)], ids=["of-some", "of-none"])
def test_a_change_to_an_amount_that_is_none_is_judged_in_full(old):
    assert rules(updated(changed(old, containers=[container("0.5")]), old)) == ["gpu-amount-fractional"]


def test_an_amount_that_was_none_before_passes_when_the_pod_is_narrowed():
    old = pod("0.5")

    assert updated(changed(old, nodeSelector={"zone": "b"}), old).allowed is True


def test_an_exempt_pod_may_change_as_it_likes():
    found = policy(admission=enforcing("deny"))
    decision = admit(POLICY, pod(3), operation="UPDATE", old=pod(1), namespace="kube-system")

    assert (decision.allowed, decision.reason, admit(found, pod(3), operation="UPDATE", old=pod(1)).allowed) == (
        True,
        "exempt: part of the cluster (policy)",
        False,
    )


def test_an_update_that_is_only_warned_about_passes():
    found = policy(admission=enforcing("deny", override("warn", "placement-contradiction")))
    decision = admit(found, changed(ROUTED, nodeSelector={GROUP: "SLOT-8"}), operation="UPDATE", old=ROUTED)

    assert (decision.allowed, [w.rule for w in decision.warnings]) == (True, ["placement-contradiction"])


def test_a_label_change_by_a_person_on_a_daemonset_pod_passes():
    daemon = owned(pod(3), "DaemonSet")

    assert updated(described(daemon, labels={"a": "b"}), daemon, username="dev-1").allowed is True
