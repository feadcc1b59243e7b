"""Where each kind keeps its pods: an example of every kind, and what is found in it."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import pytest
import yaml
from builders import GPU, container, policy

from gpupolicy.admission import admit
from gpupolicy.errors import format_field
from gpupolicy.workloads import find_pod_templates, group_of, rows_of
from gpupolicy.workloads.kinds import guess_resource
from gpupolicy.workloads.table import KINDS

POLICY = policy()
FOLDER = Path(__file__).parents[2] / "data" / "workloads"
EXAMPLES: dict[str, Any] = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml")) if path.stem != "expected"
}
EXPECTED: dict[str, Any] = yaml.safe_load((FOLDER / "expected.yaml").read_text())
SPEC = {"containers": [container(4)]}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": SPEC}
ASKED = {"limits": {GPU: 3}}
TASK = {"steps": [{"name": "a", "image": "x"}]}


def nest(path: str, value: object) -> dict[str, Any]:
    """An object with a value at a dotted path, ``0`` being the only entry of a list."""
    steps = path.split(".")
    for step in reversed(steps):
        value = [value] if step == "0" else {step: value}
    return value  # type: ignore[return-value]  # a path starts with a key


def paths(api_version: str, kind: str, body: dict[str, Any]) -> list[str]:
    found = find_pod_templates({"apiVersion": api_version, "kind": kind, **body})
    return [format_field(template.path) for template in found.templates]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_pods_of_an_example_are_found_with_their_gpus(name: str) -> None:
    found = find_pod_templates(EXAMPLES[name], counted=(GPU,))

    assert [
        {"path": format_field(template.path), "gpus": admit(POLICY, template.pod).gpus.get(GPU, 0)}
        for template in found.templates
    ] == EXPECTED[name]["pods"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_an_example_does_not_show_is_told(name: str) -> None:
    found = find_pod_templates(EXAMPLES[name], counted=(GPU,))

    assert [unseen.reason for unseen in found.unseen] == EXPECTED[name].get("unseen", [])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_field_of_an_example_is_found_where_it_stands(name: str) -> None:
    """Each place that a pod's containers come from is one of the object's own."""
    found = find_pod_templates(EXAMPLES[name])
    places = [template.field_of(("spec", "containers", 0)) for template in found.templates]

    assert [value_at(EXAMPLES[name], place) for place in places if value_at(EXAMPLES[name], place) is None] == []


def value_at(value: Any, path: tuple[str | int, ...]) -> object:
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize(("group", "kind"), [pytest.param(r.group, r.kind, id=f"{r.group}-{r.kind}") for r in KINDS])
def test_every_kind_of_the_table_has_an_example(group: str, kind: str) -> None:
    assert (group, kind) in {(group_of(example["apiVersion"]), example["kind"]) for example in EXAMPLES.values()}


def test_both_versions_of_the_mpi_job_are_one_kind() -> None:
    job = nest("spec.mpiReplicaSpecs.Worker.template", TEMPLATE)

    assert paths("kubeflow.org/v1", "MPIJob", job) == paths("kubeflow.org/v2beta1", "MPIJob", job)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        pytest.param("InferenceService", "spec.predictor.workerSpec", id="worker"),
        pytest.param("LLMInferenceService", "spec.prefill.worker", id="prefill"),
    ],
)
def test_a_pod_spec_of_kserve_is_found_without_a_template_around_it(kind: str, path: str) -> None:
    assert paths("serving.kserve.io/v1beta1", kind, nest(path, SPEC)) == [path]


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


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Deployment", "deployments"), ("NetworkPolicy", "networkpolicies"), ("JobClass", "jobclasses")],
    ids=["s", "ies", "es"],
)
def test_the_plural_of_a_kind_is_guessed_as_kubernetes_does(kind: str, plural: str) -> None:
    assert guess_resource(kind) == plural


def test_the_cluster_s_own_kinds_are_told_apart_from_those_in_namespaces() -> None:
    assert [row.kind for row in rows_of(()) if not row.namespaced] == [
        "ClusterTrainingRuntime",
        "ClusterWorkflowTemplate",
        "ClusterServingRuntime",
    ]


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
            "argoproj.io/v1alpha1",
            "Workflow",
            {"workflowTemplateRef": {"name": "w"}},
            "the steps stand in the template that spec.workflowTemplateRef names",
            id="workflow",
        ),
        pytest.param(
            "argoproj.io/v1alpha1",
            "Workflow",
            {"templates": [{"resource": {"action": "create", "manifest": "kind: Job"}}]},
            "a manifest in a text makes objects of its own",
            id="manifest-in-a-text",
        ),
        pytest.param(
            "tekton.dev/v1",
            "PipelineRun",
            {"pipelineRef": {"name": "p"}},
            "the tasks stand in the pipeline that spec.pipelineRef names",
            id="pipeline",
        ),
        pytest.param(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            {"predictor": {"model": {"runtime": "triton"}}},
            "the container stands in the runtime that spec.predictor.model.runtime names",
            id="runtime",
        ),
        pytest.param(
            "apps.nvidia.com/v1alpha1",
            "NIMService",
            {"multiNode": {"gpusPerPod": 8}},
            "it counts GPUs by its own field spec.multiNode.gpusPerPod",
            id="nim",
        ),
        pytest.param(
            "apps.nvidia.com/v1alpha1",
            "NIMService",
            {"draResources": [{"resourceClaimTemplateName": "gpu"}]},
            "its devices come by the claims of spec.draResources",
            id="nim-claims",
        ),
        pytest.param(
            "kubeflow.org/v1beta1",
            "Experiment",
            {"trialTemplate": {"configMap": {"configMapName": "trials"}}},
            "the trial stands in the ConfigMap that spec.trialTemplate.configMap names",
            id="trial-in-a-config-map",
        ),
        pytest.param(
            "kubevirt.io/v1",
            "VirtualMachine",
            {"template": {"spec": {"domain": {"devices": {"hostDevices": [{"deviceName": GPU}]}}}}},
            "it counts GPUs by its own field spec.template.spec.domain.devices.hostDevices[0].deviceName",
            id="host-device",
        ),
        pytest.param(
            "kubevirt.io/v1",
            "VirtualMachineInstanceReplicaSet",
            {"template": {"spec": {"domain": {"devices": {"gpus": [{"deviceName": GPU}]}}}}},
            "it counts GPUs by its own field spec.template.spec.domain.devices.gpus",
            id="machines",
        ),
        pytest.param(
            "argoproj.io/v1alpha1",
            "Workflow",
            {"templateDefaults": {"container": {"resources": ASKED}}, "templates": [{"container": {"image": "x"}}]},
            "every step takes over spec.templateDefaults.container.resources",
            id="defaults-of-a-workflow",
        ),
        pytest.param(
            "tekton.dev/v1",
            "TaskRun",
            {"taskSpec": TASK, "stepSpecs": [{"name": "a", "computeResources": ASKED}]},
            "spec.stepSpecs[0].computeResources overrides what its steps ask for",
            id="step-of-a-task-run",
        ),
        pytest.param(
            "tekton.dev/v1",
            "PipelineRun",
            {"pipelineSpec": {"tasks": [{"taskSpec": TASK}]}, "taskRunSpecs": [{"computeResources": ASKED}]},
            "spec.taskRunSpecs[0].computeResources overrides what its steps ask for",
            id="task-of-a-pipeline-run",
        ),
        pytest.param(
            "tekton.dev/v1",
            "PipelineRun",
            {
                "pipelineSpec": {"tasks": [{"taskSpec": TASK}]},
                "taskRunSpecs": [{"stepSpecs": [{"name": "a", "computeResources": ASKED}]}],
            },
            "spec.taskRunSpecs[0].stepSpecs[0].computeResources overrides what its steps ask for",
            id="step-of-a-pipeline-run",
        ),
    ],
)
def test_what_stands_in_another_object_or_field_is_told(api_version: str, kind: str, spec: Any, reason: str) -> None:
    found = find_pod_templates({"apiVersion": api_version, "kind": kind, "spec": spec}, counted=(GPU,))

    assert [unseen.reason for unseen in found.unseen] == [reason]


@pytest.mark.parametrize("number", ["0", 0, ""], ids=["text", "number", "empty"])
def test_a_field_that_counts_no_gpus_hides_none(number: object) -> None:
    cluster = nest("spec.headGroupSpec.rayStartParams", {"num-gpus": number})

    assert find_pod_templates({"apiVersion": "ray.io/v1", "kind": "RayCluster", **cluster}).unseen == ()


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        pytest.param(
            "tekton.dev/v1", "TaskRun", {"stepSpecs": [{"computeResources": {"limits": {"cpu": 3}}}]}, id="cpu"
        ),
        pytest.param(
            "kubevirt.io/v1",
            "VirtualMachineInstance",
            {"domain": {"devices": {"hostDevices": [{"deviceName": "intel.com/qat"}]}}},
            id="another-device",
        ),
    ],
)
def test_a_field_for_any_resource_hides_gpus_only_where_it_names_them(api_version: str, kind: str, spec: Any) -> None:
    assert find_pod_templates({"apiVersion": api_version, "kind": kind, "spec": spec}, counted=(GPU,)).unseen == ()


def test_an_amount_that_each_trial_fills_in_is_not_seen() -> None:
    """Katib replaces ${trialParameters.X} in the text of the trial; until then it is no quantity, and no fault."""
    pod = {
        "nodeSelector": {"zone": "${trialParameters.zone}"},
        "containers": [{"name": "c", "resources": {"limits": {GPU: "${trialParameters.gpus}", "cpu": 1}}}],
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", **nest("spec.template.spec", pod)}
    experiment = {
        "apiVersion": "kubeflow.org/v1beta1",
        "kind": "Experiment",
        **nest("spec.trialTemplate.trialSpec", job),
    }

    found = find_pod_templates(experiment, counted=(GPU,))

    assert [template.pod["spec"] for template in found.templates] == [
        {"nodeSelector": {}, "containers": [{"name": "c", "resources": {"limits": {"cpu": 1}}}]}
    ]
    (unseen,) = found.unseen
    assert unseen.reason == f"{format_field(unseen.path)} is filled in later"
    assert unseen.path[-3:] == ("resources", "limits", GPU)


@pytest.mark.parametrize(
    ("api_version", "kind", "body", "place"),
    [
        pytest.param("batch/v1", "Job", {"spec": SPEC}, "spec", id="spec"),
        pytest.param(
            "apps/v1", "Deployment", {"spec": {"replicas": 1}, "template": TEMPLATE}, "template.spec", id="root"
        ),
        pytest.param(
            "kubeflow.org/v1", "MPIJob", nest("spec.worker", TEMPLATE), "spec.worker.spec", id="other-version"
        ),
    ],
)
def test_a_pod_where_its_kind_has_none_is_told(api_version: str, kind: str, body: Any, place: str) -> None:
    """Nothing would make such a pod; to find no pod in the object would read as approval."""
    found = find_pod_templates({"apiVersion": api_version, "kind": kind, **body}, counted=(GPU,))

    assert found.templates == ()
    assert [u.reason for u in found.unseen] == [
        f"{place} looks like a pod, but a {kind} is not known to keep one there"
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"spec": {"resources": ASKED, "template": {"spec": {"containers": [container()]}}}}, id="spec"),
        pytest.param(
            {"spec": {"template": {"resources": ASKED, "spec": {"containers": [container()]}}}}, id="template"
        ),
    ],
)
def test_resources_outside_of_a_pod_that_asks_for_none_are_told(body: Any) -> None:
    found = find_pod_templates({"apiVersion": "apps/v1", "kind": "Deployment", **body}, counted=(GPU,))

    (unseen,) = found.unseen
    assert unseen.reason == f"{format_field(unseen.path)} asks for {GPU}, but stands in no pod"


def test_a_number_of_gpus_in_another_version_of_a_kind_is_told() -> None:
    job = {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "spec": {"gpus": 3}}

    assert [u.reason for u in find_pod_templates(job).unseen] == ["it counts GPUs by its own field spec.gpus"]


@pytest.mark.parametrize(
    ("api_version", "kind"), [("apps/v1", "Deployment"), ("kubeflow.org/v1", "MPIJob"), ("x.example/v1", "X")]
)
def test_labels_count_no_gpus(api_version: str, kind: str) -> None:
    spec = {"selector": {"matchLabels": {"gpu": "4"}}, "nodeSelector": {"gpus": "4"}, "labels": {"num-gpus": "4"}}

    assert find_pod_templates({"apiVersion": api_version, "kind": kind, "spec": spec}).unseen == ()


def test_a_pod_without_gpus_where_its_kind_has_none_is_left_alone() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"containers": [container()]}}

    assert find_pod_templates(job, counted=(GPU,)).unseen == ()


def test_the_resources_of_a_train_job_are_judged_as_far_as_they_are_seen() -> None:
    trainer = {"trainer": {"resourcesPerNode": {"limits": {GPU: 3}}}}
    obj = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "spec": trainer}

    (template,) = find_pod_templates(obj).templates

    assert template.pod == {"spec": {"containers": [{"name": "main", "resources": {"limits": {GPU: 3}}}]}}


def test_the_history_of_a_workload_makes_no_pods() -> None:
    revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": {"spec": {"template": TEMPLATE}}}

    assert find_pod_templates(revision).is_known


@pytest.mark.parametrize("api_version", ["jobset.x-k8s.io/v1alpha2", "x.example/v1"])
def test_many_pods_without_gpus_are_looked_through_once(api_version: str) -> None:
    """Each was compared with every other one: 8.7 s for 4,000 jobs of a JobSet, in the webhook too."""
    pods = {"spec": {"containers": [{"name": "a", "image": "x"}]}}
    jobs = [{"name": f"j{number}", "template": {"spec": {"template": pods}}} for number in range(8000)]
    obj = {"apiVersion": api_version, "kind": "JobSet", "spec": {"replicatedJobs": jobs}}
    began = process_time()

    assert len(find_pod_templates(obj, counted=(GPU,)).templates) == 8000
    assert process_time() - began < 5
