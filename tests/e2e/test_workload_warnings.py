"""What ``kubectl`` says at once about a workload whose pods would never come, and what it does not repeat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from e2e.conftest import is_served
from e2e.controlplane import ControlPlane
from e2e.custom_kinds import definitions, examples
from e2e.objects import GPU, Manifest, pod_spec, workload
from e2e.processes import wait_for
from e2e.product import Product, installed, shipped, variant

GROUP = "ml.example.org"
# Kinds whose pods stand where an expression finds them only at a price: they are always shown to us.
ALWAYS_SHOWN = (
    *("AppWrapper", "DynamoComponentDeployment", "DynamoGraphDeployment", "Experiment", "InferenceService"),
    *("Pipeline", "PipelineRun", "ScheduledSparkApplication", "SeldonDeployment", "SparkApplication"),
    *("SparkConnect", "Task", "TaskRun", "Trial"),
    *("Workflow", "WorkflowTemplate"),  # these two for what is special in the examples: sidecars, a set of containers
)
HIDDEN = ("llminferenceserviceconfig",)  # an example whose GPUs stand in no pod


def early(control_plane: ControlPlane, folders: pytest.TempPathFactory, action: str) -> Iterator[Product]:
    """The classic policy with a kind of its own, and an action for workloads."""

    def change(spec: dict[str, Any]) -> None:
        spec["admission"]["workloads"] = action
        spec["workloads"] = [{"group": GROUP, "kind": "Sweep", "templates": ["spec.trials[*].pod"]}]

    with installed(control_plane, variant("classic", folders.mktemp("policy"), change)) as product:
        yield product


@pytest.fixture(scope="class")
def warning(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    yield from early(control_plane, tmp_path_factory, "warn")


@pytest.fixture(scope="class")
def denying(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    yield from early(control_plane, tmp_path_factory, "deny")


@pytest.fixture(scope="class")
def silent(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    yield from early(control_plane, tmp_path_factory, "off")


@pytest.fixture(scope="module")
def custom_kinds(control_plane: ControlPlane) -> Iterator[None]:
    """All kinds of the table that have pods, and one of the policy's own."""
    wanted = definitions((GROUP, "Sweep"))
    control_plane.apply(wanted)
    for each in wanted:
        wait_for(lambda each=each: is_served(control_plane, each), message=f"{each['metadata']['name']} served")
    yield
    for each in wanted:
        control_plane.api().delete(each)


def told(product: Product, path: str = "spec.template.spec") -> str:
    """What is said about pods with 3 GPUs."""
    line = product.policy.cite("spec", "admission", "requestSizes")
    return (
        f"pods of {path} will be denied: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({line}); ask for 2 or 4 "
        "[request-size-not-admitted]"
    )


def apply(control_plane: ControlPlane, namespace: str, manifest: Manifest) -> str:
    """What ``kubectl apply`` writes to standard error."""
    return control_plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(manifest)).stderr


