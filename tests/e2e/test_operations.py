"""What may go on with GPU pods under a policy: those that were there before it, and those that gates still hold."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import Manifest, pod, scheduler_config
from e2e.processes import wait_for
from e2e.product import Product, installed, shipped
from e2e.rest import Answer, Api

GROUP = "my.gpu.cluster/node-group"
TYPE = "my.gpu.cluster/gpu-type"
TERM = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions"
GATES = [{"name": "example.test/wait"}]
NONE = (0, 0)

Act = Callable[[Api, str, str], Answer]  # what is done to a pod: the API, the namespace, the pod's name


def named(namespace: str, name: str) -> Manifest:
    """A reference to a pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}


def patched(patch: object, kind: str = "merge", subresource: str = "") -> Act:
    return lambda api, namespace, name: api.patch(named(namespace, name), patch, kind, subresource=subresource)


def posted(subresource: str, api_version: str, kind: str, **fields: object) -> Act:
    def act(api: Api, namespace: str, name: str) -> Answer:
        body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}
        return api.request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/{subresource}", body)

    return act


def deleted(api: Api, namespace: str, name: str) -> Answer:
    return api.delete(named(namespace, name), grace_seconds=0)


def in_turn(*acts: Act) -> Act:
    """Several acts; the first refusal ends them."""

    def act(api: Api, namespace: str, name: str) -> Answer:
        answers = (each(api, namespace, name) for each in acts)
        return next((answer for answer in answers if not answer.accepted), Answer(status=200, body={}))

    return act


HELD = patched({"metadata": {"finalizers": ["example.test/keep"]}})
RELEASED = patched({"metadata": {"finalizers": None}})
UNGATE = {"op": "remove", "path": "/spec/schedulingGates"}
LABEL = patched({"metadata": {"labels": {"team": "a"}}})
DEBUG = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "example.test/debug:1"}]}}
MORE_CPU = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]}}
TO_NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1"}

DAILY_LIFE: dict[str, Act] = {
    "label": LABEL,
    "annotation": patched({"metadata": {"annotations": {"note": "a"}}}),
    "finalizer": in_turn(HELD, RELEASED),
    "deadline": patched({"spec": {"activeDeadlineSeconds": 60}}),
    "status": patched({"status": {"message": "seen"}}, subresource="status"),
    "ephemeral-container": patched(DEBUG, "strategic", "ephemeralcontainers"),
    "resize-of-cpu": patched(MORE_CPU, "strategic", "resize"),
    "eviction": posted("eviction", "policy/v1", "Eviction"),
    "deletion": deleted,
}


