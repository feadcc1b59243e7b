"""``gpupolicy nodes`` on a real API server: plan, apply, status; drift by hand, a kill in the middle, budgets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Outcome, run
from e2e.controlplane import ControlPlane
from e2e.governed import compile_folder, kubectl, label_with_kubectl, left_as_found
from e2e.objects import node, pod
from e2e.processes import ServerProcess, wait_for
from e2e.rest import Object

from gpupolicy import load
from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.node_writes import LeftError, Writer
from gpupolicy.inventory.usage import Usage
from gpupolicy.rollout.planning import plan_nodes

GROUP = "my.gpu.cluster/node-group"
TYPE = "my.gpu.cluster/gpu-type"
SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
PRODUCT = "nvidia.com/gpu.product"
CORDONED_BY = "gpupolicy.dev/cordoned-by"

POLICY = """\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: two-types}
spec:
  gpuTypes:
    - {name: V100, gpusPerNode: 8, nodeSelector: {matchLabels: {nvidia.com/gpu.product: V100}}}
    - {name: A100, gpusPerNode: 4, nodeSelector: {matchLabels: {nvidia.com/gpu.product: A100}}}
  slotGroups:
    - {name: SMALL, sizes: [1, 2], nodes: [{gpuType: V100, weight: 1}, {gpuType: A100, weight: 1}]}
    - {name: LARGE, sizes: [4, 8], nodes: [{gpuType: V100, weight: 3}, {gpuType: A100, weight: 1}]}
"""
TAINTED = POLICY.replace("{name: LARGE, ", "{name: LARGE, taint: NoSchedule, ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Nodes on the control plane, and the policy's file."""

    plane: ControlPlane
    policy: Path

    def nodes(self, action: str, *options: str | Path) -> Outcome:
        """Runs an action of ours as the administrator."""
        return run("nodes", action, self.policy, "--kubeconfig", self.plane.kubeconfig(), *options)

    def apply(self, *options: str | Path) -> Outcome:
        """Applies without a question."""
        return self.nodes("apply", "--yes", *options)

    def started(self, name: str, *options: str) -> ServerProcess:
        """An apply in a process of its own, to be killed."""
        command = [sys.executable, "-m", "gpupolicy", "nodes", "apply", self.policy, "--yes", *options]
        return ServerProcess(name, [*command, "--kubeconfig", self.plane.kubeconfig()], self.plane.log_folder)

    def all(self) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self.plane.api().list("/api/v1/nodes")}

    def groups(self) -> dict[str, str]:
        """The slot group of every node that has one."""
        labels = {name: each["metadata"]["labels"] for name, each in self.all().items()}
        return {name: found[GROUP] for name, found in labels.items() if GROUP in found}

    def is_cordoned(self, name: str) -> bool:
        return bool(self.all()[name]["spec"].get("unschedulable"))


