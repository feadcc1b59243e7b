"""Where each kind keeps its pods."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GPU, container

from gpupolicy.errors import format_field
from gpupolicy.workloads import find_pod_templates
from gpupolicy.workloads.kinds import KINDS

SPEC = {"containers": [container(4)]}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": SPEC}


def nest(path: str, value: object) -> dict[str, Any]:
    """An object with a value at a dotted path, ``0`` being the only entry of a list."""
    steps = path.split(".")
    for step in reversed(steps):
        value = [value] if step == "0" else {step: value}
    return value  # type: ignore[return-value]  # a path starts with a key


def paths(api_version: str, kind: str, body: dict[str, Any]) -> list[str]:
    found = find_pod_templates({"apiVersion": api_version, "kind": kind, **body})
    return [format_field(template.path) for template in found.templates]


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "spec_path"),
    [
        pytest.param(version, kind, path, spec, id=f"{version}-{kind}-{path}")
        for version, kind, path, spec in (
            ("apps/v1", "Deployment", "spec.template", "spec.template.spec"),
            ("apps/v1", "ReplicaSet", "spec.template", "spec.template.spec"),
            ("apps/v1", "StatefulSet", "spec.template", "spec.template.spec"),
            ("apps/v1", "DaemonSet", "spec.template", "spec.template.spec"),
            ("batch/v1", "Job", "spec.template", "spec.template.spec"),
            ("batch/v1", "CronJob", "spec.jobTemplate.spec.template", "spec.jobTemplate.spec.template.spec"),
            ("v1", "ReplicationController", "spec.template", "spec.template.spec"),
            ("v1", "PodTemplate", "template", "template.spec"),
            ("kubeflow.org/v1", "TFJob", "spec.tfReplicaSpecs.PS.template", "spec.tfReplicaSpecs.PS.template.spec"),
            (
                "kubeflow.org/v1",
                "XGBoostJob",
                "spec.xgbReplicaSpecs.W.template",
                "spec.xgbReplicaSpecs.W.template.spec",
            ),
            ("kubeflow.org/v1", "JAXJob", "spec.jaxReplicaSpecs.W.template", "spec.jaxReplicaSpecs.W.template.spec"),
            ("kubeflow.org/v1", "MPIJob", "spec.mpiReplicaSpecs.W.template", "spec.mpiReplicaSpecs.W.template.spec"),
            (
                "kubeflow.org/v2beta1",
                "MPIJob",
                "spec.mpiReplicaSpecs.W.template",
                "spec.mpiReplicaSpecs.W.template.spec",
            ),
            ("kubeflow.org/v1", "Notebook", "spec.template", "spec.template.spec"),
            (
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                "spec.replicatedJobs.0.template.spec.template",
                "spec.replicatedJobs[0].template.spec.template.spec",
            ),
            (
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                "spec.leaderWorkerTemplate.workerTemplate",
                "spec.leaderWorkerTemplate.workerTemplate.spec",
            ),
            ("ray.io/v1", "RayCluster", "spec.workerGroupSpecs.0.template", "spec.workerGroupSpecs[0].template.spec"),
            (
                "ray.io/v1",
                "RayService",
                "spec.rayClusterConfig.headGroupSpec.template",
                "spec.rayClusterConfig.headGroupSpec.template.spec",
            ),
            ("batch.volcano.sh/v1alpha1", "Job", "spec.tasks.0.template", "spec.tasks[0].template.spec"),
            ("argoproj.io/v1alpha1", "Rollout", "spec.template", "spec.template.spec"),
            ("serving.knative.dev/v1", "Service", "spec.template", "spec.template.spec"),
            (
                "machinelearning.seldon.io/v1",
                "SeldonDeployment",
                "spec.predictors.0.componentSpecs.0",
                "spec.predictors[0].componentSpecs[0].spec",
            ),
        )
    ],
)
def test_a_template_is_found(api_version: str, kind: str, path: str, spec_path: str) -> None:
    assert paths(api_version, kind, nest(path, TEMPLATE)) == [spec_path]


def test_a_pod_is_found_at_its_spec() -> None:
    assert paths("v1", "Pod", {"spec": SPEC}) == ["spec"]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        pytest.param("InferenceService", "spec.predictor", id="predictor"),
        pytest.param("InferenceService", "spec.predictor.workerSpec", id="worker"),
        pytest.param("LLMInferenceService", "spec.prefill.template", id="prefill"),
        pytest.param("ServingRuntime", "spec", id="runtime"),
    ],
)
def test_a_pod_spec_of_kserve_is_found_without_a_template_around_it(kind: str, path: str) -> None:
    assert paths("serving.kserve.io/v1beta1", kind, nest(path, SPEC)) == [path]


def test_every_group_of_a_job_is_found_in_its_order() -> None:
    replicas = {"Master": {"template": TEMPLATE}, "Worker": {"template": TEMPLATE}}

    found = paths("kubeflow.org/v1", "PyTorchJob", {"spec": {"pytorchReplicaSpecs": replicas}})

    assert found == ["spec.pytorchReplicaSpecs.Master.template.spec", "spec.pytorchReplicaSpecs.Worker.template.spec"]


def test_the_core_service_is_not_taken_for_that_of_knative() -> None:
    assert paths("v1", "Service", {"spec": {"ports": []}}) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "owner"),
    [
        pytest.param("apps/v1", "Deployment", "spec.template", "ReplicaSet", id="deployment"),
        pytest.param("batch/v1", "CronJob", "spec.jobTemplate.spec.template", "Job", id="cron-job"),
        pytest.param("apps/v1", "DaemonSet", "spec.template", "DaemonSet", id="daemon-set"),
    ],
)
def test_the_owner_is_the_kind_that_the_pods_will_name(api_version: str, kind: str, path: str, owner: str) -> None:
    """An exemption by ownerKinds has to mean the same offline and in the webhook."""
    (template,) = find_pod_templates({"apiVersion": api_version, "kind": kind, **nest(path, TEMPLATE)}).templates

    assert template.owner_kind == owner


def test_a_pod_has_no_owner_but_those_it_names_itself() -> None:
    (template,) = find_pod_templates({"apiVersion": "v1", "kind": "Pod", "spec": SPEC}).templates

    assert template.owner_kind is None


def test_no_kind_stands_twice_in_the_table() -> None:
    names = [(row.group, row.kind) for row in KINDS]

    assert len(names) == len(set(names))


def test_the_objects_inside_of_an_app_wrapper_are_opened() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", **nest("spec.template", TEMPLATE)}

    found = paths("workload.codeflare.dev/v1beta2", "AppWrapper", nest("spec.components.0.template", job))

    assert found == ["spec.components[0].template.spec.template.spec"]


def test_app_wrappers_inside_of_each_other_end() -> None:
    wrapped: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", **nest("spec.template", TEMPLATE)}
    for _ in range(50):
        wrapped = {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            **nest("spec.components.0.template", wrapped),
        }

    assert find_pod_templates(wrapped).templates == ()


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "reason"),
    [
        pytest.param(
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            {"runtimeRef": {"name": "torch"}},
            "the pod template stands in the runtime that spec.runtimeRef names",
            id="train-job",
        ),
        pytest.param(
            "argoproj.io/v1alpha1",
            "Workflow",
            {"workflowTemplateRef": {"name": "w"}},
            "the steps stand in the template that spec.workflowTemplateRef names",
            id="workflow",
        ),
        pytest.param(
            "nvidia.com/v1alpha1",
            "DynamoGraphDeployment",
            {"services": {"Worker": {"resources": {"limits": {"gpu": "2"}}}}},
            "it counts GPUs by its own field resources.limits.gpu",
            id="dynamo",
        ),
    ],
)
def test_what_stands_in_another_object_or_field_is_told(api_version: str, kind: str, spec: Any, reason: str) -> None:
    found = find_pod_templates({"apiVersion": api_version, "kind": kind, "spec": spec})

    assert [unseen.reason for unseen in found.unseen] == [reason]


def test_the_resources_of_a_train_job_are_judged_as_far_as_they_are_seen() -> None:
    trainer = {"trainer": {"resourcesPerNode": {"limits": {GPU: 3}}}}
    obj = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": trainer}

    (template,) = find_pod_templates(obj).templates

    assert template.pod == {"spec": {"containers": [{"name": "main", "resources": {"limits": {GPU: 3}}}]}}
