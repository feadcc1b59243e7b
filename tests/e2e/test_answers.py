"""What people read who ask for GPUs under a policy: denials, warnings, events, and the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import GPU, Manifest, pod, workload
from e2e.processes import wait_for
from e2e.product import Product, installed, shipped, variant

IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


@pytest.fixture(scope="class")
def product(control_plane: ControlPlane) -> Iterator[Product]:
    with installed(control_plane, shipped("classic")) as product:
        yield product


def denial(product: Product, subject: str, namespace: str) -> str:
    """What is said to who asks for 3 GPUs."""
    line = product.policy.cite("spec", "admission", "requestSizes")
    return (
        f'admission webhook "route.classic.gpupolicy.dev" denied the request: pod {subject} in namespace {namespace}: '
        f"the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({line}); ask for 2 or 4 [request-size-not-admitted]"
    )


def asking(amount: str, part: str = "limits", resource: str = GPU) -> Manifest:
    """A pod with one container that asks for an amount and nothing else."""
    container = {"name": "main", "image": "example.test/train:1", "resources": {part: {resource: amount}}}
    return pod("p", containers=[container])


def create(control_plane: ControlPlane, namespace: str, manifest: Manifest, *options: str) -> str:
    """What ``kubectl create`` says on standard error."""
    return control_plane.kubectl("create", "-n", namespace, "-f", "-", *options, stdin=json.dumps(manifest)).stderr


class TestOfAPod:
    def test_a_denial_tells_kubectls_user_what_is_admitted_by_which_line_and_what_to_ask_for(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        told = create(control_plane, namespace, pod("p", 3))

        where = 'Error from server (Forbidden): error when creating "STDIN"'
        assert told == f"{where}: {denial(product, 'p', namespace)}\n"

    def test_a_dry_run_gets_the_same_denial(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        told = create(control_plane, namespace, pod("p", 3), "--dry-run=server")

        assert told.endswith(f"{denial(product, 'p', namespace)}\n")

    def test_a_dry_run_gets_the_same_placement(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        tried = control_plane.create(pod("p", 4), namespace, dry_run=True)
        made = control_plane.create(pod("p", 4), namespace)

        assert tried["spec"]["affinity"] == made["spec"]["affinity"]
        assert tried["spec"]["schedulerName"] == made["spec"]["schedulerName"] == "gpu-packing"

    def test_kubectl_shows_a_warning_once_though_both_hooks_give_it(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        (told,) = create(control_plane, namespace, pod("p", 1, scheduler="mine")).splitlines()

        assert told.startswith("Warning: schedulerName mine is none of the policy's")
        assert told.endswith("[scheduler-not-known]")

    def test_a_pod_without_a_name_of_its_own_is_named_by_its_prefix(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        unnamed = {**pod("p", 3), "metadata": {"generateName": "train-"}}

        assert control_plane.api().post(unnamed, namespace=namespace).message == denial(product, "train-*", namespace)

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            pytest.param(
                asking("1", "requests"),
                "nvidia.com/gpu is requested without a limit; Kubernetes wants a limit that equals the request; "
                "limits: {nvidia.com/gpu: 1} [gpu-limit-missing]",
                id="request-only",
            ),
            pytest.param(
                asking("500m"),
                "500m GPUs are no whole number; Kubernetes takes whole GPUs only; MIG or time-slicing share one GPU "
                "[gpu-amount-fractional]",
                id="fraction",
            ),
            pytest.param(asking("-1"), "-1 GPUs are less than none [gpu-amount-negative]", id="negative"),
        ],
    )
    def test_what_kubernetes_would_refuse_is_refused_by_us_in_plain_words(
        self, asked: Manifest, told: str, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        answer = control_plane.api().post(asked, namespace=namespace)

        assert (answer.status, answer.message.partition(f"namespace {namespace}: ")[2]) == (403, told)

    @pytest.mark.parametrize("amount", ["1e30", "9223372036854775807", "8Ei"])
    def test_an_amount_that_breaks_the_schedulers_arithmetic_is_denied(
        self, amount: str, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        answer = control_plane.api().post(asking(amount), namespace=namespace)

        assert (answer.status, "the pod asks for 9223372036854775807 GPUs; admitted are" in answer.message) == (
            403,
            True,
        )

    @pytest.mark.parametrize(
        ("asked", "warning"),
        [
            pytest.param(
                asking("3", "requests", IMPLICIT),
                "devices of class gpu are not counted: no GPU type names the class; deviceClasses of the GPU types: "
                "none [device-class-not-known]",
                id="implicit-dra-name",
            ),
            pytest.param(
                pod("p", 0, resourceClaims=[{"name": "gpu", "resourceClaimName": "some"}]),
                "the devices of resource claim gpu are counted in another object; they are not judged "
                "[device-claim-not-counted]",
                id="dra-claim",
            ),
            pytest.param(
                asking("1", resource="nvidia.com/gpu.shared"),
                "nvidia.com/gpu.shared is a GPU resource that the policy does not count; counted: nvidia.com/gpu "
                "[gpu-resource-not-counted]",
                id="shared",
            ),
            pytest.param(
                asking("1", resource="nvidia.com/GPU"),
                "nvidia.com/GPU is no counted resource; no node may offer it; did you mean nvidia.com/gpu "
                "[resource-name-misspelt]",
                id="misspelt",
            ),
        ],
    )
    def test_gpus_that_are_not_counted_are_warned_about(
        self, asked: Manifest, warning: str, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        answer = control_plane.api().post(asked, namespace=namespace, dry_run=True)

        assert (answer.status, answer.warnings) == (201, (warning,))


def has_gpu_class(spec: dict[str, Any]) -> None:
    spec["gpuTypes"][0]["deviceClasses"] = ["gpu"]
    spec["admission"]["enforcement"] = {
        "default": "deny",
        "overrides": [{"rules": ["gpu-resource-not-counted"], "action": "deny"}],
    }


@pytest.fixture(scope="class")
def stricter(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    policy = variant("classic", tmp_path_factory.mktemp("policy"), has_gpu_class)
    with installed(control_plane, policy) as product:
        yield product


@pytest.mark.usefixtures("stricter")
class TestUnderAStricterPolicy:
    def test_devices_of_a_known_class_count_though_only_requested(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        """The scheduler gives devices for requests without limits, which the API server lets through."""
        denied = control_plane.api().post(asking("3", "requests", IMPLICIT), namespace=namespace)
        routed = control_plane.create(asking("2", "requests", IMPLICIT), namespace, dry_run=True)

        assert (denied.status, "the pod asks for 3 GPUs; admitted are" in denied.message) == (403, True)
        assert routed["metadata"]["annotations"]["gpupolicy.dev/routed-to"] == "SLOT-2"

    def test_a_rule_that_only_warns_denies_where_the_policy_says_so(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        answer = control_plane.api().post(asking("1", resource="nvidia.com/mig-1g.5gb"), namespace=namespace)

        assert (answer.status, "[gpu-resource-not-counted]" in answer.message) == (403, True)


@pytest.fixture(scope="class")
def watching(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    def audit(spec: dict[str, Any]) -> None:
        spec["admission"]["enforcement"] = "audit"

    with installed(control_plane, variant("classic", tmp_path_factory.mktemp("policy"), audit)) as product:
        yield product


@pytest.mark.usefixtures("watching")
class TestUnderAPolicyThatOnlyAudits:
    def test_a_pod_that_would_be_denied_passes_in_silence_and_the_audit_log_says_why_it_would_be(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        answer = control_plane.api().post(pod("p", 3), namespace=namespace)

        assert (answer.status, answer.warnings) == (201, ())
        assert audited(control_plane, namespace)["check.classic.gpupolicy.dev/rules"] == "request-size-not-admitted"

    def test_what_kubernetes_refuses_is_refused_in_its_own_words(
        self, control_plane: ControlPlane, namespace: str
    ) -> None:
        answer = control_plane.api().post(asking("1", "requests"), namespace=namespace)

        assert answer.status == 422
        assert answer.message.endswith("Limit must be set for non overcommitable resources")


class TestOfAWorkload:
    def test_a_deployment_says_why_it_has_no_pods(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.create(workload("Deployment", "train", 1, 3), namespace)

        failure = wait_for(lambda: condition(control_plane, namespace, "ReplicaFailure"))

        (replica_set,) = control_plane.api().list(f"/apis/apps/v1/namespaces/{namespace}/replicasets")
        told = denial(product, f"{replica_set['metadata']['name']}-*", namespace)
        assert (failure["reason"], failure["message"]) == ("FailedCreate", told)

    def test_the_events_of_a_job_say_why_it_has_no_pods(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.create(workload("Job", "train", 1, 3), namespace)

        (event, *_) = control_plane.wait_for_events(namespace, about="train")

        told = f"Error creating: {denial(product, 'train-*', namespace)}"
        assert (event["reason"], event["message"]) == ("FailedCreate", told)

    def test_repeated_refusals_are_one_event_that_is_counted_up(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        """The message has no random name in it, so it is the same each time."""
        control_plane.create(workload("ReplicaSet", "train", 1, 3), namespace)

        (event,) = wait_for(
            lambda: [each for each in control_plane.events(namespace, about="train") if each.get("count", 0) > 2]
        )

        assert [each["metadata"]["name"] for each in control_plane.events(namespace, about="train")] == [
            event["metadata"]["name"]
        ]


def condition(control_plane: ControlPlane, namespace: str, kind: str) -> dict[str, Any]:
    """A condition of the Deployment, once it is there."""
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "train"}}
    conditions = control_plane.api().get(named, namespace=namespace).body.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


class TestInTheAuditLog:
    def test_policy_and_placement_of_a_routed_pod_are_written(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.create(pod("p", 4), namespace)

        annotations = audited(control_plane, namespace)
        assert annotations["route.classic.gpupolicy.dev/placement"] == (
            "gpuTypes=NVIDIA-V100-32GB slotGroups=SLOT-4 schedulerName=gpu-packing"
        )
        assert annotations["check.classic.gpupolicy.dev/policy"].startswith("classic@")

    def test_the_rule_of_a_denial_is_written(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.api().post(pod("p", 3), namespace=namespace)

        assert audited(control_plane, namespace)["route.classic.gpupolicy.dev/rules"] == "request-size-not-admitted"

    def test_a_warning_is_written_in_full(self, product: Product, control_plane: ControlPlane, namespace: str) -> None:
        answer = control_plane.api().post(pod("p", 1, scheduler="mine"), namespace=namespace)

        (warning,) = answer.warnings
        assert audited(control_plane, namespace)["check.classic.gpupolicy.dev/findings"] == warning


def audited(control_plane: ControlPlane, namespace: str) -> dict[str, str]:
    """The annotations of the one request for a pod in a namespace, once it is in the audit log."""
    (event,) = wait_for(lambda: control_plane.audit_events(containing=f"/namespaces/{namespace}/pods"))
    return dict(event["annotations"])