@pytest.fixture(scope="class")
def fleet(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """40 nodes of two types that nobody has labelled for us, each with a label of somebody else."""
    file = tmp_path_factory.mktemp("nodes") / "policy.yaml"
    file.write_text(POLICY)
    with left_as_found(control_plane):
        control_plane.add_nodes(20, prefix="v100", gpus=8, labels={PRODUCT: "V100", "rack": "r1"})
        control_plane.add_nodes(20, prefix="a100", gpus=4, labels={PRODUCT: "A100", "rack": "r2"})
        yield Fleet(plane=control_plane, policy=file)


class TestFortyNodes:
    """From unlabelled nodes to none that drifts; in order, each from where the one before it ended."""

    def test_the_plan_says_what_is_won_and_that_there_is_something_to_do(self, fleet: Fleet) -> None:
        planned = fleet.nodes("plan", "--exit-code", "--format", "json")

        assert planned.status == 1
        assert planned.json["summary"]["changes"] == 40
        assert [
            (each["gpuType"], each["slotGroup"], each["nodes"]["after"])
            for each in planned.json["slots"]
            if each["slotGroup"]
        ] == [("V100", "SMALL", 5), ("V100", "LARGE", 15), ("A100", "SMALL", 10), ("A100", "LARGE", 10)]

    def test_a_server_dry_run_changes_nothing(self, fleet: Fleet) -> None:
        before = {name: each["metadata"]["resourceVersion"] for name, each in fleet.all().items()}

        dry = fleet.apply("--dry-run", "server")

        assert (dry.status, len(dry.out.splitlines())) == (0, 40)
        assert {name: each["metadata"]["resourceVersion"] for name, each in fleet.all().items()} == before

    def test_an_apply_that_is_killed_is_resumed_by_the_next_one(self, fleet: Fleet) -> None:
        killed = fleet.started("killed-apply", "--batch-size", "4", "--batch-pause", "0.3")
        wait_for(lambda: len(fleet.groups()) >= 8, message="some nodes labelled")
        killed.kill()
        labelled = len(fleet.groups())

        resumed = fleet.apply()

        assert 8 <= labelled < 40
        assert (resumed.status, len(fleet.groups())) == (0, 40)
        assert f"{40 - labelled} nodes to change: {40 - labelled} done" in resumed.err

    def test_after_it_there_is_no_drift_and_nothing_to_plan(self, fleet: Fleet) -> None:
        status, planned = fleet.nodes("status"), fleet.nodes("plan", "--exit-code")

        assert (status.status, status.out) == (0, "")
        assert status.err == "40 nodes: 0 findings of drift, 0 others\n"
        assert planned.status == 0

    def test_labels_of_others_are_kept(self, fleet: Fleet) -> None:
        assert {each["metadata"]["labels"]["rack"] for each in fleet.all().values()} == {"r1", "r2"}

    def test_our_labels_belong_to_our_manager(self, fleet: Fleet) -> None:
        (entry,) = (e for e in fleet.all()["v100-001"]["metadata"]["managedFields"] if e["manager"] == "gpupolicy")

        assert entry["operation"] == "Apply"
        assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {f"f:{key}": {} for key in (TYPE, GROUP, SUPPORT)}}}

    def test_a_label_changed_by_hand_is_found_named_with_its_manager_and_repaired(self, fleet: Fleet) -> None:
        group = fleet.groups()["v100-020"]
        kubectl(fleet.plane, "label", "node", "v100-020", f"{GROUP}=SMALL", "--overwrite")

        found = fleet.nodes("status")
        refused = fleet.apply()
        repaired = fleet.apply("--force-conflicts")

        assert group == "LARGE"
        assert found.status == 1
        (line,) = found.out.splitlines()
        assert line.startswith(f"error: node v100-020: label {GROUP} is SMALL (set by kubectl-label at 20")
        assert line.endswith("[node-label-changed]")
        assert refused.status == 1
        assert refused.out.startswith(f"v100-020: {GROUP}=SMALL belongs to kubectl-label at 20")
        assert (repaired.status, fleet.groups()["v100-020"]) == (0, "LARGE")
        assert fleet.nodes("status").status == 0

    def test_a_label_changed_by_a_kubelet_is_told_as_such(self, fleet: Fleet) -> None:
        named = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "v100-001"}}
        patch = {"metadata": {"labels": {GROUP: "LARGE"}}}
        assert fleet.plane.api("system:node:v100-001").patch(named, patch, subresource="status").accepted

        found = fleet.nodes("status")
        fleet.apply("--force-conflicts")

        assert "(set by the kubelet, as " in found.out
        assert ", through status at 20" in found.out
        assert fleet.groups()["v100-001"] == "SMALL"

    def test_the_api_server_names_the_manager_of_a_conflict_too(self, fleet: Fleet, tmp_path: Path) -> None:
        """Somebody changes a label after we have looked: the conflict is the API server's own."""
        (tmp_path / "tainted.yaml").write_text(TAINTED)
        policy, live = load(tmp_path / "tainted.yaml"), connect(kubeconfig=str(fleet.plane.kubeconfig()), environ={})
        change = next(c for c in plan_nodes(policy, live.nodes(), Usage()).changes if c.node == "v100-020")
        kubectl(fleet.plane, "label", "node", "v100-020", f"{TYPE}=OLD", "--overwrite")
        writer = Writer(api=live.api, manager="gpupolicy", policy="two-types", dry_run=True)

        with pytest.raises(LeftError) as left:
            writer.change(change, writer.read("v100-020"), lambda state: None)

        assert str(left.value) == (
            f'conflict with "kubectl-label" using v1: metadata.labels.{TYPE}: --force-conflicts takes it over'
        )
        fleet.apply("--force-conflicts")

    def test_taints_are_set_beside_those_of_others_and_taken_away_again(self, fleet: Fleet, tmp_path: Path) -> None:
        kubectl(fleet.plane, "taint", "node", "v100-020", "example.com/repair=yes:NoSchedule")
        (tmp_path / "tainted.yaml").write_text(TAINTED)
        tainted = Fleet(plane=fleet.plane, policy=tmp_path / "tainted.yaml")

        done = tainted.apply()
        taints = {name: each["spec"].get("taints", []) for name, each in fleet.all().items()}
        status = tainted.nodes("status")
        undone = fleet.apply()

        ours = {"key": GROUP, "value": "LARGE", "effect": "NoSchedule"}
        assert done.status == undone.status == status.status == 0
        assert [name for name, each in taints.items() if ours in each] == [
            name for name, group in sorted(fleet.groups().items()) if group == "LARGE"
        ]
        assert [each["key"] for each in taints["v100-020"]] == ["example.com/repair", GROUP]
        assert [each["key"] for each in fleet.all()["v100-020"]["spec"]["taints"]] == ["example.com/repair"]

    def test_the_compiled_form_under_the_same_manager_changes_nothing(self, fleet: Fleet, tmp_path: Path) -> None:
        """GitOps may go on where an apply stopped: nobody's ownership changes hands."""
        before = {name: each["metadata"]["resourceVersion"] for name, each in fleet.all().items()}

        label_with_kubectl(fleet.plane, load(fleet.policy), fleet.policy, tmp_path)

        assert {name: each["metadata"]["resourceVersion"] for name, each in fleet.all().items()} == before

    def test_a_dump_gives_the_same_answer_as_the_cluster(self, fleet: Fleet, tmp_path: Path) -> None:
        kubectl(fleet.plane, "label", "node", "a100-001", f"{GROUP}=LARGE", "--overwrite")
        dump = kubectl(fleet.plane, "get", "nodes,pods", "-A", "-o", "json", "--show-managed-fields")
        (tmp_path / "dump.json").write_text(dump)

        dumped = run("nodes", "status", fleet.policy, "--from", tmp_path / "dump.json")
        live = fleet.nodes("status")
        fleet.apply("--force-conflicts")

        assert (dumped.status, dumped.out) == (1, live.out)


