"""``gpupolicy nodes``: plan and status on dumps; what the action tells and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claim_builders import claim, claiming
from commands import POLICY, run
from fake_node_api import live_node

GROUP = "my.gpu.cluster/node-group"
PRODUCT = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}


def listed(*items: dict, kind: str) -> str:
    each = [{"apiVersion": "v1", "kind": kind, **item} for item in items]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": each})


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A dump of four nodes without labels of ours, and one that has no GPU."""
    file = tmp_path / "nodes.json"
    four = (live_node(f"gpu-{number}", PRODUCT) for number in range(1, 5))
    file.write_text(listed(*four, live_node("gpu-5", PRODUCT, gpus=0), kind="Node"))
    return file


def train(name: str, node: str) -> dict:
    """A pod of 8 GPUs, of a Job."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    metadata = {"name": name, "namespace": "team-a", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [container]}}


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    """A dump of two pods of 8 GPUs, on the first nodes; the policy has one node for them."""
    file = tmp_path / "pods.json"
    file.write_text(listed(train("train-x", "gpu-1"), train("train-y", "gpu-2"), kind="Pod"))
    return file


def test_a_plan_tells_changes_slots_and_costs(nodes: Path, pods: Path) -> None:
    outcome = run("nodes", "plan", POLICY, "--from", nodes, "--from", pods)

    changes, slots, costs, skipped = outcome.out.split("\n\n")
    assert outcome.status == 0
    assert changes.startswith("GPU type V100 selects it (")
    assert "  gpu-1  no group -> SLOT-4  set my.gpu.cluster/gpu-type=V100" in changes
    assert slots.splitlines()[1:3] == [
        "  GPU TYPE  SLOT GROUP  NODES   SIZE  SLOTS",
        "  V100      SLOT-1      0 -> 1  1     0 -> 8 (+8)",
    ]
    assert costs.splitlines() == [
        "1 pod with 8 GPUs on 1 node would be misplaced; apply leaves it where it is, or evicts it with --drain:",
        "  Job team-a/train: 1 pod, 8 GPUs",
    ]
    assert skipped.splitlines() == ["Skipped:", "  gpu-5: offers no nvidia.com/gpu (status.allocatable)"]


def test_the_summary_and_the_missing_owners_are_told_beside_it(nodes: Path, pods: Path) -> None:
    outcome = run("nodes", "plan", POLICY, "--from", nodes, "--from", pods)

    assert outcome.err == (
        "note: the nodes come without metadata.managedFields, so who has set a label is not known: "
        "kubectl get nodes -o json --show-managed-fields shows it\n"
        "5 nodes: 4 to change, 1 skipped; 1 pod would be misplaced\n"
    )


def test_exit_code_tells_whether_there_is_something_to_do(nodes: Path) -> None:
    assert run("nodes", "plan", POLICY, "--from", nodes).status == 0
    assert run("nodes", "plan", POLICY, "--from", nodes, "--exit-code").status == 1


def test_json_is_one_object(nodes: Path, pods: Path) -> None:
    report = run("nodes", "plan", POLICY, "--from", nodes, "--from", pods, "--format", "json").json

    assert report["kind"] == "NodePlan"
    first = report["changes"][0]
    assert (first["node"], first["slotGroup"], first["remove"]) == ("gpu-1", {"from": None, "to": "SLOT-4"}, [])
    assert first["pods"] == [
        {"namespace": "team-a", "name": "train-x", "gpus": 8, "owner": {"kind": "Job", "name": "train"}}
    ]
    assert report["cost"]["owners"] == [{"kind": "Job", "namespace": "team-a", "name": "train", "pods": 1, "gpus": 8}]
    assert report["summary"] == {"changes": 4, "drift": 0}


def test_a_plan_is_saved_as_it_is_told_in_json(nodes: Path, tmp_path: Path) -> None:
    outcome = run("nodes", "plan", POLICY, "--from", nodes, "--format", "json", "-o", tmp_path / "plan.json")

    assert (tmp_path / "plan.json").read_text() == outcome.out


def test_a_dump_may_come_on_standard_input(nodes: Path) -> None:
    assert "4 to change" in run("nodes", "plan", POLICY, "--from", "-", stdin=nodes.read_bytes()).err


def test_a_dump_without_nodes_is_no_answer(pods: Path) -> None:
    outcome = run("nodes", "plan", POLICY, "--from", pods)

    assert (outcome.status, outcome.out) == (2, "")
    assert "there is no Node in" in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="no-action"),
        pytest.param(("paint", POLICY), id="unknown-action"),
        pytest.param(("plan",), id="no-policy"),
        pytest.param(("plan", POLICY, "--from", "x.json", "-o", "-"), id="a-plan-to-standard-output"),
        pytest.param(("plan", "-", "--from", "-"), id="standard-input-twice"),
        pytest.param(("status", "-", "--from", "-"), id="standard-input-twice-in-a-status"),
        pytest.param(("apply", POLICY, "--batch-size", "0"), id="an-empty-batch"),
        pytest.param(("apply", POLICY, "--drain-timeout", "soon"), id="no-seconds"),
        pytest.param(("apply", POLICY, "--dry-run", "client"), id="a-dry-run-of-another-kind"),
    ],
)
def test_wrong_usage_ends_in_2(arguments: tuple[str, ...]) -> None:
    outcome = run("nodes", *arguments)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")


@pytest.mark.parametrize("action", ["plan", "apply", "status"])
def test_each_action_has_a_help(action: str) -> None:
    assert f"usage: gpupolicy nodes {action}" in run("nodes", action, "--help").out


@pytest.fixture
def drifted(tmp_path: Path) -> Path:
    """A dump of two nodes: one as wanted and cordoned, one with another group."""
    labels = {**PRODUCT, "my.gpu.cluster/gpu-type": "V100", "my.gpu.cluster/nvidia-gpu-support": "true"}
    cordoned = live_node("a", {**labels, GROUP: "SLOT-1"})
    cordoned["spec"]["unschedulable"] = True
    entry = {"manager": "kubectl-label", "operation": "Update", "time": "2026-01-01T00:00:00Z"}
    owned = {**entry, "fieldsV1": {"f:metadata": {"f:labels": {f"f:{GROUP}": {}}}}}
    other = live_node("b", {**labels, GROUP: "OLD"})
    other["metadata"]["managedFields"] = [owned]
    file = tmp_path / "drifted.json"
    file.write_text(listed(cordoned, other, kind="Node"))
    return file


def test_a_status_tells_who_did_what_and_ends_in_1(drifted: Path) -> None:
    outcome = run("nodes", "status", POLICY, "--from", drifted)

    cordoned, changed = outcome.out.splitlines()
    assert outcome.status == 1
    assert cordoned == "info: node a: is cordoned [node-cordoned]"
    assert changed.startswith(
        f"error: node b: label {GROUP} is OLD (set by kubectl-label at 2026-01-01T00:00:00Z); SLOT-2 is wanted: "
    )
    assert outcome.err == (
        f"note: there is no Pod in {drifted}, so nodes count as empty and nobody as misplaced\n"
        "2 nodes: 1 finding of drift, 1 others\n"
    )


def test_a_status_without_drift_ends_in_0(tmp_path: Path) -> None:
    labels = {**PRODUCT, "my.gpu.cluster/gpu-type": "V100", "my.gpu.cluster/nvidia-gpu-support": "true"}
    (tmp_path / "nodes.json").write_text(listed(live_node("a", {**labels, GROUP: "SLOT-1"}, ready=False), kind="Node"))

    outcome = run("nodes", "status", POLICY, "--from", tmp_path / "nodes.json")

    assert outcome.status == 0
    assert outcome.out == "warning: node a: is not Ready: Kubelet: told [node-not-ready]\n"


def test_a_status_in_json_has_the_plan_and_the_drift(drifted: Path) -> None:
    report = run("nodes", "status", POLICY, "--from", drifted, "--format", "json").json

    assert [(each["node"], each["rule"], each["isDrift"]) for each in report["drift"]] == [
        ("a", "node-cordoned", False),
        ("b", "node-label-changed", True),
    ]
    assert report["drift"][1]["field"] == f"metadata.labels[{GROUP}]"
    assert [change["node"] for change in report["changes"]] == ["b"]


def test_a_status_as_sarif_names_its_rules(drifted: Path) -> None:
    log = run("nodes", "status", POLICY, "--from", drifted, "--format", "sarif").json

    (the_run,) = log["runs"]
    assert [each["ruleId"] for each in the_run["results"]] == ["node-cordoned", "node-label-changed"]
    assert "node-label-changed" in [each["id"] for each in the_run["tool"]["driver"]["rules"]]


def test_a_status_as_junit_has_a_case_for_each_node(drifted: Path) -> None:
    text = run("nodes", "status", POLICY, "--from", drifted, "--format", "junit").out

    assert 'tests="2" failures="1"' in text
    assert 'testcase name="a" classname="v1 Node"' in text


def test_a_status_as_annotations(drifted: Path) -> None:
    lines = run("nodes", "status", POLICY, "--from", drifted, "--format", "github").out.splitlines()

    assert lines[0] == "::notice title=node-cordoned::node a: is cordoned"


@pytest.mark.parametrize("action", ["plan", "apply", "status"])
def test_a_cluster_that_does_not_answer_ends_in_2(action: str, tmp_path: Path) -> None:
    server = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"token": "t"}}
    config = {"clusters": [server], "contexts": [context], "users": [user], "current-context": "c"}
    (tmp_path / "config").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))

    outcome = run("nodes", action, POLICY, "--kubeconfig", tmp_path / "config")

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")


def test_pods_of_namespaces_that_labels_exempt_stay(nodes: Path, pods: Path, tmp_path: Path) -> None:
    exempt = "    exemptions:\n      - {namespaceSelector: {matchLabels: {team: infra}}, reason: ours}\n"
    (tmp_path / "policy.yaml").write_text(Path(POLICY).read_text().replace("    exemptions:\n", exempt))
    space = {"metadata": {"name": "team-a", "labels": {"team": "infra"}}}
    (tmp_path / "namespaces.json").write_text(listed(space, kind="Namespace"))
    dumps = ("--from", nodes, "--from", pods, "--from", tmp_path / "namespaces.json")

    assert "would be misplaced" not in run("nodes", "plan", tmp_path / "policy.yaml", *dumps).err


def test_pods_with_claims_in_the_dump_would_be_misplaced_too(nodes: Path, tmp_path: Path) -> None:
    text = Path(POLICY).read_text().replace("gpusPerNode: 8", "gpusPerNode: 8\n      deviceClasses: [gpu.example.com]")
    (tmp_path / "policy.yaml").write_text(text)
    (tmp_path / "pods.json").write_text(listed(claiming("p", "gpu-1"), train("q", "gpu-2"), kind="Pod"))
    (tmp_path / "claims.json").write_text(listed(claim(8), kind="ResourceClaim"))
    dumps = [word for name in ("pods.json", "claims.json") for word in ("--from", tmp_path / name)]

    outcome = run("nodes", "plan", tmp_path / "policy.yaml", "--from", nodes, *dumps)

    assert "1 pod with 8 GPUs on 1 node would be misplaced" in outcome.out
    assert "passed over" not in outcome.err


def test_apply_on_a_dump_is_refused_with_what_to_do_instead(nodes: Path) -> None:
    outcome = run("nodes", "apply", POLICY, "--from", nodes, "--yes")

    assert (outcome.status, outcome.out) == (2, "")
    told = "--from reads a dump, and nodes apply changes a live cluster: nodes plan --from shows what would change"
    assert outcome.err == f"error: {told}\n"
