"""The plan for nodes: what changes, who would be misplaced, what is won and lost, who else owns it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from builders import GROUP, TYPE, described, gpu_type, group, node, owned, pod, policy
from fake_node_api import FakeNodeApi, live_node

from gpupolicy.compiler import Order, compile_manifests
from gpupolicy.errors import InputError
from gpupolicy.inventory.usage import Usage, read_usage
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Policy, TaintEffect
from gpupolicy.reporting.nodes_json import plan_to_json
from gpupolicy.rollout.costs import group_by_owner
from gpupolicy.rollout.plan import NodePlan, OwnerCost, Resident
from gpupolicy.rollout.planning import digest, plan_nodes
from gpupolicy.rollout.saved import read_plan
from gpupolicy.rollout.slimming import slim
from gpupolicy.rollout.staleness import find_differences, is_done
from gpupolicy.rollout.state import CORDONED_BY, NodeState

PRODUCT = {"product": "V100"}
SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
V100 = gpu_type("V100", node_selector=LabelSelector(match_labels=PRODUCT))
SMALL = group("SMALL", 1, 2, 4, types=("V100",))
LARGE = group("LARGE", 8, types=("V100",))
POLICY = policy(SMALL, LARGE, types=(V100,))
NOTHING = Usage()


def labelled(name: str, slot_group: str, **labels: str) -> dict[str, object]:
    """A node as the policy wants it."""
    return node(name, labels={**PRODUCT, TYPE: "V100", GROUP: slot_group, SUPPORT: "true", **labels})


def running(on: str, name: str, gpus: int, owner: str = "Job", **fields: object) -> dict[str, object]:
    made = owned(pod(gpus, nodeName=on, **fields), owner) if owner else pod(gpus, nodeName=on, **fields)
    return {**made, "metadata": {**made["metadata"], "name": name}}  # type: ignore[dict-item]


def plan(*nodes: Mapping[str, object], pods: tuple[Mapping[str, object], ...] = (), used: Policy = POLICY) -> NodePlan:
    return plan_nodes(used, nodes, read_usage(used, pods))


def moves(made: NodePlan) -> dict[str, tuple[str | None, str | None]]:
    return {change.node: (change.before, change.after) for change in made.changes}


def test_unlabelled_nodes_get_all_labels_with_the_reason() -> None:
    (change,) = plan(node("a", labels=PRODUCT)).changes

    assert (change.gpu_type, change.before, change.after) == ("V100", None, "SMALL")
    assert change.set == change.wanted == {TYPE: "V100", GROUP: "SMALL", SUPPORT: "true"}
    assert change.reason == (
        "GPU type V100 selects it (policy); slot group SMALL has a share of 1 of 1 nodes (weight 1 of 2) (policy)"
    )


def test_nodes_as_wanted_need_nothing() -> None:
    assert plan(labelled("a", "SMALL"), labelled("b", "LARGE")).is_empty


def test_the_emptiest_node_moves_and_its_pods_are_named() -> None:
    nodes = (labelled("a", "LARGE"), labelled("b", "LARGE"))
    pods = (running("a", "eight", 8), running("b", "also-eight", 8, owner=""))

    made = plan(*nodes, pods=(*pods, running("a", "one", 1)))

    (change,) = made.changes
    assert change.node == "b"
    assert change.residents == (Resident(namespace="team-a", name="also-eight", gpus=8),)


@pytest.mark.parametrize(
    "resident",
    [
        pytest.param(running("a", "agent", 8, owner="DaemonSet"), id="daemon-set"),
        pytest.param(running("a", "three", 3), id="nothing-would-admit-it-again"),
        pytest.param(running("a", "cpu", 0), id="no-gpu"),
        pytest.param({**running("a", "done", 8), "status": {"phase": "Succeeded"}}, id="ended"),
        pytest.param(running("a", "small", 1), id="served-by-the-group"),
    ],
)
def test_a_pod_that_stays_is_not_misplaced(resident: Mapping[str, object]) -> None:
    (change,) = plan(node("a", labels=PRODUCT), pods=(resident,)).changes

    assert change.residents == ()


def test_a_change_that_moves_no_node_misplaces_nobody() -> None:
    without_support = node("a", labels={**PRODUCT, TYPE: "V100", GROUP: "SMALL"})

    (change,) = plan(without_support, pods=(running("a", "eight", 8),)).changes

    assert (change.set, change.residents) == ({SUPPORT: "true"}, ())


@pytest.mark.parametrize(
    ("resident", "problem"),
    [
        pytest.param(running("a", "three", 3), "requests for 3 GPUs are not admitted", id="not-admitted"),
        pytest.param(running("a", "eight", 8), "no node of LARGE has 8 GPUs", id="no-node-is-left"),
    ],
)
def test_pods_that_no_group_serves_after_the_plan_are_told(resident: Mapping[str, object], problem: str) -> None:
    made = plan(labelled("a", "SMALL"), pods=(resident, running("a", "one", 1)))

    (unserved,) = made.unserved
    assert unserved.problem == problem


@pytest.mark.parametrize(
    "resident",
    [
        pytest.param(running("b", "eight", 8), id="a-node-is-left"),
        pytest.param(running("a", "agent", 8, owner="DaemonSet"), id="daemon-set"),
        pytest.param(running("a", "cpu", 0), id="no-gpu"),
        pytest.param({**running("a", "done", 3), "status": {"phase": "Failed"}}, id="ended"),
        pytest.param(described(running("a", "going", 3), deletionTimestamp="2026-11-30T12:00:00Z"), id="leaving"),
    ],
)
def test_pods_that_a_group_serves_and_pods_that_are_not_judged_are_not_told(resident: Mapping[str, object]) -> None:
    assert plan(labelled("a", "SMALL"), labelled("b", "LARGE"), pods=(resident,)).unserved == ()


def test_a_group_whose_node_shows_no_gpus_for_the_moment_still_serves() -> None:
    """Its device plugin starts anew."""
    silent = labelled("b", "LARGE")
    silent["status"]["allocatable"]["nvidia.com/gpu"] = "0"  # type: ignore[index]

    assert plan(labelled("a", "SMALL"), silent, pods=(running("b", "eight", 8),)).unserved == ()


def test_slots_won_and_lost_are_counted_by_group_and_size() -> None:
    made = plan(labelled("a", "LARGE"), labelled("b", "LARGE"))

    small, large = made.slots
    assert (small.slot_group, small.nodes_before, small.nodes_after) == ("SMALL", 0, 1)
    assert [(each.size, each.before, each.after) for each in small.slots] == [(1, 0, 8), (2, 0, 4), (4, 0, 2)]
    assert [(each.size, each.before, each.after) for each in large.slots] == [(8, 2, 1)]


def test_costs_are_told_by_owner_the_largest_first() -> None:
    residents = (
        Resident(namespace="x", name="a", gpus=1),
        Resident(namespace="x", name="b", gpus=2, owner=("Job", "train")),
        Resident(namespace="x", name="c", gpus=2, owner=("Job", "train")),
    )

    assert group_by_owner(residents) == (
        OwnerCost(kind="Job", namespace="x", name="train", pods=2, gpus=4),
        OwnerCost(kind="Pod", namespace="x", name="a", pods=1, gpus=1),
    )


def test_skipped_nodes_come_with_the_reason() -> None:
    (skipped,) = plan(node("a", gpus=0, labels=PRODUCT)).skipped

    assert (skipped.node, skipped.reason) == ("a", "offers no nvidia.com/gpu (status.allocatable)")


def applied(*slot_groups: str) -> FakeNodeApi:
    """Nodes a, b, ... that our apply has put into groups."""
    api = FakeNodeApi(*(live_node(name, PRODUCT) for name, _ in zip("abcdef", slot_groups, strict=False)))
    for name, slot_group in zip("abcdef", slot_groups, strict=False):
        for key, value in ((TYPE, "V100"), (GROUP, slot_group), (SUPPORT, "true")):
            api.labels(name)[key] = value
            api.own(name, key, "gpupolicy", "Apply")
    return api


def test_the_node_whose_group_was_changed_by_hand_goes_back_and_no_other_moves() -> None:
    """Without a look at the owners the last of the nodes in LARGE would move, which nobody has touched."""
    api = applied("SMALL", "SMALL", "LARGE", "LARGE")
    api.label("a", GROUP, "LARGE")

    made = plan(*api.nodes.values())

    assert moves(made) == {"a": ("LARGE", "SMALL")}


def test_a_group_that_was_set_by_hand_before_the_first_apply_is_kept() -> None:
    api = FakeNodeApi(live_node("a", {**PRODUCT, GROUP: "LARGE"}), live_node("b", PRODUCT))

    assert {change.node: change.after for change in plan(*api.nodes.values()).changes} == {"a": "LARGE", "b": "SMALL"}


def test_who_owns_what_changes_is_told() -> None:
    api = applied("SMALL", "LARGE")
    api.label("a", TYPE, "OLD", manager="kubectl-edit")

    (change,) = plan(*api.nodes.values()).changes
    (conflict,) = change.conflicts

    assert conflict.told() == f"{TYPE}=OLD belongs to kubectl-edit at 2026-01-01T00:00:00Z"


def test_one_who_applies_the_taints_of_a_node_is_a_conflict_where_we_set_one() -> None:
    entry = {"manager": "argocd", "operation": "Apply", "fieldsV1": {"f:spec": {"f:taints": {}}}}
    made = live_node("a", PRODUCT)
    made["metadata"]["managedFields"] = [entry]
    tainted = policy(replace(SMALL, taint=TaintEffect.NO_SCHEDULE), types=(V100,))

    (change,) = plan(made, used=tainted).changes

    assert [conflict.told() for conflict in change.conflicts] == ["spec.taints belongs to argocd, server-side apply"]


def test_nodes_that_an_apply_left_cordoned_are_unfinished() -> None:
    left = labelled("a", "SMALL")
    left["metadata"]["annotations"] = {CORDONED_BY: POLICY.name}  # type: ignore[index]

    made = plan(left, labelled("b", "LARGE"))

    assert (made.unfinished, made.is_empty) == (("a",), False)


@pytest.mark.parametrize("tainted", [False, True], ids=["labels", "taints"])
def test_the_compiled_form_and_the_plan_agree(tainted: bool) -> None:
    """What GitOps applies (compile --target nodes --nodes) leaves nothing to plan, and the other way round."""
    used = policy(replace(SMALL, taint=TaintEffect.NO_SCHEDULE), LARGE, types=(V100,)) if tainted else POLICY
    nodes = [node(name, labels=PRODUCT) for name in "abcde"]

    compiled = [each.document for each in compile_manifests(Order(policy=used, nodes=tuple(nodes)), ("nodes",))]

    wanted = {each["metadata"]["name"]: each["metadata"]["labels"] for each in compiled if each["kind"] == "Node"}  # type: ignore[index]
    assert wanted == {change.node: change.wanted for change in plan(*nodes, used=used).changes}


class TestStaleness:
    """Whether a plan still holds."""

    def differences(self, before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
        (change,) = plan(before).changes
        return find_differences(POLICY, change, NodeState(after))

    def test_another_version_alone_does_not_matter(self) -> None:
        assert self.differences(live_node("a", PRODUCT), {**live_node("a", PRODUCT), "apiVersion": "v1"}) == ()

    def test_labels_that_the_policy_does_not_name_do_not_matter(self) -> None:
        assert self.differences(live_node("a", PRODUCT), live_node("a", {**PRODUCT, "rack": "r1"})) == ()

    def test_a_label_that_the_policy_selects_by_matters(self) -> None:
        told = self.differences(live_node("a", PRODUCT), live_node("a", {"product": "A100"}))

        assert told == ("label product was V100 and is A100",)

    def test_what_the_plan_does_itself_does_not_matter(self) -> None:
        assert self.differences(live_node("a", PRODUCT), live_node("a", {**PRODUCT, TYPE: "V100"})) == ()

    def test_a_cordon_matters_unless_it_is_ours(self) -> None:
        cordoned = live_node("a", PRODUCT)
        cordoned["spec"]["unschedulable"] = True
        ours = {**cordoned, "metadata": {**cordoned["metadata"], "annotations": {CORDONED_BY: POLICY.name}}}

        assert self.differences(live_node("a", PRODUCT), cordoned) == ("it was cordoned",)
        assert self.differences(live_node("a", PRODUCT), ours) == ()

    def test_a_lost_gpu_matters(self) -> None:
        told = self.differences(live_node("a", PRODUCT), live_node("a", PRODUCT, gpus=7))

        assert told == ("it offered 8 GPUs and offers 7",)

    def test_another_node_of_the_same_name_matters(self) -> None:
        other = live_node("a", PRODUCT)
        other["metadata"]["uid"] = "another"

        assert self.differences(live_node("a", PRODUCT), other) == ("it is another node of the same name",)

    def test_a_taint_of_ours_that_somebody_set_matters(self) -> None:
        tainted = live_node("a", PRODUCT)
        tainted["spec"]["taints"] = [{"key": GROUP, "value": "X", "effect": "NoSchedule"}, {"key": "other"}]

        told = self.differences(live_node("a", PRODUCT), tainted)

        assert told == (f"its taints were none and are {GROUP}=X:NoSchedule",)

    def test_a_node_that_has_all_labels_is_done(self) -> None:
        (change,) = plan(node("a", labels=PRODUCT)).changes

        assert is_done(POLICY, change, NodeState(labelled("a", "SMALL")))
        assert not is_done(POLICY, change, NodeState(node("a", labels=PRODUCT)))


class TestSaved:
    """A plan in a file."""

    def saved(self, made: NodePlan) -> dict[str, object]:
        document: dict[str, object] = json.loads(json.dumps(plan_to_json(made, "here")))
        return document

    def test_it_is_read_as_it_was_made(self) -> None:
        tainted = policy(replace(SMALL, taint=TaintEffect.NO_SCHEDULE), types=(V100,))
        made = plan(live_node("a", PRODUCT), pods=(running("a", "eight", 8, owner=""),), used=tainted)

        again = read_plan(self.saved(made), tainted)

        assert again.changes == made.changes
        assert (again.manager, again.digest, again.nodes) == (made.manager, made.digest, 1)

    def test_it_is_refused_for_another_policy(self) -> None:
        made = self.saved(plan(live_node("a", PRODUCT)))
        other = policy(SMALL, types=(V100,))

        with pytest.raises(InputError, match="the plan was made by another policy, or by this one before"):
            read_plan(made, other)

    @pytest.mark.parametrize(
        ("damage", "told"),
        [
            pytest.param({"kind": "Other"}, "this is no plan", id="kind"),
            pytest.param({"plan": 1}, "this is no plan", id="plan"),
            pytest.param({"changes": {}}, "changes: a list is expected", id="changes"),
            pytest.param({"changes": [1]}, r"changes\[0\]: an object is expected", id="change"),
            pytest.param({"changes": [{}]}, r"changes\[0\].gpuType: a string is expected", id="nothing-in-it"),
            pytest.param({"unfinished": [1]}, r"unfinished\[0\]: a string is expected", id="unfinished"),
        ],
    )
    def test_what_is_no_plan_is_refused(self, damage: dict[str, object], told: str) -> None:
        with pytest.raises(InputError, match=told):
            read_plan({**self.saved(plan(live_node("a", PRODUCT))), **damage}, POLICY)

    @pytest.mark.parametrize(
        ("part", "value", "told"),
        [
            pytest.param("gpuType", "H100", r"changes\[0\]: there is no GPU type H100", id="type"),
            pytest.param("set", {"a": 1}, r"changes\[0\].set.a: a string is expected", id="label"),
            pytest.param("slotGroup", None, r"changes\[0\].slotGroup: an object is expected", id="group"),
            pytest.param("pods", [{"namespace": "x", "name": "y", "gpus": True}], "a whole number", id="pod"),
            pytest.param("reason", 7, r"changes\[0\].reason: a string is expected", id="reason"),
        ],
    )
    def test_a_change_that_is_none_is_refused(self, part: str, value: object, told: str) -> None:
        document = self.saved(plan(live_node("a", PRODUCT)))
        document["changes"][0][part] = value  # type: ignore[index]

        with pytest.raises(InputError, match=told):
            read_plan(document, POLICY)

    def test_a_comment_in_the_policy_does_not_make_it_another_one(self) -> None:
        assert digest(POLICY) == digest(replace(POLICY))
        assert digest(POLICY) != digest(policy(SMALL, types=(V100,)))


def test_a_slim_node_gives_the_same_plan() -> None:
    api = applied("SMALL", "LARGE")
    api.label("a", GROUP, "LARGE", manager="kubectl-edit")
    api.nodes["a"]["metadata"]["annotations"] = {CORDONED_BY: "x", "other": "y"}
    nodes = [{**each, "status": {**each["status"], "images": [{"names": ["x"]}]}} for each in api.nodes.values()]

    assert plan(*map(slim, nodes)) == plan(*nodes)
    assert "images" not in slim(nodes[0])["status"]  # type: ignore[operator]


def test_a_node_of_another_shape_is_no_trouble() -> None:
    odd = {
        "metadata": {"name": "a", "labels": PRODUCT, "managedFields": "x", "annotations": 3},
        "spec": 1,
        "status": [],
    }

    assert [each.node for each in plan(slim(odd)).skipped] == ["a"]
