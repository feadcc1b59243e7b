"""Short ways to write rows of the table: one for each family of kinds that keeps its pods alike."""

from __future__ import annotations

from dataclasses import replace

from gpupolicy.workloads.kinds import Blind, KindRow, PodPath, Shape, guess_resource, steps_of


def kind_row(
    group: str,
    kind: str,
    *paths: str,
    shape: Shape = Shape.TEMPLATE,
    base: str | None = None,
    owner: str | None = None,
    resource: str | None = None,
    blind: tuple[Blind, ...] = (),
    more: tuple[PodPath, ...] = (),
    namespaced: bool = True,
) -> KindRow:
    """Returns a row; the shape and the base hold for all its dotted paths, ``more`` has paths of other shapes."""
    pods = tuple(pod_path(path, shape, base) for path in paths)
    return KindRow(
        group=group,
        kind=kind,
        resource=guess_resource(kind) if resource is None else resource,
        owner=kind if owner is None else owner,
        pods=(*pods, *more),
        blind=blind,
        namespaced=namespaced,
    )


def pod_path(path: str, shape: Shape, base: str | None = None) -> PodPath:
    """Returns a path to pods, written with dots."""
    return PodPath(path=steps_of(path), shape=shape, base=None if base is None else steps_of(base))


def elsewhere(path: str, what: str) -> Blind:
    """Returns a reference to the object that describes more of the pods."""
    return Blind(path=steps_of(path), reason=f"{what} that {{field}} names")


def own_field(path: str, within: str | None = None) -> Blind:
    """Returns a field of the kind's own that counts GPUs; ``within`` as in ``Blind``."""
    return Blind(
        path=steps_of(path),
        reason="it counts GPUs by its own field {field}",
        within=None if within is None else steps_of(within),
    )


def overriding(path: str) -> Blind:
    """Returns resources that take the place of those in a pod."""
    return Blind(path=steps_of(path), reason="{field} overrides what its steps ask for", named=True)


def machine_row(group: str, kind: str, spec: str) -> KindRow:
    """Returns a kind of KubeVirt; the pod of a machine asks for each of its devices by the device's name.

    Source: kubevirt/kubevirt pkg/virt-controller/services, WithGPUsDevicePlugins, WithHostDevicesDevicePlugins.
    """
    devices = f"{spec}.domain.devices"
    host_devices = replace(own_field(f"{devices}.hostDevices.*.deviceName"), named=True)
    return kind_row(group, kind, blind=(own_field(f"{devices}.gpus"), host_devices))


def training_row(kind: str, field: str) -> KindRow:
    """Returns a kind of the Training Operator v1: a map of replica types."""
    return kind_row("kubeflow.org", kind, f"spec.{field}.*.template")


def ray_row(kind: str, cluster: str, *paths: str, more_blind: tuple[Blind, ...] = ()) -> KindRow:
    """Returns a kind of Ray; each group of its cluster may name its GPUs for Ray's own scheduler, too."""
    head, workers = f"{cluster}.headGroupSpec", f"{cluster}.workerGroupSpecs.*"
    own = tuple(
        own_field(f"{group}.{field}", group)
        for group in (head, workers)
        for field in ("rayStartParams.num-gpus", "resources.GPU")
    )
    return kind_row(
        "ray.io", kind, f"{head}.template", f"{workers}.template", *paths, owner="RayCluster", blind=(*more_blind, *own)
    )


def argo_row(kind: str, spec: str, *, namespaced: bool = True) -> KindRow:
    """Returns a kind of Argo whose workflow spec stands at a path."""
    steps = f"{spec}.templates.*"
    patch = "podSpecPatch may change what its pods ask for"
    manifest = "a manifest in a text makes objects of its own"
    blind = (
        elsewhere(f"{spec}.workflowTemplateRef", "the steps stand in the template"),
        elsewhere(f"{steps}.steps.*.*.templateRef", "a step stands in the template"),
        elsewhere(f"{steps}.dag.tasks.*.templateRef", "a step stands in the template"),
        *(
            Blind(
                path=steps_of(f"{spec}.templateDefaults.{main}.resources"),
                reason="every step takes over {field}",
                named=True,
            )
            for main in ("container", "script")
        ),
        Blind(path=steps_of(f"{spec}.podSpecPatch"), reason=patch),
        Blind(path=steps_of(f"{steps}.podSpecPatch"), reason=patch),
        Blind(path=steps_of(f"{steps}.resource.manifest"), reason=manifest),
    )
    paths = (steps, f"{steps}.steps.*.*.inline", f"{steps}.dag.tasks.*.inline")
    return kind_row(
        "argoproj.io",
        kind,
        *paths,
        owner="Workflow",
        shape=Shape.ARGO,
        base=spec,
        blind=blind,
        namespaced=namespaced,
    )


def pipeline_row(kind: str, spec: str, blind: tuple[Blind, ...] = (), base: str | None = None) -> KindRow:
    """Returns a kind of Tekton whose pipeline stands at a path."""
    tasks = (f"{spec}.tasks.*", f"{spec}.finally.*")
    references = tuple(elsewhere(f"{task}.taskRef", "the steps stand in the task") for task in tasks)
    paths = tuple(f"{task}.taskSpec" for task in tasks)
    return kind_row(
        "tekton.dev", kind, *paths, owner="TaskRun", shape=Shape.STEPS, base=base, blind=(*blind, *references)
    )


def spark_row(kind: str, spec: str, first: str = "driver", owner: str = "SparkApplication") -> KindRow:
    """Returns a kind of Spark; the GPUs that sparkConf gives a role come into its pods as well."""
    amounts = tuple(
        Blind(
            path=(*steps_of(f"{spec}.sparkConf"), f"spark.{role}.resource.gpu.amount"),
            reason=f"it counts GPUs by spark.{role}.resource.gpu.amount in {spec}.sparkConf",
            within=steps_of(f"{spec}.{place}"),
        )
        for role, place in (("driver", first), ("executor", "executor"))
    )
    return kind_row(
        "sparkoperator.k8s.io",
        kind,
        f"{spec}.{first}",
        f"{spec}.executor",
        owner=owner,
        shape=Shape.SPARK,
        blind=amounts,
    )


def llm_row(kind: str) -> KindRow:
    """Returns a kind with the workload spec of KServe's LLMInferenceService."""
    blind = (
        elsewhere("spec.baseRefs", "more of the pods stands in the configurations"),
        own_field("spec.parallelism.tensor", "spec.template"),
        own_field("spec.prefill.parallelism.tensor", "spec.prefill"),
    )
    paths = ("spec.template", "spec.worker", "spec.prefill.template", "spec.prefill.worker")
    return kind_row(
        "serving.kserve.io",
        kind,
        *paths,
        "spec.router.scheduler.template",
        owner="ReplicaSet",
        shape=Shape.SPEC,
        blind=blind,
    )
