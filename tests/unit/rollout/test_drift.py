"""Drift: each rule on a node that shows it, and what counts as drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from builders import GROUP, TYPE, gpu_type, group, node, policy
from fake_node_api import FakeNodeApi, live_node

from gpupolicy.errors import Severity
from gpupolicy.inventory.usage import Usage
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Policy, TaintEffect
from gpupolicy.rollout.drift import NodeFinding, find_drift
from gpupolicy.rollout.planning import plan_nodes
from gpupolicy.rollout.rule_ids import DRIFT_RULES, NO_DRIFT
from gpupolicy.rollout.state import CORDONED_BY

PRODUCT = {"product": "V100"}
SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
WANTED = {TYPE: "V100", GROUP: "SMALL", SUPPORT: "true"}
V100 = gpu_type("V100", node_selector=LabelSelector(match_labels=PRODUCT))
SMALL = group("SMALL", 1, types=("V100",))
POLICY = policy(SMALL, types=(V100,))
TAINTED = policy(replace(SMALL, taint=TaintEffect.NO_SCHEDULE), types=(V100,))
TAINT = {"key": GROUP, "value": "SMALL", "effect": "NoSchedule"}


def applied(**fields: object) -> FakeNodeApi:
    """A node that our apply has made what the policy wants."""
    api = FakeNodeApi(live_node("a", PRODUCT, **fields))  # type: ignore[arg-type]
    for key, value in WANTED.items():
        api.labels("a")[key] = value
        api.own("a", key, "gpupolicy", "Apply")
    return api


def drift(*nodes: Mapping[str, object], used: Policy = POLICY) -> tuple[NodeFinding, ...]:
    return find_drift(used, nodes, plan_nodes(used, nodes, Usage()))


def one(*nodes: Mapping[str, object], used: Policy = POLICY) -> NodeFinding:
    (finding,) = drift(*nodes, used=used)
    return finding


def of(api: FakeNodeApi) -> dict:
    return api.nodes["a"]


def test_a_node_as_our_apply_left_it_has_no_findings() -> None:
    assert drift(of(applied())) == ()


def test_nodes_without_gpus_and_labels_are_no_business_of_the_policy() -> None:
    assert drift(live_node("cpu", gpus=0, ready=False)) == ()


def test_a_node_without_labels_is_told_once_with_all_of_them() -> None:
    finding = one(live_node("a", PRODUCT))

    assert (finding.rule, finding.severity, finding.is_drift) == ("node-label-missing", Severity.ERROR, True)
    assert finding.message.startswith(
        f"node a: has no label {TYPE}=V100, {GROUP}=SMALL, {SUPPORT}=true: GPU type V100 selects it"
    )


def test_a_label_changed_by_hand_is_told_with_its_manager_and_time() -> None:
    api = applied()
    api.label("a", GROUP, "LARGE", manager="kubectl-label")

    finding = one(of(api))

    assert (finding.rule, finding.field) == ("node-label-changed", ("metadata", "labels", GROUP))
    assert finding.message.startswith(
        f"node a: label {GROUP} is LARGE (set by kubectl-label at 2026-01-01T00:00:00Z); SMALL is wanted: "
    )


def test_what_others_own_is_set_by_an_apply_that_takes_it_over() -> None:
    api = applied()
    assert one(of(api), used=TAINTED).hint == "gpupolicy nodes apply sets it"

    api.label("a", GROUP, "LARGE", manager="kubectl-label")
    assert one(of(api)).hint == "gpupolicy nodes apply --force-conflicts sets it"

    shared = applied()
    shared.own("a", GROUP, "kubectl-label", "Update")
    unclaimed = policy(group("SMALL", 1, types=()), types=(V100,))
    assert one(of(shared), used=unclaimed).hint == "gpupolicy nodes apply --force-conflicts removes it"


def test_a_label_changed_by_a_kubelet_is_told_as_such() -> None:
    api = applied()
    api.label("a", GROUP, "LARGE", manager="kubelet")

    assert "(set by the kubelet, as kubelet at" in one(of(api)).message


def test_a_dump_without_owners_says_so() -> None:
    dumped = node("a", labels={**PRODUCT, **WANTED, GROUP: "LARGE"})
    dumped["status"]["conditions"] = [{"type": "Ready", "status": "True"}]  # type: ignore[index]

    assert "(by whom is not told: the nodes come without managedFields)" in one(dumped).message


def test_a_label_that_a_kubelet_set_to_the_right_value_is_told() -> None:
    api = applied()
    api.label("a", GROUP, "SMALL", manager="kubelet")

    finding = one(of(api))

    assert (finding.rule, finding.severity, finding.is_drift) == ("node-label-by-kubelet", Severity.WARNING, True)


def test_a_right_label_that_somebody_set_by_hand_is_no_drift() -> None:
    api = applied()
    api.label("a", GROUP, "SMALL", manager="kubectl-label")

    finding = one(of(api))

    assert (finding.rule, finding.severity, finding.is_drift) == ("node-label-not-ours", Severity.INFO, False)


def test_a_label_that_others_set_once_and_we_since_is_not_told() -> None:
    api = applied()
    api.own("a", GROUP, "kubectl-label", "Update")

    assert drift(of(api)) == ()


def test_a_second_applier_is_a_conflict_of_owners() -> None:
    api = applied()
    api.own("a", GROUP, "argocd-controller", "Apply")

    finding = one(of(api))

    assert (finding.rule, finding.is_drift) == ("node-owner-conflict", True)
    assert "is applied by argocd-controller, server-side apply at" in finding.message


def test_a_label_on_a_node_that_no_type_takes_is_surplus() -> None:
    findings = drift(live_node("a", {TYPE: "OLD"}))

    assert [(each.rule, each.hint) for each in findings if each.rule == "node-label-surplus"] == [
        ("node-label-surplus", f"kubectl label node a {TYPE}-")
    ]


def test_an_empty_label_is_told_so_that_it_can_be_seen() -> None:
    messages = [each.message for each in drift(live_node("a", {GROUP: ""})) if each.rule == "node-label-surplus"]

    assert [message.split(" (")[0] for message in messages] == [f'node a: label {GROUP} is ""']


def test_a_surplus_label_that_somebody_set_is_not_told_as_a_right_one_too() -> None:
    api = FakeNodeApi(live_node("a"))
    api.label("a", GROUP, "SMALL", manager="kubectl-label")

    finding = one(of(api))

    assert (finding.rule, "set by kubectl-label" in finding.message) == ("node-label-surplus", True)


def test_a_group_label_that_no_claim_wants_is_surplus() -> None:
    unclaimed = policy(group("SMALL", 1, types=()), types=(V100,))

    assert one(of(applied()), used=unclaimed).rule == "node-label-surplus"


def test_labels_without_gpus_are_told() -> None:
    finding = one(of(applied(gpus=0)))

    assert (finding.rule, finding.severity) == ("node-label-without-gpus", Severity.ERROR)
    assert finding.message == "node a: is labelled as V100 and offers no nvidia.com/gpu"


def test_an_amount_of_gpus_that_is_none_is_told() -> None:
    finding = one(of(applied(gpus="8Gi")))

    assert (finding.rule, finding.severity, finding.is_drift) == ("node-amount-refused", Severity.WARNING, True)
    assert finding.message == (
        "node a: counts as having no nvidia.com/gpu: the amount is 8Gi, and no node has more than 1024"
    )


def test_an_amount_of_gpus_that_is_none_is_told_of_a_node_without_a_type() -> None:
    finding = one(live_node("other", gpus="8.5"))  # type: ignore[arg-type]  # that is the point

    assert finding.rule == "node-amount-refused"


def test_a_lost_gpu_is_told() -> None:
    finding = one(of(applied(gpus=7)))

    assert (finding.rule, finding.severity, finding.is_drift) == ("node-gpus-differ", Severity.WARNING, True)
    assert finding.message == "node a: offers 7 nvidia.com/gpu, 8 are expected (policy)"


def test_mig_that_was_turned_on_is_told() -> None:
    api = applied(gpus=0)
    of(api)["status"]["allocatable"]["nvidia.com/mig-1g.5gb"] = "7"

    assert one(of(api)).message.endswith("; it offers nvidia.com/mig-1g.5gb: MIG is on")


def test_a_node_that_is_not_ready_is_told_and_is_no_drift() -> None:
    finding = one(of(applied(ready=False)))

    assert (finding.rule, finding.is_drift) == ("node-not-ready", False)
    assert finding.message == "node a: is not Ready: Kubelet: told"


def test_a_cordoned_node_is_told_and_is_no_drift() -> None:
    api = applied()
    of(api)["spec"]["unschedulable"] = True

    finding = one(of(api))

    assert (finding.rule, finding.severity, finding.is_drift) == ("node-cordoned", Severity.INFO, False)


def test_a_node_that_an_apply_left_cordoned_is_drift() -> None:
    api = applied()
    of(api)["spec"]["unschedulable"] = True
    of(api)["metadata"]["annotations"] = {CORDONED_BY: POLICY.name}

    finding = one(of(api))

    assert (finding.rule, finding.is_drift) == ("node-rollout-unfinished", True)


def test_a_missing_taint_is_told() -> None:
    finding = one(of(applied()), used=TAINTED)

    assert (finding.rule, finding.message) == (
        "node-taint-missing",
        f"node a: has no taint {GROUP}=SMALL:NoSchedule",
    )


def test_a_taint_of_ours_that_is_not_wanted_is_told() -> None:
    api = applied()
    of(api)["spec"]["taints"] = [TAINT]

    finding = one(of(api))

    assert finding.rule == "node-taint-surplus"


def test_a_taint_of_others_is_told_and_is_no_drift_unless_kubernetes_set_it() -> None:
    api = applied()
    condition = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    of(api)["spec"]["taints"] = [{"key": "example.com/repair", "value": "yes", "effect": "NoExecute"}, condition]

    finding = one(of(api))

    assert (finding.rule, finding.is_drift) == ("node-taint-foreign", False)
    assert "example.com/repair=yes:NoExecute" in finding.message


def test_one_who_applies_all_taints_is_a_conflict_of_owners() -> None:
    api = applied()
    of(api)["spec"]["taints"] = [TAINT]
    entry = {"manager": "fleet", "operation": "Apply", "fieldsV1": {"f:spec": {"f:taints": {}}}}
    of(api)["metadata"]["managedFields"].append(entry)

    finding = one(of(api), used=TAINTED)

    assert finding.rule == "node-owner-conflict"
    assert "spec.taints is applied by fleet" in finding.message


def test_a_node_whose_type_is_in_doubt_is_told() -> None:
    other = gpu_type("V100-B", node_selector=LabelSelector(match_labels=PRODUCT))
    both = policy(SMALL, types=(V100, other))

    finding = one(live_node("a", PRODUCT), used=both)

    assert (finding.rule, finding.message) == (
        "node-type-in-doubt",
        "node a: its labels fit several GPU types: V100, V100-B",
    )


def test_gpus_that_no_type_takes_are_told() -> None:
    finding = one(live_node("a", {"product": "T4"}))

    assert (finding.rule, finding.message) == (
        "node-without-type",
        "node a: offers 8 nvidia.com/gpu, and no GPU type of the policy takes it",
    )


def test_what_is_no_drift_is_a_rule() -> None:
    assert set(DRIFT_RULES) >= NO_DRIFT


BOTH = policy(SMALL, types=(V100, gpu_type("V100-B", node_selector=LabelSelector(match_labels=PRODUCT))))


def test_a_node_in_doubt_with_labels_of_ours_is_told_once() -> None:
    finding = one(live_node("a", {**PRODUCT, GROUP: "SMALL"}), used=BOTH)

    assert finding.rule == "node-type-in-doubt"


def test_a_label_that_names_another_type_than_the_selectors_leaves_doubt() -> None:
    third = gpu_type("T4", node_selector=LabelSelector(match_labels={"product": "T4"}))
    three = policy(SMALL, types=(*BOTH.gpu_types, third))

    assert one(live_node("a", {**PRODUCT, TYPE: "T4"}), used=three).rule == "node-type-in-doubt"


def test_mig_on_a_node_that_nobody_has_labelled_yet_is_told() -> None:
    made = live_node("a", PRODUCT, gpus=0)
    made["status"]["allocatable"]["nvidia.com/mig-1g.5gb"] = "7"

    finding = one(made)

    assert (finding.rule, finding.severity) == ("node-gpus-differ", Severity.WARNING)
    assert finding.message.startswith("node a: is of type V100 and offers no nvidia.com/gpu; it offers nvidia.com/mig")


def test_a_node_whose_driver_is_not_there_yet_is_no_drift() -> None:
    made = live_node("a", PRODUCT)
    del made["status"]["allocatable"]["nvidia.com/gpu"]

    assert drift(made) == ()


def test_a_node_that_never_reported_says_so() -> None:
    api = applied()
    of(api)["status"]["conditions"] = [{"type": "MemoryPressure", "status": "False"}]

    assert one(of(api)).message == "node a: is not Ready: it has no condition Ready"
