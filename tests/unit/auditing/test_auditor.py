"""Who would be denied, is not routed, is misplaced; and what is no fault of a running pod."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from builders import (
    GROUP,
    access,
    container,
    described,
    enforcing,
    exemption,
    gpu_type,
    override,
    owned,
    pod,
    policy,
    required,
    within,
)
from running_pods import NODES, POLICY, audited, in_group, of_deployment, only, owned_by, routed, rules, running, three

from gpupolicy import audit
from gpupolicy.admission.claims import index_claims
from gpupolicy.auditing import AuditVerdict
from gpupolicy.errors import Severity
from gpupolicy.model import Admission


def test_a_routed_pod_in_its_group_is_fine() -> None:
    owner = only(audited(running(routed(pod(2)), on="gpu-2")))

    assert (owner.verdict, owner.faults) == (AuditVerdict.ALLOW, ())


def test_a_pod_that_would_be_denied_today_is_told_with_the_line_of_the_policy() -> None:
    owner = only(audited(running(three())))

    assert (owner.verdict, rules(owner)) == (AuditVerdict.DENY, ["request-size-not-admitted"])
    assert owner.findings[0].message == "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy)"


def test_a_pod_from_before_the_webhook_is_not_routed() -> None:
    owner = only(audited(running(pod(2), on="gpu-2")))

    assert (owner.verdict, rules(owner)) == (AuditVerdict.REROUTE, ["pod-not-routed"])


def test_a_routed_pod_on_a_node_of_another_group_is_misplaced() -> None:
    owner = only(audited(running(routed(pod(2)), on="gpu-1")))

    assert (owner.verdict, rules(owner)) == (AuditVerdict.MISPLACED, ["pod-misplaced"])
    assert owner.findings[0].message == "the pod runs in slot group SLOT-1; requests for 2 GPUs go to SLOT-2"


@pytest.mark.parametrize(
    ("on", "nodes", "message"),
    [
        pytest.param("gpu-0", NODES, "the pod runs on a node of no slot group; requests for 2 GPUs go to SLOT-2"),
        pytest.param(
            "other",
            [*NODES, {"metadata": {"name": "other"}}],
            "the pod runs on a node of no GPU type of the policy; requests for 2 GPUs go to SLOT-2",
        ),
    ],
    ids=["no-group", "no-type"],
)
def test_the_message_says_what_the_node_lacks(on: str, nodes: list[dict[str, object]], message: str) -> None:
    owner = only(audited(running(routed(pod(2)), on=on), nodes=nodes))

    assert [finding.message for finding in owner.findings] == [message]


def test_without_nodes_nobody_is_misplaced() -> None:
    assert only(audited(running(routed(pod(2)), on="gpu-1"), nodes=[])).verdict is AuditVerdict.ALLOW


def test_a_denied_pod_is_not_called_misplaced_as_well() -> None:
    warned = policy(admission=enforcing("warn"))

    assert rules(only(audited(running(three(), on="gpu-0")))) == ["request-size-not-admitted"]
    assert rules(only(audited(running(three(), on="gpu-0"), by=warned))) == ["request-size-not-admitted"]


def test_a_node_that_the_scheduler_chose_is_no_bypass() -> None:
    fields = {"f:spec": {"f:schedulerName": {}}}
    entries = [{"manager": "kubectl", "operation": "Update", "fieldsV1": fields}]

    owner = only(audited(running(routed(pod(2)), on="gpu-2", managedFields=entries)))

    assert owner.faults == ()


def test_a_node_that_the_author_wrote_is_one() -> None:
    fields = {"f:spec": {"f:nodeName": {}}}
    entries = [{"manager": "kubectl", "operation": "Update", "fieldsV1": fields}]

    owner = only(audited(running(pod(2), on="gpu-2", managedFields=entries)))

    assert (owner.verdict, rules(owner)) == (AuditVerdict.DENY, ["node-name-set"])


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_only_counted(phase: str) -> None:
    report = audited({**running(three()), "status": {"phase": phase}})

    assert (report.owners, report.pods, report.ended) == ((), 1, 1)


def test_a_pod_that_is_being_deleted_is_only_counted() -> None:
    assert audited(running(three(), deletionTimestamp="2026-01-01T00:00:00Z")).owners == ()


def test_a_pod_without_gpus_is_only_counted() -> None:
    report = audited(running(pod(None)))

    assert (report.owners, report.pods, report.gpu_pods) == ((), 1, 0)


def test_a_mirror_pod_is_no_fault() -> None:
    mirror = running(three(), annotations={"kubernetes.io/config.mirror": "x"})

    assert only(audited(mirror)).verdict is AuditVerdict.ALLOW


def test_the_pods_of_a_daemon_set_are_neither_unrouted_nor_misplaced() -> None:
    matches = {"key": "metadata.name", "operator": "In", "values": ["gpu-4"]}
    term = {"nodeSelectorTerms": [{"matchFields": [matches]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}

    owner = only(audited(running(owned(pod(1, affinity=affinity), "DaemonSet"), on="gpu-4")))

    assert (owner.verdict, rules(owner)) == (AuditVerdict.WARN, ["daemon-pod-not-routed"])


def test_what_another_webhook_added_is_no_fault() -> None:
    """A sidecar without GPUs, an annotation, a toleration, a node selector on a label that is none of ours."""
    document = routed(pod(2))
    document["spec"]["containers"].append({"name": "istio-proxy", "image": "proxy"})
    document["spec"]["nodeSelector"] = {"topology.kubernetes.io/zone": "a"}
    document["metadata"]["annotations"]["sidecar.istio.io/status"] = "{}"

    assert only(audited(running(document, on="gpu-2"))).faults == ()


def test_a_wish_that_no_node_of_its_group_meets_is_told() -> None:
    wish = required([within(GROUP, "SLOT-8")])

    owner = only(audited(running(pod(2, affinity=wish), on="gpu-2")))

    assert (owner.verdict, rules(owner)) == (AuditVerdict.DENY, ["placement-contradiction"])


def test_the_pods_of_one_owner_are_told_together() -> None:
    pods = [running(of_deployment(three()), f"serve-6d5f-{i:02}", on=f"gpu-{i}") for i in range(12)]

    (fault,) = only(audited(*pods)).faults

    assert (fault.pods, len(fault.pod_names), len(fault.nodes)) == (12, 10, 10)
    assert fault.pod_names[:2] == ("serve-6d5f-00", "serve-6d5f-01")


def test_owners_come_in_the_order_of_their_names() -> None:
    pods = [described(running(three(), name), namespace=ns) for ns, name in (("b", "x"), ("a", "z"), ("a", "y"))]

    found = [each.owner.label for each in audited(*pods).owners]

    assert found == ["Pod a/y", "Pod a/z", "Pod b/x"]


def test_pods_that_are_alike_in_all_that_is_judged_get_one_decision_and_others_their_own() -> None:
    many = [running(owned_by(pod(n), "v1", "ReplicationController", f"r-{n}"), f"p-{n}", on="") for n in (1, 2, 3, 3)]

    found = {each.owner.name: rules(each) for each in audited(*many).owners}

    assert found == {"r-1": ["pod-not-routed"], "r-2": ["pod-not-routed"], "r-3": ["request-size-not-admitted"]}


def test_labels_tell_pods_apart_where_the_policy_selects_by_them() -> None:
    from gpupolicy.labels import LabelSelector

    by = policy(admission=Admission(exemptions=(exemption(pod_selector=LabelSelector(match_labels={"free": "yes"})),)))
    free = running(three(), "free", labels={"free": "yes"})

    found = {each.owner.name: each.verdict for each in audited(free, running(three(), "bound"), by=by).owners}

    assert found == {"free": AuditVerdict.EXEMPT, "bound": AuditVerdict.DENY}


def test_access_is_judged_by_the_labels_of_the_namespace() -> None:
    from gpupolicy.labels import LabelSelector
    from gpupolicy.model import AccessRule, NamespaceMatch

    match = NamespaceMatch(selector=LabelSelector(match_labels={"gpu": "yes"}))
    by = policy(admission=Admission(access=(AccessRule(namespaces=match),)))
    document = running(routed(pod(2)), on="gpu-2")

    assert rules(only(audited(document, by=by))) == ["access-denied"]
    assert only(audited(document, by=by, namespace_labels={"team-a": {"gpu": "yes"}})).faults == ()


def test_enforcement_decides_how_much_a_fault_weighs() -> None:
    by = policy(admission=enforcing("deny", override("warn", namespaces=("team-a",))))
    misplaced = running(routed(pod(2), by), "far", on="gpu-1")

    report = audited(running(three()), misplaced, by=by)

    assert {each.verdict for each in report.owners} == {AuditVerdict.WARN, AuditVerdict.MISPLACED}
    assert {finding.severity for finding in report.every_finding} == {Severity.WARNING}


def test_an_access_rule_that_forbids_the_group_is_told() -> None:
    by = policy(admission=Admission(access=(access("team-a", groups=("SLOT-1",)),)))

    assert rules(only(audited(running(pod(2)), by=by))) == ["access-denied"]


class TestExemptions:
    ENDING = policy(
        admission=Admission(
            exemptions=(
                exemption("team-a", owner="ada", expires=date(2026, 6, 10)),
                exemption("team-b"),
            )
        )
    )

    def test_their_use_is_counted(self) -> None:
        pods = [running(of_deployment(three()), name) for name in ("a", "b")]

        report = audited(*pods, by=self.ENDING)

        (use,) = report.exemptions
        assert (use.pods, use.owners, use.days_left, use.place) == (2, 1, None, "policy")
        assert only(report).verdict is AuditVerdict.EXEMPT

    def test_one_that_ends_soon_is_a_warning_about_the_policy(self) -> None:
        report = audited(running(three()), by=self.ENDING, now=datetime(2026, 6, 1, tzinfo=UTC), expiring_days=9)

        (finding,) = report.findings
        assert (finding.rule, finding.severity) == ("exemption-expires-soon", Severity.WARNING)
        assert finding.message == (
            "the exemption (part of the cluster), owned by ada ends on 2026-06-10; in use by 1 pod of 1 owner"
        )

    def test_one_that_ends_later_is_none(self) -> None:
        report = audited(running(three()), by=self.ENDING, now=datetime(2026, 6, 1, tzinfo=UTC), expiring_days=8)

        assert (report.findings, report.exemptions[0].days_left) == ((), 9)

    def test_one_that_is_over_exempts_nobody(self) -> None:
        report = audited(running(three()), by=self.ENDING, now=datetime(2026, 6, 11, tzinfo=UTC))

        assert rules(only(report)) == ["request-size-not-admitted", "exemption-expired"]

    def test_pods_without_gpus_do_not_use_them(self) -> None:
        assert audited(running(pod(None)), by=self.ENDING).exemptions == ()


DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "serve", "namespace": "team-a"},
    "spec": {"template": {"metadata": {"labels": {"app": "serve"}}, "spec": {"containers": [container(3)]}}},
}


class TestWorkloads:
    def test_a_template_is_judged_though_no_pod_runs(self) -> None:
        owner = only(audited(workloads=[DEPLOYMENT]))

        assert (owner.owner.label, owner.pods, rules(owner)) == (
            "Deployment team-a/serve",
            0,
            ["request-size-not-admitted"],
        )
        assert owner.findings[0].field[:3] == ("spec", "template", "spec")

    def test_a_fault_of_the_template_and_of_its_pods_is_one(self) -> None:
        (fault,) = only(audited(running(of_deployment(three())), workloads=[DEPLOYMENT])).faults

        assert (fault.pods, fault.finding.field[1]) == (1, "template")

    def test_a_template_needs_no_routing(self) -> None:
        fine = {**DEPLOYMENT, "spec": {"template": {"spec": {"containers": [container(2)]}}}}

        assert only(audited(workloads=[fine])).faults == ()

    def test_what_another_object_controls_is_judged_with_that_one(self) -> None:
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u", "controller": True}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "nightly-29", "namespace": "team-a", "ownerReferences": [owner]},
            "spec": {"template": {"spec": {"containers": [container(3)]}}},
        }
        made = running(owned_by(three(), "batch/v1", "Job", "nightly-29"))

        assert only(audited(made, workloads=[job])).owner.label == "CronJob team-a/nightly"
        assert audited(workloads=[job]).owners == ()

    @pytest.mark.parametrize("kind", ["Complete", "Failed"])
    def test_a_job_that_is_over_is_no_fault(self, kind: str) -> None:
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "done"},
            "spec": {"template": {"spec": {"containers": [container(3)]}}},
            "status": {"conditions": [{"type": kind, "status": "True"}]},
        }

        assert audited(workloads=[job]).owners == ()

    def test_a_workload_that_is_being_deleted_and_one_without_gpus_are_passed_over(self) -> None:
        gone = described(DEPLOYMENT, deletionTimestamp="2026-01-01T00:00:00Z")
        plain = {**DEPLOYMENT, "spec": {"template": {"spec": {"containers": [container()]}}}}

        assert audited(workloads=[gone, plain]).owners == ()

    def test_a_replica_set_is_found_whose_deployment_its_name_does_not_tell(self) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "very-long", "uid": "u", "controller": True}
        replica_set = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "cut-6d5f", "namespace": "team-a", "ownerReferences": [owner]},
            "spec": {},
        }
        made = running(of_deployment(three(), "cut"))

        assert only(audited(made, workloads=[replica_set])).owner.label == "Deployment team-a/very-long"


BY = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)), gpu_type("A100")))
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpus", "namespace": "team-a"},
    "spec": {
        "spec": {
            "devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.example.com", "count": 3}}]}
        }
    },
}
ASKING = pod(None, resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": "gpus"}])


class TestClaims:
    def test_the_devices_of_known_claims_count(self) -> None:
        report = audited(running(ASKING), by=BY, claims=index_claims([CLAIM]))

        assert rules(only(report)) == ["request-size-not-admitted"]

    def test_claims_that_are_not_known_are_told(self) -> None:
        assert rules(only(audited(running(ASKING), by=BY))) == ["device-claim-not-counted"]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"metadata": {"name": "a"}, "spec": {"containers": "none"}}, id="containers-no-list"),
        pytest.param({"metadata": {"name": "a"}, "spec": None}, id="no-spec"),
        pytest.param({"metadata": {"name": "a"}}, id="spec-missing"),
        pytest.param({"metadata": {"name": "a"}, "spec": {"containers": [7]}}, id="container-no-mapping"),
        pytest.param({"metadata": {"name": "a", "annotations": 7}, "spec": {"containers": []}}, id="annotations"),
        pytest.param(
            {"metadata": {"name": "a", "managedFields": [7, {"fieldsV1": 7}]}, "spec": {"nodeName": "x"}},
            id="managed-fields",
        ),
    ],
)
def test_a_pod_of_another_shape_is_a_finding_or_none_but_never_an_exception(broken: dict[str, object]) -> None:
    report = audited(broken)

    assert {finding.rule for finding in report.every_finding} <= {"pod-not-readable"}


def test_the_function_of_the_library_does_it_all() -> None:
    report = audit(POLICY, iter([running(three())]), iter(NODES), now=datetime(2026, 1, 1, tzinfo=UTC))

    assert (report.policy, report.pods, report.gpu_pods) == ("test", 1, 1)
    assert only(report).verdict is AuditVerdict.DENY


def test_a_pod_that_is_listed_twice_counts_once_and_is_told() -> None:
    twice = running(pod(2), on="gpu-2")
    report = audit(POLICY, [twice, twice], NODES)

    assert (only(report).pods, report.gpu_pods, report.pods) == (1, 1, 2)
    assert [(f.rule, f.message) for f in report.findings] == [
        ("pod-repeated", "pod team-a/a is listed twice; the first one counts")
    ]


def test_many_that_are_listed_twice_are_told_as_a_number() -> None:
    pods = [running(pod(2), name=f"p{number}") for number in range(25)]

    assert [f.message for f in audit(POLICY, pods * 2).findings][-1] == "and 5 more pods"


def test_of_one_owner_the_first_fifty_faults_are_kept() -> None:
    pods = [running(of_deployment(pod(n)), f"p-{n}", on="") for n in range(9, 100)]

    assert len(only(audited(*pods)).faults) == 50


def test_more_kinds_of_pods_than_are_kept_in_mind_are_decided_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpupolicy.auditing import judging

    monkeypatch.setattr(judging, "_MOST_KNOWN", 2)
    pods = [running(of_deployment(pod(n), f"d-{n}"), f"p-{n}", on="") for n in (3, 5, 6, 7, 3, 5)]

    assert {each.verdict for each in audited(*pods).owners} == {AuditVerdict.DENY}


def test_a_node_of_a_type_that_the_pod_may_not_use_is_the_wrong_one() -> None:
    by = policy(admission=Admission(access=(access("team-a", types=("V100",)),)))
    document = running(routed(pod(2), by), on="other")

    owner = only(audited(document, by=by, nodes=[in_group("other", "SLOT-2", "A100")]))

    assert [finding.message for finding in owner.findings] == ["the pod runs on a node of type A100; it may use V100"]


def test_a_part_that_only_placing_reads_may_be_of_another_shape() -> None:
    document = running(routed(pod(2)), on="gpu-1")
    document["spec"]["serviceAccountName"] = 7

    assert only(audited(document)).verdict is AuditVerdict.ALLOW


def test_objects_that_make_no_pods_and_kinds_that_nobody_knows_are_passed_over() -> None:
    template = {"spec": {"containers": [container(3)]}}
    unknown = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"template": template},
    }
    report = audited(workloads=[unknown, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}])

    assert (report.owners, report.workloads) == ((), 0)


def test_resources_that_stand_outside_of_a_template_are_judged_and_not_patched() -> None:
    resources = {"limits": {"nvidia.com/gpu": 3}}
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "team-a"},
        "spec": {"trainer": {"resourcesPerNode": resources}},
    }

    owner = only(audit(POLICY, [], workloads=[job]))

    assert (rules(owner), owner.remedies) == (["request-size-not-admitted"], ())
