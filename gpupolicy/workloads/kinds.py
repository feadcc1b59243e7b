"""Where each kind of object keeps its pods: the table, as data. ``*`` stands for every entry of a map or list."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Shape(StrEnum):
    """What stands at a path: how a pod is read from it."""

    TEMPLATE = "template"  # metadata and spec, as in a Deployment
    SPEC = "spec"  # the pod spec itself
    MODEL_SERVER = "modelServer"  # a pod spec whose server container may stand beside ``containers`` (KServe)
    ARGO = "argo"  # a step of an Argo workflow: container, script or containerSet
    STEPS = "steps"  # Tekton: steps and sidecars are the containers
    RESOURCES = "resources"  # nothing but a resources stanza: one container
    GPU_FIELD = "gpuField"  # Spark: gpu: {name, quantity}
    OBJECT = "object"  # another whole object with apiVersion and kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPath:
    """A path to what makes pods, from the object's root."""

    path: tuple[str, ...]
    shape: Shape = Shape.TEMPLATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """A path that, where present, asks for pods whose GPUs do not stand in this object."""

    path: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """One row: ``owner`` is the kind that the pods' ownerReferences name, which need not be the workload's own."""

    group: str
    kind: str
    pods: tuple[PodPath, ...]
    owner: str
    blind: tuple[Blind, ...] = ()


def _kind(
    group: str,
    kind: str,
    *paths: str,
    owner: str | None = None,
    shape: Shape = Shape.TEMPLATE,
    blind: tuple[Blind, ...] = (),
) -> WorkloadKind:
    pods = tuple(PodPath(path=_steps(path), shape=shape) for path in paths)
    return WorkloadKind(group=group, kind=kind, pods=pods, owner=kind if owner is None else owner, blind=blind)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def _blind(path: str, reason: str) -> Blind:
    return Blind(path=_steps(path), reason=reason)


def _argo(kind: str, spec: str) -> WorkloadKind:
    """Returns the row of an Argo kind whose workflow spec stands at a path."""
    reference = f"{spec}.workflowTemplateRef"
    patch_reason = "podSpecPatch may change what its pods ask for"
    blind = (
        _blind(reference, f"the steps stand in the template that {reference} names"),
        _blind(f"{spec}.podSpecPatch", patch_reason),
        _blind(f"{spec}.templates.*.podSpecPatch", patch_reason),
    )
    return _kind("argoproj.io", kind, f"{spec}.templates.*", owner="Workflow", shape=Shape.ARGO, blind=blind)


_TASK_REF = _blind("spec.taskRef", "the steps stand in the Task that spec.taskRef names")
_RUNTIME = _blind("spec", "the pod template stands in the runtime that spec.runtimeRef names")
_DYNAMO = (
    _blind("spec.services.*.resources.limits.gpu", "it counts GPUs by its own field resources.limits.gpu"),
    _blind("spec.services.*.resources.requests.gpu", "it counts GPUs by its own field resources.requests.gpu"),
)

