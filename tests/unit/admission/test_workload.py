"""Workloads at their own creation and change: what is told, where, and what is left to their pods."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from builders import container, enforcing, exemption, override, policy

from gpupolicy.admission.workload import MOST_PODS, Surroundings, admit_workload
from gpupolicy.errors import format_field
from gpupolicy.model import Admission, EarlyAction, Policy, WorkloadKind

WARNS = policy()
DENIES = policy(admission=Admission(workloads=EarlyAction.DENY))
SILENT = policy(admission=Admission(workloads=EarlyAction.OFF))
TOLD = "pods of spec.template.spec will be denied: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8"


def deployment(gpus: int | None, *, replicas: int = 1, image: str = "a:1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve", **metadata},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container(gpus, image=image)]}}},
    }


def messages(asked: Policy, workload: dict[str, Any], **request: Any) -> list[str]:
    return [finding.message for finding in admit_workload(asked, workload, **request).warnings]


def test_a_workload_whose_pods_would_be_denied_is_let_in_with_a_warning() -> None:
    decision = admit_workload(WARNS, deployment(3))

    assert (decision.allowed, [finding.message for finding in decision.warnings], decision.violations) == (
        True,
        [TOLD],
        (),
    )


def test_the_finding_is_at_the_field_of_the_workload() -> None:
    (finding,) = admit_workload(WARNS, deployment(3)).warnings

    assert format_field(finding.field) == "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]"


def test_it_is_refused_where_the_policy_says_so() -> None:
    decision = admit_workload(DENIES, deployment(3))

    assert (decision.allowed, decision.reason, decision.warnings) == (False, f"{TOLD} [request-size-not-admitted]", ())


def test_nothing_is_said_where_the_policy_waits_for_the_pods() -> None:
    decision = admit_workload(SILENT, deployment(3))

    assert (decision.allowed, decision.judged, decision.warnings) == (True, False, ())


def test_a_workload_whose_pods_will_come_has_no_remark_and_no_patch() -> None:
    decision = admit_workload(WARNS, deployment(4))

    assert (decision.judged, decision.warnings, decision.patch) == (True, (), ())


def test_each_pod_template_is_judged_and_named() -> None:
    roles = {name: {"template": {"spec": {"containers": [container(n)]}}} for name, n in (("Master", 8), ("Worker", 3))}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": roles}}

    assert messages(WARNS, job) == [
        "pods of spec.pytorchReplicaSpecs.Worker.template.spec will be denied: the pod asks for 3 GPUs; "
        "admitted are 1, 2, 4, 8"
    ]


def test_only_so_many_pods_of_an_object_are_judged_that_the_reviews_of_others_go_on() -> None:
    jobs = [{"name": f"job-{number}", "template": deployment(4)} for number in range(MOST_PODS)]
    jobs.append({"name": "last", "template": deployment(3)})
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": jobs}}

    assert messages(WARNS, job_set) == []
    assert len(messages(WARNS, {**job_set, "spec": {"replicatedJobs": jobs[1:]}})) == 1


def test_what_only_warns_is_told_as_well() -> None:
    """On a pod that a controller makes, nobody sees a warning."""
    tolerations = [{"operator": "Exists"}]
    workload = deployment(4)
    workload["spec"]["template"]["spec"]["tolerations"] = tolerations

    assert messages(DENIES, workload) == [
        "pods of spec.template.spec: the toleration covers every taint, also those that keep pods off broken nodes"
    ]


def test_what_is_only_audited_stays_so() -> None:
    asked = policy(admission=enforcing("deny", override("audit", "request-size-not-admitted")))

    decision = admit_workload(asked, deployment(3))

    assert (decision.warnings, [finding.message for finding in decision.audited]) == (
        (),
        ["pods of spec.template.spec: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8"],
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(deployment(3), deployment(3, replicas=5), [], id="scaled"),
        pytest.param(deployment(3), deployment(3, image="a:2"), [], id="another-image"),
        pytest.param(deployment(4), deployment(3), [TOLD], id="gpus-changed"),
        pytest.param(deployment(None), deployment(3), [TOLD], id="gpus-added"),
        pytest.param(deployment(5), deployment(3), [TOLD], id="wrong-in-another-way"),
        pytest.param(deployment(3), deployment(4), [], id="mended"),
        pytest.param(None, deployment(3), [TOLD], id="unknown-before"),
    ],
)
def test_a_change_is_told_what_it_makes_wrong(old: Any, new: Any, told: list[str]) -> None:
    assert messages(WARNS, new, operation="UPDATE", old=old) == told


def bound(gpus: int) -> dict[str, Any]:
    """A Deployment whose pods name their node."""
    document = deployment(gpus)
    document["spec"]["template"]["spec"]["nodeName"] = "gpu-1"
    return document


@pytest.mark.parametrize(("before", "rules"), [(8, ["node-name-set"]), (4, [])], ids=["other-gpus", "same-gpus"])
def test_pods_with_other_gpus_are_judged_in_full(before: int, rules: list[str]) -> None:
    """As they are by ``check --old``; what was wrong in them is wrong in the new ones as well."""
    new = bound(4)
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "a:2"
    decision = admit_workload(DENIES, new, operation="UPDATE", old=bound(before))

    assert [violation.rule for violation in decision.violations] == rules


def test_a_change_of_what_was_wrong_before_is_not_refused() -> None:
    decision = admit_workload(DENIES, deployment(3, image="a:2"), operation="UPDATE", old=deployment(3))

    assert (decision.allowed, decision.reason) == (True, "what is wrong in it was so before")


def job_set(**gpus: int) -> dict[str, Any]:
    """A JobSet with a replicated job for each name."""
    jobs = [
        {"name": name, "template": {"spec": {"template": {"spec": {"containers": [container(count)]}}}}}
        for name, count in gpus.items()
    ]
    spec = {"replicatedJobs": jobs}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train"}, "spec": spec}


def test_pods_that_move_up_or_down_in_a_list_are_known_again_by_its_names() -> None:
    old = job_set(workers=3, eval=5)

    assert admit_workload(DENIES, job_set(driver=1, workers=3, eval=5), operation="UPDATE", old=old).allowed
    assert admit_workload(DENIES, job_set(eval=5), operation="UPDATE", old=old).reason == "no pod template changed"
    assert not admit_workload(DENIES, job_set(eval=3, workers=3), operation="UPDATE", old=old).allowed


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        pytest.param({"operation": "DELETE"}, "DELETE of a workload is not judged", id="delete"),
        pytest.param({"operation": "UPDATE", "subresource": "scale"}, "UPDATE of scale is not judged", id="scale"),
        pytest.param({"operation": "UPDATE", "old": deployment(3)}, "no pod template changed", id="unchanged"),
    ],
)
def test_a_request_that_is_not_judged_says_why(request_: dict[str, Any], reason: str) -> None:
    decision = admit_workload(DENIES, deployment(3), **request_)

    assert (decision.allowed, decision.judged, decision.reason) == (True, False, reason)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "the workload is being deleted", id="going"),
        pytest.param(
            {"ownerReferences": [{"kind": "Rollout", "controller": True}]},
            "a controller made it, from an object that was judged",
            id="made-by-a-controller",
        ),
    ],
)
def test_an_object_that_is_not_judged_says_why(metadata: dict[str, Any], reason: str) -> None:
    assert admit_workload(DENIES, deployment(3, **metadata)).reason == reason


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}, id="no-pods"),
        pytest.param(
            {"apiVersion": "x.example.org/v1", "kind": "X", "spec": {"containers": [container(3)]}}, id="guessed"
        ),
        pytest.param({}, id="nothing"),
    ],
)
def test_what_is_no_known_workload_passes(workload: dict[str, Any]) -> None:
    decision = admit_workload(DENIES, workload)

    assert (decision.allowed, decision.reason) == (True, "no kind that is known to make pods")


def test_a_kind_of_the_policy_s_own_is_judged() -> None:
    sweep = WorkloadKind(group="ml.example.org", kind="Sweep", templates=("spec.pod",))
    workload = {"apiVersion": "ml.example.org/v1", "kind": "Sweep", "spec": {"pod": {"containers": [container(3)]}}}

    assert messages(policy(workloads=(sweep,)), workload) == [
        "pods of spec.pod will be denied: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8"
    ]


def test_a_template_that_nobody_can_read_is_told() -> None:
    workload = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": "x"}}}}

    assert messages(WARNS, workload) == [
        "pods of spec.template.spec will be denied: spec.containers is a string, a list is expected"
    ]


@pytest.mark.parametrize("metadata", [None, "x", {"ownerReferences": "x"}, {"ownerReferences": [None]}])
def test_metadata_of_any_shape_is_survived(metadata: object) -> None:
    assert admit_workload(WARNS, {**deployment(3), "metadata": metadata}).allowed


class TestUnderExemptions:
    POLICY = policy(
        admission=Admission(
            workloads=EarlyAction.DENY,
            exemptions=(
                exemption("lab", expires=datetime(2026, 6, 30, tzinfo=UTC).date()),
                exemption(owner_kinds=("Job",)),
            ),
        )
    )

    def test_the_pods_of_an_exempt_namespace_are_let_in(self) -> None:
        around = Surroundings(namespace="lab", now=datetime(2026, 6, 1, tzinfo=UTC))

        assert admit_workload(self.POLICY, deployment(3), surroundings=around).exemption is not None

    def test_not_any_more_when_the_exemption_has_ended(self) -> None:
        around = Surroundings(namespace="lab", now=datetime(2026, 7, 1, tzinfo=UTC))

        assert not admit_workload(self.POLICY, deployment(3), surroundings=around).allowed

    def test_an_owner_kind_is_the_kind_that_will_own_the_pods(self) -> None:
        job = {"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": {"spec": deployment(3)["spec"]}}}

        assert admit_workload(self.POLICY, job).allowed