class TestWhereItWarns:
    def test_kubectl_apply_of_a_deployment_prints_the_warning_at_once(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        said = apply(control_plane, namespace, workload("Deployment", "train", 1, 3))

        assert said == f"Warning: {told(warning)}\n"

    @pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
    def test_other_built_in_workloads_are_warned_of_as_well(
        self, warning: Product, control_plane: ControlPlane, namespace: str, kind: str
    ) -> None:
        answer = control_plane.api().post(workload(kind, "train", 1, 3), namespace=namespace, dry_run=True)

        assert answer.warnings == (told(warning),)

    def test_the_path_of_a_cron_job_is_its_own(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": workload("Job", "x", 1, 3)["spec"]}}
        cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}

        answer = control_plane.api().post(cron, namespace=namespace, dry_run=True)

        assert answer.warnings == (told(warning, "spec.jobTemplate.spec.template.spec"),)

    def test_a_workload_that_will_get_its_pods_is_let_in_without_a_word(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        assert apply(control_plane, namespace, workload("Deployment", "train", 1, 4)) == ""

    def test_a_workload_without_gpus_never_reaches_us(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        before = calls(control_plane, warning)

        control_plane.api().post(workload("Deployment", "web", 1, 0), namespace=namespace, dry_run=True)

        assert calls(control_plane, warning) == before

    def test_what_controllers_make_of_it_does_not_reach_us_again(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        before = calls(control_plane, warning)

        control_plane.create(workload("Deployment", "train", 1, 3), namespace)
        wait_for(lambda: control_plane.api().list(f"/apis/apps/v1/namespaces/{namespace}/replicasets"))

        assert calls(control_plane, warning) == before + 1

    def test_a_change_of_replicas_or_image_is_not_warned_of_again(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        apply(control_plane, namespace, workload("Deployment", "train", 1, 3))

        scaled = control_plane.kubectl("scale", "deployment/train", "--replicas=2", "-n", namespace)
        renamed = control_plane.kubectl(
            "set", "image", "deployment/train", "main=example.test/train:2", "-n", namespace
        )

        assert (scaled.stderr, renamed.stderr) == ("", "")

    def test_a_change_of_the_gpus_is_warned_of(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        apply(control_plane, namespace, workload("Deployment", "train", 1, 4))

        said = apply(control_plane, namespace, workload("Deployment", "train", 1, 3))

        assert said == f"Warning: {told(warning)}\n"

    def test_the_workload_is_kept_as_its_author_wrote_it(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        made = control_plane.create(workload("Deployment", "train", 1, 4), namespace, dry_run=True)

        assert not {"affinity", "nodeSelector"} & set(made["spec"]["template"]["spec"])

    def test_it_does_not_stand_in_the_way_while_the_webhook_is_down(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        warning.server.stop()
        try:
            answer = control_plane.api().post(workload("Deployment", "train", 1, 3), namespace=namespace, dry_run=True)
        finally:
            with warning.served_again():
                pass

        assert (answer.status, answer.warnings) == (201, ())


@pytest.mark.usefixtures("custom_kinds")
class TestOfCustomKinds:
    def test_each_role_of_a_training_job_is_judged_by_its_own_path(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        roles = {"Master": {"template": {"spec": pod_spec(8)}}, "Worker": {"template": {"spec": pod_spec(3)}}}
        job = custom("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": roles})

        assert apply(control_plane, namespace, job) == (
            f"Warning: {told(warning, 'spec.pytorchReplicaSpecs.Worker.template.spec')}\n"
        )

    def test_a_kind_of_the_policy_is_judged_by_the_paths_of_the_policy(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        sweep = custom(f"{GROUP}/v1", "Sweep", {"trials": [{"pod": pod_spec(1)}, {"pod": pod_spec(3)}]})

        assert apply(control_plane, namespace, sweep) == f"Warning: {told(warning, 'spec.trials[1].pod')}\n"

    def test_a_label_on_an_object_does_not_reach_us(
        self, warning: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        sweep = custom(f"{GROUP}/v1", "Sweep", {"trials": [{"pod": pod_spec(3)}]})
        made = control_plane.create(sweep, namespace)
        before = calls(control_plane, warning)

        control_plane.api().patch(made, {"metadata": {"labels": {"a": "b"}}}, "merge")

        assert calls(control_plane, warning) == before

    @pytest.mark.parametrize(
        "spec",
        [{"trials": "none"}, {"trials": [7]}, {"template": "x", "tasks": 3}, "x"],
        ids=["text", "number", "odd", "flat"],
    )
    def test_an_object_of_any_shape_is_let_in(
        self, warning: Product, control_plane: ControlPlane, namespace: str, spec: object
    ) -> None:
        """The conditions fail on some of these; then the API server leaves us out."""
        assert control_plane.api().post(custom(f"{GROUP}/v1", "Sweep", spec), namespace=namespace).status == 201


@pytest.mark.usefixtures("custom_kinds")
class TestOfEveryKindOfTheTable:
    """The paths of the condition, walked by the API server's own CEL."""

    def test_every_example_with_gpus_reaches_us(self, warning: Product, control_plane: ControlPlane) -> None:
        found = {name: posted(control_plane, warning, each) for name, each in examples().items()}

        assert found == {name: (201, 0 if name in HIDDEN else 1) for name in examples()}

    def test_no_example_without_its_gpus_does(self, warning: Product, control_plane: ControlPlane) -> None:
        bare = {name: each for name, each in examples().items() if each["kind"] not in ALWAYS_SHOWN}

        found = {name: posted(control_plane, warning, without_gpus(each)) for name, each in bare.items()}

        assert found == dict.fromkeys(bare, (201, 0))


def posted(control_plane: ControlPlane, product: Product, example: Manifest) -> tuple[int, int]:
    """The status of a dry run, and how often we were asked about it."""
    metadata = {**example["metadata"], "namespace": "default"}
    before = product.server.reviews()
    answer = control_plane.api().post({**example, "metadata": metadata}, namespace="default", dry_run=True)
    return answer.status, product.server.reviews() - before


def without_gpus(value: Any) -> Any:
    """The same with every GPU left out."""
    if isinstance(value, dict):
        return {key: without_gpus(entry) for key, entry in value.items() if key != GPU}
    return [without_gpus(entry) for entry in value] if isinstance(value, list) else value


def custom(api_version: str, kind: str, spec: object) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "run"}, "spec": spec}


def calls(control_plane: ControlPlane, product: Product) -> int:
    """How often the API server has asked about workloads."""
    return control_plane.webhook_calls(f"workloads.{product.policy.name}.gpupolicy.dev")[0]


class TestWhereItDenies:
    def test_kubectl_apply_is_refused_with_the_path(
        self, denying: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        said = apply(control_plane, namespace, workload("Deployment", "train", 1, 3))

        assert said == (
            'Error from server (Forbidden): error when creating "STDIN": admission webhook '
            f'"workloads.classic.gpupolicy.dev" denied the request: Deployment train in namespace {namespace}: '
            f"{told(denying)}\n"
        )

    def test_what_was_there_before_can_still_be_changed(
        self, denying: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        apply(control_plane, namespace, workload("Deployment", "train", 1, 4))

        refused = apply(control_plane, namespace, workload("Deployment", "train", 1, 3))
        changed = apply(control_plane, namespace, workload("Deployment", "train", 2, 4))

        assert ("[request-size-not-admitted]" in refused, changed) == (True, "")


class TestWhereItIsOff:
    def test_nothing_is_said_and_nobody_is_asked(
        self, silent: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        before = calls(control_plane, silent)

        said = apply(control_plane, namespace, workload("Deployment", "train", 1, 3))

        assert (said, calls(control_plane, silent)) == ("", before)


def test_the_shipped_policies_warn() -> None:
    """A default that nobody has to know of."""
    assert "workloads" not in yaml.safe_load(shipped("classic").read_text())["spec"]["admission"]