@pytest.fixture
def two(control_plane: ControlPlane, tmp_path: Path) -> Fleet:
    """Two nodes in LARGE by hand, of which the policy wants one in SMALL."""
    (tmp_path / "policy.yaml").write_text(POLICY.replace("weight: 3", "weight: 1"))
    labels = {PRODUCT: "V100", TYPE: "V100", GROUP: "LARGE", SUPPORT: "true"}
    control_plane.add_nodes(2, labels=labels)
    return Fleet(plane=control_plane, policy=tmp_path / "policy.yaml")


@pytest.fixture
def trained(two: Fleet, namespace: str) -> str:
    """A pod of 8 GPUs on each of the two nodes; returns the namespace."""
    for number in (1, 2):
        made = pod(f"train-{number}", 8, labels={"app": "train"}, nodeName=f"gpu-00{number}")
        two.plane.create(made, namespace)
    two.plane.act_as_kubelets(namespace)
    return namespace


def allow_disruptions(two: Fleet, namespace: str, allowed: int) -> None:
    """Makes a budget, or changes it, and says how many disruptions it allows, as its controller would."""
    metadata = {"name": "keep-training", "namespace": namespace}
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "train"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
    two.plane.api().post(budget)
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2}
    answer = two.plane.api().patch(budget, {"status": {**status, "expectedPods": 2}}, subresource="status")
    assert answer.accepted, answer.message


