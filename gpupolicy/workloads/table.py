"""The table of kinds. A kind that a policy names itself goes before the row that stands here."""

from __future__ import annotations

from dataclasses import replace

from gpupolicy.workloads.kinds import Blind, KindRow, Shape, steps_of
from gpupolicy.workloads.rows import (
    argo_row,
    elsewhere,
    kind_row,
    llm_row,
    machine_row,
    overriding,
    own_field,
    pipeline_row,
    pod_path,
    ray_row,
    spark_row,
    training_row,
)

_JOB_SET = "spec.template.spec.replicatedJobs.*.template.spec.template"
_KRUISE = ("CloneSet", "StatefulSet", "DaemonSet", "BroadcastJob")

# Sources: kubernetes/api for the built-in kinds; for the others the API types (Go, or the CRD) of each project.
KINDS: tuple[KindRow, ...] = (
    kind_row("", "Pod", "", owner=""),
    kind_row("", "PodTemplate", "template"),
    kind_row("", "ReplicationController", "spec.template"),
    kind_row("apps", "Deployment", "spec.template", owner="ReplicaSet"),
    kind_row("apps", "ReplicaSet", "spec.template"),
    kind_row("apps", "StatefulSet", "spec.template"),
    kind_row("apps", "DaemonSet", "spec.template"),
    kind_row("batch", "Job", "spec.template"),
    kind_row("batch", "CronJob", "spec.jobTemplate.spec.template", owner="Job"),
    # Kubeflow
    training_row("PyTorchJob", "pytorchReplicaSpecs"),
    training_row("TFJob", "tfReplicaSpecs"),
    training_row("MPIJob", "mpiReplicaSpecs"),
    training_row("XGBoostJob", "xgbReplicaSpecs"),
    training_row("PaddleJob", "paddleReplicaSpecs"),
    training_row("JAXJob", "jaxReplicaSpecs"),
    kind_row("kubeflow.org", "Notebook", "spec.template", owner="StatefulSet"),
    kind_row(
        "kubeflow.org",
        "Experiment",
        more=(replace(pod_path("spec.trialTemplate.trialSpec", Shape.OBJECT), gap="${trialParameters."),),
        blind=(elsewhere("spec.trialTemplate.configMap", "the trial stands in the ConfigMap"),),
    ),
    kind_row("kubeflow.org", "Trial", "spec.runSpec", shape=Shape.OBJECT),
    kind_row(
        "trainer.kubeflow.org",
        "TrainJob",
        "spec.trainer.resourcesPerNode",
        owner="Job",
        shape=Shape.RESOURCES,
        blind=(elsewhere("spec.runtimeRef", "the pod template stands in the runtime"),),
    ),
    kind_row(
        "trainer.kubeflow.org",
        "OptimizationJob",
        "spec.trainJobTemplate.spec.trainer.resourcesPerNode",
        owner="Job",
        shape=Shape.RESOURCES,
        blind=(elsewhere("spec.trainJobTemplate.spec.runtimeRef", "the pod template stands in the runtime"),),
    ),
    kind_row("trainer.kubeflow.org", "TrainingRuntime", _JOB_SET, owner="Job"),
    kind_row("trainer.kubeflow.org", "ClusterTrainingRuntime", _JOB_SET, owner="Job", namespaced=False),
    # Kubernetes SIGs
    kind_row("jobset.x-k8s.io", "JobSet", "spec.replicatedJobs.*.template.spec.template", owner="Job"),
    kind_row(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "spec.leaderWorkerTemplate.leaderTemplate",
        "spec.leaderWorkerTemplate.workerTemplate",
        owner="StatefulSet",
    ),
    kind_row(
        "workload.codeflare.dev",
        "AppWrapper",
        "spec.components.*.template",
        "spec.resources.GenericItems.*.generictemplate",
        shape=Shape.OBJECT,
    ),
    # Ray
    ray_row("RayCluster", "spec"),
    ray_row(
        "RayJob",
        "spec.rayClusterSpec",
        "spec.submitterPodTemplate",
        more_blind=(elsewhere("spec.clusterSelector", "it runs on the RayCluster"),),
    ),
    ray_row("RayService", "spec.rayClusterConfig"),
    ray_row("RayCronJob", "spec.jobTemplate.rayClusterSpec", "spec.jobTemplate.submitterPodTemplate"),
    # Queues, workflows, rollouts
    kind_row("batch.volcano.sh", "Job", "spec.tasks.*.template", base="spec"),
    argo_row("Workflow", "spec"),
    argo_row("WorkflowTemplate", "spec"),
    argo_row("ClusterWorkflowTemplate", "spec", namespaced=False),
    argo_row("CronWorkflow", "spec.workflowSpec"),
    kind_row(
        "argoproj.io",
        "Rollout",
        "spec.template",
        owner="ReplicaSet",
        blind=(elsewhere("spec.workloadRef", "the pod template stands in the object"),),
    ),
    kind_row("tekton.dev", "Task", "spec", owner="TaskRun", shape=Shape.STEPS),
    kind_row(
        "tekton.dev",
        "TaskRun",
        "spec.taskSpec",
        shape=Shape.STEPS,
        base="spec.podTemplate",
        blind=(
            elsewhere("spec.taskRef", "the steps stand in the task"),
            Blind(path=("spec", "computeResources"), reason="{field} overrides what its steps ask for"),
            overriding("spec.stepSpecs.*.computeResources"),
        ),
    ),
    pipeline_row("Pipeline", "spec"),
    pipeline_row(
        "PipelineRun",
        "spec.pipelineSpec",
        (
            elsewhere("spec.pipelineRef", "the tasks stand in the pipeline"),
            overriding("spec.taskRunSpecs.*.computeResources"),
            overriding("spec.taskRunSpecs.*.stepSpecs.*.computeResources"),
        ),
        base="spec.taskRunTemplate.podTemplate",
    ),
    *(kind_row("apps.kruise.io", kind, "spec.template") for kind in _KRUISE),
    # Serving
    kind_row("serving.knative.dev", "Service", "spec.template", owner="ReplicaSet"),
    kind_row("serving.knative.dev", "Configuration", "spec.template", owner="ReplicaSet"),
    kind_row(
        "serving.kserve.io",
        "InferenceService",
        "spec.predictor",
        "spec.predictor.workerSpec",
        "spec.transformer",
        "spec.explainer",
        owner="ReplicaSet",
        shape=Shape.MODEL_SERVER,
        blind=(
            Blind(
                path=steps_of("spec.predictor.model.runtime"),
                reason="the container stands in the runtime that {field} names",
                within=steps_of("spec.predictor"),
            ),
            own_field("spec.predictor.workerSpec.tensorParallelSize", "spec.predictor"),
        ),
    ),
    kind_row("serving.kserve.io", "ServingRuntime", "spec", "spec.workerSpec", owner="ReplicaSet", shape=Shape.SPEC),
    kind_row(
        "serving.kserve.io",
        "ClusterServingRuntime",
        "spec",
        "spec.workerSpec",
        owner="ReplicaSet",
        shape=Shape.SPEC,
        namespaced=False,
    ),
    llm_row("LLMInferenceService"),
    llm_row("LLMInferenceServiceConfig"),
    kind_row("machinelearning.seldon.io", "SeldonDeployment", "spec.predictors.*.componentSpecs.*", owner="ReplicaSet"),
    kind_row(
        "apps.nvidia.com",
        "NIMService",
        "spec.resources",
        owner="ReplicaSet",
        shape=Shape.RESOURCES,
        base="spec",
        blind=(
            own_field("spec.multiNode.gpusPerPod", "spec.resources"),
            Blind(path=("spec", "draResources"), reason="its devices come by the claims of {field}"),
        ),
    ),
    kind_row(
        "nvidia.com",
        "DynamoGraphDeployment",
        "spec.services.*.extraPodSpec",
        owner="ReplicaSet",
        shape=Shape.MAIN_BESIDE,
        more=(pod_path("spec.components.*.podTemplate", Shape.TEMPLATE),),
        blind=(own_field("spec.services.*.resources.limits.gpu"), own_field("spec.services.*.resources.requests.gpu")),
    ),
    kind_row(
        "nvidia.com",
        "DynamoComponentDeployment",
        "spec.extraPodSpec",
        owner="ReplicaSet",
        shape=Shape.MAIN_BESIDE,
        more=(pod_path("spec.podTemplate", Shape.TEMPLATE),),
        blind=(own_field("spec.resources.limits.gpu"), own_field("spec.resources.requests.gpu")),
    ),
    kind_row(
        "nvidia.com",
        "DynamoGraphDeploymentRequest",
        blind=(Blind(path=("spec",), reason="a profiler chooses the GPUs of the DynamoGraphDeployment that it makes"),),
    ),
    kind_row("grove.io", "PodCliqueSet", "spec.template.cliques.*.spec.podSpec", owner="PodClique", shape=Shape.SPEC),
    kind_row("kubeai.org", "Model", blind=(own_field("spec.resourceProfile"),)),
    kind_row("kaito.sh", "Workspace", blind=(own_field("resource.instanceType"),)),
    kind_row("production-stack.vllm.ai", "VLLMRuntime", blind=(own_field("spec.deploymentConfig.resources.gpu"),)),
    machine_row("kubevirt.io", "VirtualMachine", "spec.template.spec"),
    machine_row("kubevirt.io", "VirtualMachineInstance", "spec"),
    machine_row("kubevirt.io", "VirtualMachineInstanceReplicaSet", "spec.template.spec"),
    machine_row("pool.kubevirt.io", "VirtualMachinePool", "spec.virtualMachineTemplate.spec.template.spec"),
    # Spark
    spark_row("SparkApplication", "spec"),
    spark_row("ScheduledSparkApplication", "spec.template"),
    spark_row("SparkConnect", "spec", first="server", owner="SparkConnect"),
)

# Objects that quote pods of others and never run them: schemas, patterns, histories, quota records.
QUOTING_GROUPS = frozenset(
    {
        "apiextensions.k8s.io",
        "admissionregistration.k8s.io",
        "kyverno.io",
        "policies.kyverno.io",
        "constraints.gatekeeper.sh",
        "templates.gatekeeper.sh",
        "mutations.gatekeeper.sh",
        "kueue.x-k8s.io",
        "gpupolicy.dev",
    }
)
QUOTING_KINDS = frozenset({("apps", "ControllerRevision")})
