"""``gpupolicy audit`` on dumps: what is told in each format, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from builders import container, described, node, pod
from commands import POLICY, run
from running_pods import NODES, in_group, of_deployment, routed, running, three

from gpupolicy import load

BY = load(POLICY)
PACKING = Path(__file__).parents[3] / "policies" / "packing.yaml"


@pytest.fixture
def dump(tmp_path: Path):
    """Writes objects as kubectl lists them; returns the file."""

    def write(*objects: Any, name: str = "dump.json") -> Path:
        file = tmp_path / name
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        return file

    return write


def fine() -> dict[str, Any]:
    return running(routed(pod(2), BY), "fine", on="gpu-2")


def test_a_cluster_without_a_fault_ends_in_0(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(*NODES, fine()))

    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err == (
        "1 pod (1 with GPUs), 1 owner: 0 denied, 0 not routed, 0 misplaced, 0 with warnings, 0 exempt\n"
    )


def unlabelled() -> list[dict[str, Any]]:
    """The nodes before the policy came."""
    return [node(name, labels={"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}) for name in ("gpu-1", "gpu-2")]


def test_before_the_policy_is_in_force_it_is_told_how_to_ask(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(*unlabelled(), running(pod(1), "old")))

    assert "hint: no node is labelled for a slot group yet" in outcome.err
    assert "1 owner: 0 denied, 1 not routed, 0 misplaced" in outcome.err


def test_where_no_pod_is_sent_to_a_group_nodes_need_none(dump) -> None:
    outcome = run("audit", PACKING, "--from", dump(*unlabelled(), running(pod(1), "old")))

    assert "hint" not in outcome.err


def test_as_planned_only_what_would_hurt_is_told(dump) -> None:
    file = dump(*unlabelled(), running(pod(1), "old"), running(pod(3), "odd", on="gpu-2"))

    outcome = run("audit", POLICY, "--from", file, "--as-planned")

    assert outcome.status == 1
    assert [line.split(":")[0] for line in outcome.out.splitlines() if "[" in line] == ["Pod team-a/odd"]
    assert outcome.err.endswith("2 owners: 1 denied, 0 not routed, 0 misplaced, 0 with warnings, 0 exempt\n")


def test_as_planned_a_pod_that_the_plan_gives_no_place_is_misplaced(dump) -> None:
    """Of four groups with equal weights the first two get the two nodes, and none of them serves 8 GPUs."""
    file = dump(*unlabelled(), running(pod(8), "one"), running(pod(8), "two", on="gpu-2"))

    outcome = run("audit", POLICY, "--from", file, "--as-planned")

    assert outcome.err.endswith("2 owners: 0 denied, 0 not routed, 2 misplaced, 0 with warnings, 0 exempt\n")


def test_the_text_names_owner_pods_and_what_mends_it(dump) -> None:
    pods = [running(of_deployment(three()), name) for name in ("serve-6d5f-x", "serve-6d5f-y")]

    outcome = run("audit", POLICY, "--from", dump(*NODES, *pods))

    assert outcome.status == 1
    assert outcome.out.splitlines() == [
        "Deployment team-a/serve: error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 "
        f"({POLICY}:21); ask for 2 or 4 [request-size-not-admitted]",
        "  2 pods: serve-6d5f-x, serve-6d5f-y; on gpu-1",
        "  mend: kubectl --namespace team-a patch deployment/serve --patch "
        """'{"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}}}}'""",
        "  note: its pods are made again with 4 GPUs, one after the other",
    ]


def test_a_node_stands_once_below_its_pod_and_a_note_of_several_owners_once_at_the_end(dump) -> None:
    pods = [running(pod(2), name, on="gpu-1") for name in "ab"]

    lines = run("audit", POLICY, "--from", dump(*NODES, *pods)).out.splitlines()

    assert [line.partition(": ")[0] for line in lines] == [
        *("Pod team-a/a", "Pod team-a/a", "  node", "  mend"),
        *("Pod team-a/b", "Pod team-a/b", "  node", "  mend"),
        "note",
    ]
    assert lines[2:4] == ["  node: gpu-1", "  mend: kubectl --namespace team-a delete pod a"]
    assert lines[-1] == (
        "note: nobody makes it again: apply its manifest again afterwards; a deletion asks no PodDisruptionBudget "
        "(2 owners: Pod team-a/a, Pod team-a/b)"
    )


def test_many_pods_are_told_by_the_first_of_them(dump) -> None:
    pods = [running(of_deployment(three()), f"s-{i:02}", on="") for i in range(12)]

    outcome = run("audit", POLICY, "--from", dump(*pods))

    assert "  12 pods: s-00, s-01, s-02, s-03, s-04, s-05, s-06, s-07, s-08, s-09 and 2 more\n" in outcome.out


def test_pods_workloads_and_nodes_may_stand_in_files_of_their_own(dump) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team-a"},
        "spec": {"template": {"spec": {"containers": [container(3)]}}},
    }
    files = [dump(*NODES, name="nodes.json"), dump(fine(), name="pods.json"), dump(job, name="jobs.json")]

    outcome = run("audit", POLICY, *(word for file in files for word in ("--from", file)))

    assert outcome.out.startswith("Job team-a/train: error: the pod asks for 3 GPUs")


def test_exemptions_in_use_are_told_with_their_line(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(described(running(three()), namespace="kube-system")))

    assert (outcome.status, outcome.out) == (
        0,
        f"{POLICY}:23: info: exempt without an end: 1 pod of 1 owner (parts of the cluster)\n",
    )


def test_an_exemption_that_ends_soon_is_a_warning_at_its_line(dump, tmp_path: Path) -> None:
    text = Path(POLICY).read_text().replace("reason: parts of the cluster", "reason: old, expires: 2999-01-01")
    (tmp_path / "policy.yaml").write_text(text)
    system = dump(described(running(three()), namespace="kube-system"))

    calm = run("audit", tmp_path / "policy.yaml", "--from", system)
    outcome = run("audit", tmp_path / "policy.yaml", "--from", system, "--expiring-within", "999999", "--strict")

    assert (calm.status, outcome.status) == (0, 1)
    assert outcome.out.startswith(f"{tmp_path}/policy.yaml:23:")
    assert "warning: the exemption (old) ends on 2999-01-01; in use by 1 pod of 1 owner" in outcome.out


def test_quiet_leaves_what_fails_and_summary_only_counts(dump) -> None:
    daemon = described(running(three()), namespace="kube-system")
    file = dump(running(three()), daemon)

    quiet = run("audit", POLICY, "--from", file, "--quiet")
    summary = run("audit", POLICY, "--from", file, "--summary")

    assert (quiet.err, "exempt" in quiet.out, "3 GPUs" in quiet.out) == ("", False, True)
    assert summary.out.startswith("2 pods (2 with GPUs), 2 owners: 1 denied")


def test_json_has_the_shape_of_the_docs(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(*NODES, running(of_deployment(three()), "x")), "--format", "json")

    assert set(outcome.json) == {"kind", "owners", "exemptions", "findings", "summary"}
    (owner,) = outcome.json["owners"]
    (finding,) = owner.pop("findings")
    (remedy,) = owner.pop("remedies")
    assert owner == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "team-a",
        "name": "serve",
        "pods": 1,
        "gpus": {"nvidia.com/gpu": 3},
        "verdict": "deny",
        "affected": [{"rule": "request-size-not-admitted", "pods": 1, "podNames": ["x"], "nodes": ["gpu-1"]}],
        "placement": None,
        "exemption": None,
    }
    assert list(finding) == ["rule", "severity", "message", "hint", "field", "file", "line", "column"]
    assert list(remedy) == ["rules", "commands", "note"]
    assert outcome.json["summary"] == {
        "pods": 1,
        "gpuPods": 1,
        "ended": 0,
        "workloads": 0,
        "owners": 1,
        "denied": 1,
        "rerouted": 0,
        "misplaced": 0,
        "warned": 0,
        "exempt": 0,
    }


def test_json_tells_exemptions(dump) -> None:
    system = dump(described(running(three()), namespace="kube-system"))

    outcome = run("audit", POLICY, "--from", system, "--format", "json")

    told = {"reason": "parts of the cluster", "owner": None, "expires": None}
    assert outcome.json["owners"][0]["exemption"] == told
    assert outcome.json["exemptions"] == [{**told, "place": f"{POLICY}:23", "pods": 1, "owners": 1, "daysLeft": None}]


def test_sarif_points_at_the_line_of_the_policy_and_names_the_owner(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(running(of_deployment(three()), "x")), "--format", "sarif")

    (result,) = outcome.json["runs"][0]["results"]
    assert result["ruleId"] == "request-size-not-admitted"
    assert result["message"]["text"].startswith("Deployment team-a/serve (1 pod): the pod asks for 3 GPUs")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 21


def test_every_rule_that_is_found_has_a_text_in_sarif(dump) -> None:
    pods = [running(pod(2), "far", on="gpu-1"), running(three(), "odd")]

    outcome = run("audit", POLICY, "--from", dump(*NODES, *pods), "--format", "sarif")

    assert {"ruleIndex" in result for result in outcome.json["runs"][0]["results"]} == {True}


def test_junit_has_a_suite_for_each_namespace_and_a_case_for_each_owner(dump) -> None:
    pods = [fine(), running(three(), "odd"), described(running(three(), "part"), namespace="kube-system")]

    outcome = run("audit", POLICY, "--from", dump(*NODES, *pods), "--format", "junit")

    root = ElementTree.fromstring(outcome.out)
    found = {case.get("name"): [child.tag for child in case] for suite in root for case in suite.findall("testcase")}
    assert [suite.get("name") for suite in root] == ["namespace kube-system", "namespace team-a"]
    assert found == {"Pod kube-system/part": ["skipped"], "Pod team-a/fine": [], "Pod team-a/odd": ["failure"]}


def test_github_has_an_annotation_for_each_finding(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(running(three(), "odd")), "--format", "github")

    assert outcome.out.startswith("::error file=")
    assert ",line=21," in outcome.out
    assert "::Pod team-a/odd: the pod asks for 3 GPUs" in outcome.out


def test_one_namespace_is_judged_where_it_is_asked_for(dump) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team-b"},
        "spec": {"template": {"spec": {"containers": [container(3)]}}},
    }
    other = described(running(three(), "other"), namespace="team-b")

    outcome = run("audit", POLICY, "--from", dump(*NODES, fine(), other, job), "--namespace", "team-a")

    assert (outcome.status, outcome.out) == (0, "")


def test_claims_in_the_dump_are_counted(dump, tmp_path: Path) -> None:
    text = Path(POLICY).read_text().replace("gpusPerNode: 8", "gpusPerNode: 8\n      deviceClasses: [gpu.example.com]")
    (tmp_path / "policy.yaml").write_text(text)
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.example.com", "count": 3}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpus", "namespace": "team-a"},
        "spec": {"devices": {"requests": [request]}},
    }
    asking = running(pod(None, resourceClaims=[{"name": "gpus", "resourceClaimName": "gpus"}]), "odd")

    outcome = run("audit", tmp_path / "policy.yaml", "--from", dump(asking, claim))

    assert outcome.out.startswith("Pod team-a/odd: error: the pod asks for 3 GPUs")


def test_labels_of_namespaces_come_from_the_dump(dump, tmp_path: Path) -> None:
    exempt = "- {namespaceSelector: {matchLabels: {gpu: free}}, reason: free for all}"
    text = Path(POLICY).read_text() + f"      {exempt}\n"
    (tmp_path / "policy.yaml").write_text(text)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"gpu": "free"}}}

    outcome = run("audit", tmp_path / "policy.yaml", "--from", dump(running(three()), namespace))

    assert (outcome.status, outcome.out.endswith("(free for all)\n")) == (0, True)


@pytest.mark.parametrize("verb", [("audit",), ("capacity",), ("nodes", "plan")])
def test_a_dump_without_namespaces_is_told_where_the_policy_asks_for_their_labels(
    verb: tuple[str, ...], dump, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(
        Path(POLICY).read_text() + "      - {namespaceSelector: {matchLabels: {gpu: free}}, reason: free}\n"
    )
    warning = "selects namespaces by their labels, and no Namespace was read, so none has any"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}

    assert warning in run(*verb, file, "--from", dump(*NODES, fine())).err
    assert warning not in run(*verb, file, "--from", dump(*NODES, fine(), namespace)).err
    assert warning not in run(*verb, POLICY, "--from", dump(*NODES, fine())).err


def test_a_dump_without_pods_is_nothing_audited(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(in_group("gpu-1", "SLOT-1")))

    assert outcome.status == 2
    assert outcome.err.splitlines()[-1].startswith("error: nothing was audited: no pod in ")


@pytest.mark.parametrize("days", ["-1", "soon", "9999999"])
def test_days_are_a_number(days: str, dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(fine()), f"--expiring-within={days}")

    assert (outcome.status, f"{days} is no number of days" in outcome.err) == (2, True)


def test_a_summary_of_reports_is_refused(dump) -> None:
    outcome = run("audit", POLICY, "--from", dump(fine()), "--format", "policyreport", "--summary")

    assert (outcome.status, "--summary goes with" in outcome.err) == (2, True)


@pytest.mark.parametrize(("form", "kind"), [("policyreport", "PolicyReport"), ("openreports", "Report")])
def test_reports_for_dashboards_come_as_one_list_to_apply(dump, form: str, kind: str) -> None:
    outcome = run("audit", POLICY, "--from", dump(*NODES, fine()), "--format", form)

    assert (outcome.json["kind"], [each["kind"] for each in outcome.json["items"]]) == ("List", [kind])


def test_a_namespace_without_labels_has_none(dump, tmp_path: Path) -> None:
    text = Path(POLICY).read_text() + "      - {namespaceSelector: {matchLabels: {gpu: free}}, reason: free for all}\n"
    (tmp_path / "policy.yaml").write_text(text)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}

    assert run("audit", tmp_path / "policy.yaml", "--from", dump(running(three()), namespace)).status == 1