class TestPodsInUse:
    """The node that moves has a pod that would be misplaced."""

    def test_pods_stay_without_a_drain(self, two: Fleet, trained: str) -> None:
        done = two.apply("--force-conflicts")

        assert (done.status, two.groups()) == (0, {"gpu-001": "LARGE", "gpu-002": "SMALL"})
        assert sorted(two.plane.bound_nodes(trained)) == ["train-1", "train-2"]

    def test_a_drain_waits_for_a_budget_then_says_which_and_leaves_the_node_as_it_was(
        self, two: Fleet, trained: str
    ) -> None:
        allow_disruptions(two, trained, 0)

        done = two.apply("--force-conflicts", "--drain", "--drain-timeout", "1")

        assert done.status == 1
        assert (
            f"gpu-002: left: not drained: pod {trained}/train-2: not within 1 s: The disruption budget keep-training "
            "needs 2 healthy pods and has 2 currently"
        ) in done.out
        assert (two.groups()["gpu-002"], two.is_cordoned("gpu-002")) == ("LARGE", False)
        assert sorted(two.plane.bound_nodes(trained)) == ["train-1", "train-2"]

    def test_a_drain_that_is_killed_is_resumed_when_the_budget_gives_way(self, two: Fleet, trained: str) -> None:
        allow_disruptions(two, trained, 0)
        killed = two.started("killed-drain", "--force-conflicts", "--drain")
        wait_for(lambda: two.is_cordoned("gpu-002"), message="the node cordoned")
        killed.kill()
        left = two.nodes("status")
        allow_disruptions(two, trained, 1)

        resumed = two.apply("--force-conflicts", "--drain")

        assert "[node-rollout-unfinished]" in left.out
        assert (resumed.status, two.groups()) == (0, {"gpu-001": "LARGE", "gpu-002": "SMALL"})
        assert f"evicted: {trained}/train-2" in resumed.err
        assert list(two.plane.bound_nodes(trained)) == ["train-1"]
        assert not two.is_cordoned("gpu-002")
        assert CORDONED_BY not in two.all()["gpu-002"]["metadata"].get("annotations", {})

    def test_a_plan_is_refused_once_another_pod_has_come(self, two: Fleet, trained: str, tmp_path: Path) -> None:
        two.nodes("plan", "-o", tmp_path / "plan.json")
        two.plane.create(pod("late", 4, nodeName="gpu-002"), trained)

        refused = two.apply("--force-conflicts", "--plan", tmp_path / "plan.json")

        assert refused.status == 1
        assert refused.out == f"gpu-002: pods that would be misplaced came to it: {trained}/late\n"
        assert two.groups()["gpu-002"] == "LARGE"


def test_a_stale_plan_is_refused_and_one_after_a_heartbeat_is_not(two: Fleet, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    two.nodes("plan", "-o", plan)
    (planned,) = (c for c in json.loads(plan.read_text())["changes"] if c["node"] == "gpu-002")
    kubectl(two.plane, "label", "node", "gpu-002", f"{PRODUCT}=A100", "--overwrite")
    stale = two.apply("--force-conflicts", "--plan", plan)
    kubectl(two.plane, "label", "node", "gpu-002", f"{PRODUCT}=V100", "--overwrite")
    version = two.all()["gpu-002"]["metadata"]["resourceVersion"]

    fresh = two.apply("--force-conflicts", "--plan", plan)

    assert (stale.status, stale.err.splitlines()[-1]) == (
        1,
        "error: the plan is stale, so nothing was done: run gpupolicy nodes plan again",
    )
    assert stale.out.startswith(f"gpu-002: label {PRODUCT} was V100 and is A100 (by kubectl-label at 20")
    assert planned["seen"]["resourceVersion"] != version
    assert (fresh.status, two.groups()["gpu-002"]) == (0, "SMALL")


def test_an_apply_gets_on_with_the_compiled_rule_by_which_taints_follow_labels(two: Fleet, tmp_path: Path) -> None:
    """Both write spec.taints: the rule in every request that changes the label, the apply in one of its own before."""
    (tmp_path / "tainted.yaml").write_text(TAINTED.replace("weight: 3", "weight: 1"))
    tainted = Fleet(plane=two.plane, policy=tmp_path / "tainted.yaml")
    rules = compile_folder(tainted.policy, tmp_path / "rules", "--target", "nodes")
    kubectl(two.plane, "apply", "--server-side", "-k", rules)
    marker = node("marker", labels={GROUP: "LARGE"})
    wait_for(lambda: two.plane.create(marker, dry_run=True)["spec"].get("taints"), message="the rule in force")

    done = tainted.apply("--force-conflicts", "--health-timeout", "5")

    ours = {"key": GROUP, "value": "LARGE", "effect": "NoSchedule"}
    assert (done.status, tainted.groups()) == (0, {"gpu-001": "LARGE", "gpu-002": "SMALL"})
    assert [each["spec"].get("taints", []) for each in tainted.all().values()] == [[ours], []]
    assert tainted.nodes("status").status == 0


def test_a_user_without_rights_reads_which_rule_is_missing(two: Fleet) -> None:
    refused = run("nodes", "status", two.policy, "--kubeconfig", two.plane.kubeconfig("somebody"))

    assert (refused.status, refused.out) == (2, "")
    assert "nodes" in refused.err
