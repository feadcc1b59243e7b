"""From what stands at a path to the pod that a controller will make of it, without copying more than the surface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from gpupolicy.errors import FieldPath
from gpupolicy.workloads.kinds import Shape

JSONMap = Mapping[str, object]
Places = tuple[tuple[FieldPath, FieldPath], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """A pod as a workload will make it.

    ``pod`` has metadata and spec; ``path`` is where its spec (or what stands for it) is in the object; ``owner_kind``
    is the kind that will own the pods, None for a Pod itself. ``is_known`` is False for pods found by their shape in
    a kind that the table lacks. ``is_verbatim``: the pod stands in the object as such, so a patch applies to it.
    ``namespace`` is that of an object inside of another one, where it names its own.
    """

    pod: JSONMap
    path: FieldPath
    owner_kind: str | None = None
    namespace: str | None = None
    is_known: bool = True
    is_verbatim: bool = False
    places: Places = ()

    def field_of(self, field: FieldPath) -> FieldPath:
        """Returns where a field of the pod stands in the object; the nearest place where it has none of its own."""
        for inner, outer in self.places:
            if field[: len(inner)] == inner:
                return outer + field[len(inner) :]
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Pods whose GPUs this object does not tell, and why."""

    path: FieldPath
    reason: str


Reader = Callable[[object, FieldPath], PodTemplate | None]


def read_template(value: object, path: FieldPath) -> PodTemplate:
    """Reads a value with metadata and spec; the spec may be missing, which admission reports."""
    if not isinstance(value, Mapping):
        return PodTemplate(pod={"spec": value}, path=path, places=(((), path),))
    pod = {"metadata": value.get("metadata"), "spec": value.get("spec")}
    return PodTemplate(pod=pod, path=(*path, "spec"), is_verbatim=True, places=(((), path),))


