"""From what stands in an object to the pod that is made of it, and back to the field."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GPU, container

from gpupolicy.errors import FieldPath, format_field
from gpupolicy.workloads import PodTemplate, find_pod_templates

LIMITS = ("resources", "limits", GPU)


def only(api_version: str, kind: str, spec: dict[str, Any]) -> PodTemplate:
    (template,) = find_pod_templates({"apiVersion": api_version, "kind": kind, "spec": spec}).templates
    return template


def names(template: PodTemplate) -> list[str]:
    spec: Any = template.pod["spec"]
    return [entry["name"] for entry in spec["containers"]]


def where(template: PodTemplate, *field: str | int) -> str:
    path: FieldPath = ("spec", "containers", *field)
    return format_field(template.field_of(path))


def test_a_template_is_not_copied() -> None:
    spec = {"containers": [container(1)]}

    template = only("apps/v1", "Deployment", {"template": {"metadata": {"labels": {}}, "spec": spec}})

    assert template.pod["spec"] is spec


def test_the_metadata_of_a_template_is_its_own_not_that_of_the_workload() -> None:
    template = only("apps/v1", "Deployment", {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}})

    assert template.pod["metadata"] == {"labels": {"a": "b"}}


def test_a_field_of_a_template_is_found_in_the_workload() -> None:
    template = only("batch/v1", "Job", {"template": {"spec": {"containers": [container(3)]}}})

    assert where(template, 0, *LIMITS) == f"spec.template.spec.containers[0].resources.limits[{GPU}]"


def test_a_template_that_is_no_mapping_is_handed_on_for_admission_to_refuse() -> None:
    assert only("batch/v1", "Job", {"template": "x"}).pod == {"spec": "x"}


def test_the_model_of_an_inference_service_is_one_more_container() -> None:
    predictor = {"containers": [container(name="agent")], "model": {"resources": {"limits": {GPU: 2}}}}

    template = only("serving.kserve.io/v1beta1", "InferenceService", {"predictor": predictor})

    assert names(template) == ["agent", "model"]
    assert where(template, 1, *LIMITS) == f"spec.predictor.model.resources.limits[{GPU}]"
    assert where(template, 0, *LIMITS) == f"spec.predictor.containers[0].resources.limits[{GPU}]"


def test_a_step_of_a_workflow_has_its_container_and_its_sidecars() -> None:
    step = {"name": "train", "container": {"resources": {"limits": {GPU: 2}}}, "sidecars": [container(1, name="s")]}

    template = only("argoproj.io/v1alpha1", "Workflow", {"templates": [step]})

    assert names(template) == ["main", "s"]
    assert where(template, 0, *LIMITS) == f"spec.templates[0].container.resources.limits[{GPU}]"
    assert where(template, 1, *LIMITS) == f"spec.templates[0].sidecars[0].resources.limits[{GPU}]"


@pytest.mark.parametrize(
    "body", [{"steps": [[]]}, {"dag": {"tasks": []}}, {"suspend": {}}], ids=["steps", "dag", "wait"]
)
def test_a_template_of_a_workflow_that_only_orders_others_makes_no_pod(body: dict[str, Any]) -> None:
    spec = {"templates": [{"name": "t", **body}]}

    assert find_pod_templates({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": spec}).templates == ()


def test_the_containers_of_a_container_set_stand_together() -> None:
    step = {"containerSet": {"containers": [container(1, name="a"), container(2, name="b")]}}

    template = only("argoproj.io/v1alpha1", "CronWorkflow", {"workflowSpec": {"templates": [step]}})

    assert names(template) == ["a", "b"]
    assert where(template, 1, *LIMITS) == (
        f"spec.workflowSpec.templates[0].containerSet.containers[1].resources.limits[{GPU}]"
    )


def test_the_steps_of_a_task_run_stand_together() -> None:
    steps = [{"name": "a", "computeResources": {"limits": {GPU: 1}}}, container(1, name="b")]

    template = only("tekton.dev/v1", "TaskRun", {"taskSpec": {"steps": steps}})

    assert names(template) == ["a", "b"]
    assert where(template, 0, *LIMITS) == f"spec.taskSpec.steps[0].computeResources.limits[{GPU}]"
    assert where(template, 1, *LIMITS) == f"spec.taskSpec.steps[1].resources.limits[{GPU}]"


def test_what_a_task_says_for_all_its_steps_holds_for_those_that_say_nothing() -> None:
    steps = [container(name="a"), {"name": "b", "computeResources": {"limits": {GPU: 2}}}]
    common = {"computeResources": {"limits": {GPU: 1}}}

    template = only(
        "tekton.dev/v1", "Task", {"stepTemplate": common, "steps": steps, "sidecars": [container(name="s")]}
    )

    assert where(template, 0, *LIMITS) == f"spec.stepTemplate.computeResources.limits[{GPU}]"
    assert where(template, 1, *LIMITS) == f"spec.steps[1].computeResources.limits[{GPU}]"
    assert where(template, 2, *LIMITS) == f"spec.sidecars[0].resources.limits[{GPU}]"


def test_the_main_container_of_dynamo_is_one_more_container() -> None:
    service = {"extraPodSpec": {"containers": [container(name="agent")], "mainContainer": {"image": "x"}}}

    template = only("nvidia.com/v1alpha1", "DynamoGraphDeployment", {"services": {"Worker": service}})

    assert names(template) == ["agent", "main"]
    assert where(template, 1, "image") == "spec.services.Worker.extraPodSpec.mainContainer.image"


def test_the_scheduler_of_a_volcano_job_is_that_of_its_pods() -> None:
    tasks = [{"template": {"spec": {"containers": [container(1)]}}}]

    template = only("batch.volcano.sh/v1alpha1", "Job", {"schedulerName": "volcano", "tasks": tasks})

    assert template.pod["spec"] == {"containers": [container(1)], "schedulerName": "volcano"}
    assert format_field(template.field_of(("spec", "schedulerName"))) == "spec.schedulerName"


def test_what_a_pod_says_itself_goes_before_what_its_workload_says_for_all() -> None:
    spec = {"schedulerName": "mine", "containers": [container(1)]}

    template = only(
        "batch.volcano.sh/v1alpha1", "Job", {"schedulerName": "volcano", "tasks": [{"template": {"spec": spec}}]}
    )

    assert template.pod["spec"] is spec


def test_the_gpu_field_of_spark_goes_to_the_first_container_of_its_template() -> None:
    spec = {"containers": [container(name="spark-kubernetes-executor"), container(name="agent")]}
    executor = {"gpu": {"name": GPU, "quantity": 3}, "template": {"metadata": {"labels": {}}, "spec": spec}}

    template = only("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"driver": {}, "executor": executor})

    assert names(template) == ["spark-kubernetes-executor", "agent"]
    assert where(template, 0, *LIMITS) == "spec.executor.gpu.quantity"
    assert where(template, 1, "image") == "spec.executor.template.spec.containers[1].image"


def test_the_gpu_field_of_spark_is_a_limit() -> None:
    executor = {"gpu": {"name": GPU, "quantity": 3}, "nodeSelector": {"zone": "a"}}

    template = only("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"driver": {}, "executor": executor})

    assert template.pod["spec"] == {
        "nodeSelector": {"zone": "a"},
        "containers": [{"name": "spark", "resources": {"limits": {GPU: 3}}}],
    }
    assert where(template, 0, *LIMITS) == "spec.executor.gpu.quantity"