@pytest.fixture(scope="class")
def older(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace with pods that the policy would not admit, made before it."""
    name = control_plane.add_namespace(f"e2e-older-{secrets.token_hex(4)}")
    for act in (*DAILY_LIFE, "binding", "scheduler", "debug"):
        control_plane.create(pod(f"open-{act}", 3), name)
    for act in (*DAILY_LIFE, "narrowing", "end"):
        control_plane.create(pod(f"gated-{act}", 3, schedulingGates=GATES), name)
    control_plane.create(pod("gated-eight", 8, schedulingGates=GATES), name)
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture(scope="class")
def product(control_plane: ControlPlane, older: str) -> Iterator[Product]:
    """The classic policy, installed over those pods."""
    with installed(control_plane, shipped("classic")) as product:
        yield product


def do(control_plane: ControlPlane, act: Act, namespace: str, name: str) -> None:
    answer = act(control_plane.api(), namespace, name)
    assert answer.accepted, answer.message


class TestOfPodsThatWereThereBefore:
    @pytest.mark.parametrize("state", ["open", "gated"])
    @pytest.mark.parametrize("act", DAILY_LIFE)
    def test_daily_life_goes_on_without_a_question_to_the_webhook(
        self, act: str, state: str, product: Product, control_plane: ControlPlane, older: str
    ) -> None:
        calls = product.calls_during(lambda: do(control_plane, DAILY_LIFE[act], older, f"{state}-{act}"))

        assert calls == NONE

    def test_they_are_bound_without_a_question(self, product: Product, control_plane: ControlPlane, older: str) -> None:
        control_plane.add_node("n1")
        bind = posted("binding", "v1", "Binding", target=TO_NODE)

        calls = product.calls_during(lambda: do(control_plane, bind, older, "open-binding"))

        assert calls == NONE

    def test_a_scheduler_goes_on_scheduling_them(
        self, product: Product, control_plane: ControlPlane, older: str
    ) -> None:
        control_plane.add_node("n1", gpus=64)

        def schedule() -> None:
            with control_plane.scheduler(scheduler_config({"schedulerName": "default-scheduler"})):
                wait_for(lambda: "open-scheduler" in control_plane.bound_nodes(older), message="the pod bound")

        assert product.calls_during(schedule) == NONE

    def test_kubectl_debug_works(self, product: Product, control_plane: ControlPlane, older: str) -> None:
        done = control_plane.kubectl("debug", "-n", older, "open-debug", "--image=example.test/debug:1", "-c=debug")

        assert (done.returncode, done.stderr) == (0, "")
        assert len(control_plane.pod(older, "open-debug")["spec"]["ephemeralContainers"]) == 1

    def test_a_gated_one_may_be_narrowed_and_let_go_though_it_would_not_be_admitted_today(
        self, product: Product, control_plane: ControlPlane, older: str
    ) -> None:
        selector = {"op": "add", "path": "/spec/nodeSelector", "value": {"rack": "r1"}}

        do(control_plane, patched([UNGATE, selector], "json"), older, "gated-narrowing")

        assert control_plane.pod(older, "gated-narrowing")["spec"]["nodeSelector"] == {"rack": "r1"}

    def test_a_gated_one_that_was_never_routed_may_be_narrowed_and_let_go(
        self, product: Product, control_plane: ControlPlane, older: str
    ) -> None:
        """To lose a routing would be denied; never to have had one is not."""
        selector = {"op": "add", "path": "/spec/nodeSelector", "value": {"rack": "r1"}}

        do(control_plane, patched([UNGATE, selector], "json"), older, "gated-eight")

        assert "affinity" not in control_plane.pod(older, "gated-eight")["spec"]

    def test_one_that_is_ending_loses_its_finalizers_and_is_gone_without_a_question(
        self, product: Product, control_plane: ControlPlane, older: str
    ) -> None:
        do(control_plane, HELD, older, "gated-end")

        calls = product.calls_during(lambda: do(control_plane, in_turn(deleted, RELEASED), older, "gated-end"))

        assert calls == NONE
        assert control_plane.api().get(named(older, "gated-end")).status == 404


def requirement(key: str, operator: str, *values: str) -> dict[str, object]:
    """A patch that narrows the one term of a routed pod."""
    return {"op": "add", "path": f"{TERM}/-", "value": {"key": key, "operator": operator, "values": list(values)}}


class TestOfGatedPodsUnderThePolicy:
    @pytest.mark.parametrize(
        "narrowing",
        [
            pytest.param({"op": "add", "path": "/spec/nodeSelector", "value": {"rack": "r1"}}, id="another-label"),
            pytest.param({"op": "add", "path": "/spec/nodeSelector", "value": {GROUP: "SLOT-8"}}, id="own-group"),
            pytest.param(requirement(TYPE, "In", "NVIDIA-V100-32GB"), id="own-type"),
        ],
    )
    def test_a_narrowing_inside_the_slot_group_passes_with_the_end_of_the_gate(
        self, narrowing: dict[str, object], product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.create(pod("p", 8, schedulingGates=GATES), namespace)

        mutating, validating = product.calls_during(
            lambda: do(control_plane, patched([UNGATE, narrowing], "json"), namespace, "p")
        )

        assert (mutating, validating >= 1) == (0, True)  # a busy API server may try an update again

    @pytest.mark.parametrize(
        ("narrowing", "told"),
        [
            pytest.param(
                {"op": "add", "path": "/spec/nodeSelector", "value": {GROUP: "SLOT-4"}},
                "the pod wants my.gpu.cluster/node-group In [SLOT-4], but requests for 8 GPUs are served by SLOT-8 of "
                "NVIDIA-V100-32GB",
                id="another-group",
            ),
            pytest.param(
                requirement(TYPE, "NotIn", "NVIDIA-V100-32GB"),
                "the pod wants my.gpu.cluster/gpu-type NotIn [NVIDIA-V100-32GB], but requests for 8 GPUs are served by "
                "SLOT-8 of NVIDIA-V100-32GB",
                id="not-the-only-type",
            ),
        ],
    )
    def test_a_narrowing_into_a_contradiction_is_denied_with_the_reason(
        self,
        narrowing: dict[str, object],
        told: str,
        product: Product,
        control_plane: ControlPlane,
        namespace: str,
    ) -> None:
        control_plane.create(pod("p", 8, schedulingGates=GATES), namespace)

        answer = patched([narrowing], "json")(control_plane.api(), namespace, "p")

        assert answer.status == 403
        assert told in answer.message
        assert "[placement-contradiction]" in answer.message

    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(LABEL, id="label"),
            pytest.param(patched([UNGATE], "json"), id="end-of-the-gate"),
            pytest.param(deleted, id="deletion"),
        ],
    )
    def test_what_does_not_move_them_passes_without_a_question(
        self, act: Act, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        control_plane.create(pod("p", 8, schedulingGates=GATES), namespace)

        assert product.calls_during(lambda: do(control_plane, act, namespace, "p")) == NONE

    def test_kubernetes_itself_keeps_the_routing_from_being_taken_away(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        """A requirement may be added to a term of a gated pod, none removed, and no term beside it."""
        control_plane.create(pod("p", 8, schedulingGates=GATES), namespace)

        answer = patched([{"op": "remove", "path": "/spec/affinity"}], "json")(control_plane.api(), namespace, "p")

        assert answer.status == 422
        assert answer.message.endswith("no additions/deletions to non-empty NodeSelectorTerms list are allowed")