# Source: the API types of each project; for the built-in ones kubernetes/api.
KINDS: tuple[WorkloadKind, ...] = (
    _kind("", "Pod", "", owner=""),
    _kind("", "PodTemplate", "template"),
    _kind("", "ReplicationController", "spec.template"),
    _kind("apps", "Deployment", "spec.template", owner="ReplicaSet"),
    _kind("apps", "ReplicaSet", "spec.template"),
    _kind("apps", "StatefulSet", "spec.template"),
    _kind("apps", "DaemonSet", "spec.template"),
    _kind("batch", "Job", "spec.template"),
    _kind("batch", "CronJob", "spec.jobTemplate.spec.template", owner="Job"),
    # Kubeflow
    _kind("kubeflow.org", "PyTorchJob", "spec.pytorchReplicaSpecs.*.template"),
    _kind("kubeflow.org", "TFJob", "spec.tfReplicaSpecs.*.template"),
    _kind("kubeflow.org", "MPIJob", "spec.mpiReplicaSpecs.*.template"),
    _kind("kubeflow.org", "XGBoostJob", "spec.xgbReplicaSpecs.*.template"),
    _kind("kubeflow.org", "PaddleJob", "spec.paddleReplicaSpecs.*.template"),
    _kind("kubeflow.org", "JAXJob", "spec.jaxReplicaSpecs.*.template"),
    _kind("kubeflow.org", "Notebook", "spec.template", owner="StatefulSet"),
    _kind(
        "trainer.kubeflow.org",
        "TrainJob",
        "spec.trainer.resourcesPerNode",
        owner="Job",
        shape=Shape.RESOURCES,
        blind=(_RUNTIME,),
    ),
    _kind("trainer.kubeflow.org", "TrainingRuntime", "spec.template.spec.replicatedJobs.*.template.spec.template"),
    _kind(
        "trainer.kubeflow.org", "ClusterTrainingRuntime", "spec.template.spec.replicatedJobs.*.template.spec.template"
    ),
    # Kubernetes SIGs
    _kind("jobset.x-k8s.io", "JobSet", "spec.replicatedJobs.*.template.spec.template", owner="Job"),
    _kind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
        owner="StatefulSet",
    ),
    _kind("workload.codeflare.dev", "AppWrapper", "spec.components.*.template", shape=Shape.OBJECT),
    # Ray
    _kind("ray.io", "RayCluster", "spec.headGroupSpec.template", "spec.workerGroupSpecs.*.template"),
    _kind(
        "ray.io",
        "RayJob",
        "spec.rayClusterSpec.headGroupSpec.template",
        "spec.rayClusterSpec.workerGroupSpecs.*.template",
        "spec.submitterPodTemplate",
        owner="RayCluster",
        blind=(_blind("spec.clusterSelector", "it runs on the RayCluster that spec.clusterSelector names"),),
    ),
    _kind(
        "ray.io",
        "RayService",
        "spec.rayClusterConfig.headGroupSpec.template",
        "spec.rayClusterConfig.workerGroupSpecs.*.template",
        owner="RayCluster",
    ),
    # Queues, workflows, rollouts
    _kind("batch.volcano.sh", "Job", "spec.tasks.*.template"),
    _argo("Workflow", "spec"),
    _argo("WorkflowTemplate", "spec"),
    _argo("ClusterWorkflowTemplate", "spec"),
    _argo("CronWorkflow", "spec.workflowSpec"),
    _kind("argoproj.io", "Rollout", "spec.template", owner="ReplicaSet"),
    _kind("tekton.dev", "Task", "spec", owner="TaskRun", shape=Shape.STEPS),
    _kind("tekton.dev", "TaskRun", "spec.taskSpec", shape=Shape.STEPS, blind=(_TASK_REF,)),
    # Serving
    _kind("serving.knative.dev", "Service", "spec.template", owner="ReplicaSet"),
    _kind("serving.knative.dev", "Configuration", "spec.template", owner="ReplicaSet"),
    _kind(
        "serving.kserve.io",
        "InferenceService",
        "spec.predictor",
        "spec.predictor.workerSpec",
        "spec.transformer",
        "spec.explainer",
        owner="ReplicaSet",
        shape=Shape.MODEL_SERVER,
    ),
    _kind("serving.kserve.io", "ServingRuntime", "spec", owner="ReplicaSet", shape=Shape.SPEC),
    _kind("serving.kserve.io", "ClusterServingRuntime", "spec", owner="ReplicaSet", shape=Shape.SPEC),
    _kind(
        "serving.kserve.io",
        "LLMInferenceService",
        "spec.template",
        "spec.worker",
        "spec.prefill.template",
        "spec.prefill.worker",
        owner="ReplicaSet",
        shape=Shape.SPEC,
        blind=(_blind("spec.baseRefs", "more of the pods stands in the configurations that spec.baseRefs names"),),
    ),
    _kind(
        "machinelearning.seldon.io",
        "SeldonDeployment",
        "spec.predictors.*.componentSpecs.*",
        owner="ReplicaSet",
    ),
    _kind("apps.nvidia.com", "NIMService", "spec.resources", owner="ReplicaSet", shape=Shape.RESOURCES),
    _kind("nvidia.com", "DynamoGraphDeployment", owner="ReplicaSet", blind=_DYNAMO),
    # Spark
    _kind("sparkoperator.k8s.io", "SparkApplication", "spec.driver", "spec.executor", shape=Shape.GPU_FIELD),
    _kind(
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
        "spec.template.driver",
        "spec.template.executor",
        owner="SparkApplication",
        shape=Shape.GPU_FIELD,
    ),
)

# Groups whose objects quote pod specs as patterns or schemas and never run them.
QUOTING_GROUPS = frozenset(
    {
        "apiextensions.k8s.io",
        "admissionregistration.k8s.io",
        "kyverno.io",
        "policies.kyverno.io",
        "constraints.gatekeeper.sh",
        "templates.gatekeeper.sh",
        "mutations.gatekeeper.sh",
        "gpupolicy.dev",
    }
)