def read_spec(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a pod spec that stands without a template around it."""
    if isinstance(value, Mapping) and "containers" not in value:
        return None
    return PodTemplate(pod={"spec": value}, path=path, places=((("spec",), path),))


_SERVER_NAMES = (
    "model",
    "huggingface",
    "lightgbm",
    "onnx",
    "paddle",
    "pmml",
    "pytorch",
    "sklearn",
    "tensorflow",
    "triton",
    "xgboost",
)


def read_model_server(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a KServe component: a pod spec in which ``model`` (or a framework's name) is one more container.

    Source: kserve/kserve pkg/apis/serving/v1beta1, PredictorSpec and ModelSpec.
    """
    if not isinstance(value, Mapping):
        return PodTemplate(pod={"spec": value}, path=path, places=((("spec",), path),))
    server = next((name for name in _SERVER_NAMES if isinstance(value.get(name), Mapping)), None)
    if server is None:
        return read_spec(value, path)
    containers = _entries(value.get("containers"))
    spec = {**value, "containers": [*containers, {"name": server, **_mapping(value[server])}]}
    places = ((("spec", "containers", len(containers)), (*path, server)), (("spec",), path))
    return PodTemplate(pod={"spec": spec}, path=path, places=places)


def read_main_beside(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a pod spec whose main container stands beside the others, as ``mainContainer``.

    Source: ai-dynamo/dynamo deploy/operator/api/v1alpha1, ExtraPodSpec.
    """
    main = value.get("mainContainer") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(main, Mapping):
        return read_spec(value, path)
    containers = _entries(value.get("containers"))
    spec = {**value, "containers": [*containers, {"name": "main", **main}]}
    places = ((("spec", "containers", len(containers)), (*path, "mainContainer")), (("spec",), path))
    return PodTemplate(pod={"spec": spec}, path=path, places=places)


def read_either(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a pod spec, or what has one: the paths of a policy may lead to either."""
    if isinstance(value, Mapping) and "containers" in value:
        return read_spec(value, path)
    return read_template(value, path) if isinstance(value, Mapping) and "spec" in value else None


def read_argo_step(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a template of an Argo workflow; steps that only order others (steps, dag, suspend) make no pod.

    Source: argoproj/argo-workflows pkg/apis/workflow/v1alpha1, Template.
    """
    if not isinstance(value, Mapping):
        return None
    mains = tuple(_argo_mains(value, path))
    if not mains:
        return None
    sidecars = _entries(value.get("sidecars"))
    containers = [main for main, _ in mains] + sidecars
    places: Places = (
        *((("spec", "containers", index), place) for index, (_, place) in enumerate(mains)),
        *((("spec", "containers", len(mains) + index), (*path, "sidecars", index)) for index in range(len(sidecars))),
        (("spec",), path),
        (("metadata",), (*path, "metadata")),
    )
    pod = {"metadata": value.get("metadata"), "spec": {**value, "containers": containers}}
    return PodTemplate(pod=pod, path=path, places=places)


def _argo_mains(value: JSONMap, path: FieldPath) -> Iterator[tuple[object, FieldPath]]:
    for key in ("container", "script"):
        if isinstance(value.get(key), Mapping):
            yield {"name": "main", **_mapping(value[key])}, (*path, key)
    if isinstance(container_set := value.get("containerSet"), Mapping):
        for index, container in enumerate(_entries(container_set.get("containers"))):
            yield container, (*path, "containerSet", "containers", index)


def read_steps(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a Tekton task: all its steps and sidecars are containers of one pod, and the scheduler adds them up.

    Source: tektoncd/pipeline docs/compute-resources.md; amounts stand in ``computeResources`` (v1) or ``resources``.
    """
    if not isinstance(value, Mapping) or not value.get("steps"):
        return None
    containers: list[object] = []
    places: list[tuple[FieldPath, FieldPath]] = []
    for key in ("steps", "sidecars"):
        common = _mapping(value.get("stepTemplate")) if key == "steps" else {}
        for index, step in enumerate(_entries(value.get(key))):
            inner: FieldPath = ("spec", "containers", len(containers))
            outer: FieldPath = (*path, key, index)
            for owner, place in ((_mapping(step), outer), (common, (*path, "stepTemplate"))):
                if "computeResources" in owner and isinstance(step, Mapping):
                    places.append(((*inner, "resources"), (*place, "computeResources")))
                    step = {**step, "resources": owner["computeResources"]}
                    break
            places.append((inner, outer))
            containers.append(step)
    pod = {"spec": {"containers": containers}}
    return PodTemplate(pod=pod, path=path, places=(*places, (("spec",), path)))


def read_resources(value: object, path: FieldPath) -> PodTemplate:
    """Reads a lone resources stanza as a pod of one container."""
    pod = {"spec": {"containers": [{"name": "main", "resources": value}]}}
    return PodTemplate(pod=pod, path=path, places=((("spec", "containers", 0, "resources"), path),))


def read_spark_role(value: object, path: FieldPath) -> PodTemplate | None:
    """Reads a Spark role: ``gpu: {name, quantity}`` becomes the limit of its container, the first of its template.

    Source: kubeflow/spark-operator api/v1beta2, SparkPodSpec and GPUSpec.
    """
    if not isinstance(value, Mapping):
        return None
    if not isinstance(gpu := value.get("gpu"), Mapping):
        return read_template(value["template"], (*path, "template")) if "template" in value else None
    template = _mapping(value.get("template"))
    spec = _mapping(template.get("spec"))
    containers = _entries(spec.get("containers"))
    main, *others = containers or [{}]
    name = str(gpu.get("name"))
    limits = {name: gpu.get("quantity")}
    container = {"name": "spark", **_mapping(main), "resources": {"limits": limits}}
    own = {key: value[key] for key in SCHEDULING_FIELDS if key in value}
    places: Places = (
        (("spec", "containers", 0, "resources", "limits", name), (*path, "gpu", "quantity")),
        (("spec", "containers", 0, "resources"), (*path, "gpu")),
        *(() if containers else ((("spec", "containers", 0), (*path, "gpu")),)),
        *((("spec", key), (*path, key)) for key in own),
        (("spec",), (*path, "template", "spec") if spec else path),
        (("metadata",), (*path, "template", "metadata")),
    )
    pod = {"metadata": template.get("metadata"), "spec": {**spec, **own, "containers": [container, *others]}}
    return PodTemplate(pod=pod, path=path, places=places)


SCHEDULING_FIELDS = ("nodeSelector", "affinity", "tolerations", "schedulerName", "serviceAccountName")


def with_base(template: PodTemplate, base: object, path: FieldPath) -> PodTemplate:
    """Gives a pod the scheduling fields that a mapping of its workload has for all pods, where it has none of its own.

    Args:
        template: the pod.
        base: that mapping; anything else changes nothing.
        path: where it stands in the object.
    """
    spec = template.pod.get("spec")
    if not isinstance(spec, Mapping) or not isinstance(base, Mapping):
        return template
    added = {key: base[key] for key in SCHEDULING_FIELDS if key in base and spec.get(key) in (None, "", {}, [])}
    if not added:
        return template
    pod = {**template.pod, "spec": {**spec, **added}}
    places = (*((("spec", key), (*path, key)) for key in added), *template.places)
    return replace(template, pod=pod, places=places, is_verbatim=False)


def without_gaps(value: object, gap: str, depth: int) -> object:
    """Returns a copy without the entries of mappings whose text has a gap, which is filled in later."""
    if depth == 0:
        return value
    if isinstance(value, Mapping):
        kept = ((key, entry) for key, entry in value.items() if not (isinstance(entry, str) and gap in entry))
        return {key: without_gaps(entry, gap, depth - 1) for key, entry in kept}
    return [without_gaps(entry, gap, depth - 1) for entry in value] if isinstance(value, list) else value


def _mapping(value: object) -> JSONMap:
    return value if isinstance(value, (dict, Mapping)) else {}  # dict first: the abstract test is slow


def _entries(value: object) -> list[object]:
    return value if isinstance(value, list) else []


READERS: Mapping[Shape, Reader] = {
    Shape.TEMPLATE: read_template,
    Shape.SPEC: read_spec,
    Shape.EITHER: read_either,
    Shape.MODEL_SERVER: read_model_server,
    Shape.MAIN_BESIDE: read_main_beside,
    Shape.ARGO: read_argo_step,
    Shape.STEPS: read_steps,
    Shape.RESOURCES: read_resources,
    Shape.SPARK: read_spark_role,
}
