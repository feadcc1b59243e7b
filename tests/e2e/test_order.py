"""Beside other mutating webhooks, before or after ours: the final pod obeys the policy or is denied; nothing loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import GPU, Manifest, pod
from e2e.processes import wait_for
from e2e.product import Product, installed, shipped
from e2e.rest import Object
from e2e.webhooks import SmallWebhook, allowed, patched

GROUP = "my.gpu.cluster/node-group"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"/spec/affinity/nodeAffinity/{REQUIRED}/nodeSelectorTerms"

# Configurations are asked in the order of their names; ours is gpupolicy-classic.
BEFORE_OURS = "aaa.example.test"
AFTER_OURS = "zzz.example.test"

Change = Callable[[Object], list[Object]]  # the pod as the webhook sees it -> what it patches (RFC 6902)


@pytest.fixture(scope="class")
def product(control_plane: ControlPlane) -> Iterator[Product]:
    with installed(control_plane, shipped("classic")) as product:
        yield product


@contextmanager
def beside(
    control_plane: ControlPlane, namespace: str, change: Change, name: str = AFTER_OURS, **fields: Any
) -> Iterator[SmallWebhook]:
    """Another mutating webhook, live in a namespace; what it was asked to try it out is forgotten."""

    def judge(request: Object) -> dict[str, Any]:
        operations = change(request["object"])
        return patched(operations) if operations else allowed()

    with SmallWebhook(judge) as webhook:
        control_plane.apply(webhook.registration(name, namespaces=[namespace], mutating=True, **fields))

        def is_asked() -> bool:
            control_plane.api().post(pod("probe", 0), namespace=namespace, dry_run=True)
            return bool(webhook.requests)

        wait_for(is_asked, message=f"{name} asked")
        webhook.requests.clear()
        yield webhook


def with_gpus(gpus: int) -> Change:
    """Adds a container with GPUs, once."""

    def change(pod: Object) -> list[Object]:
        if any(container["name"] == "added" for container in pod["spec"]["containers"]):
            return []
        return [add_container(gpus, "added")]

    return change


def add_container(gpus: int, name: str) -> Object:
    added = {"name": name, "image": "example.test/added:1", "resources": {"limits": {GPU: str(gpus)}}}
    return {"op": "add", "path": "/spec/containers/-", "value": added}


def doubled_every_time(pod: Object) -> list[Object]:
    """Adds as many GPUs as the pod has, whenever it is asked."""
    containers = pod["spec"]["containers"]
    gpus = sum(int(container["resources"]["limits"][GPU]) for container in containers)
    return [add_container(gpus, f"added-{len(containers)}")]


def with_another_term(pod: Object) -> list[Object]:
    """Adds a way round: terms are ORed."""
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}
    terms = required_terms(pod)
    return [{"op": "add", "path": f"{TERMS}/-", "value": term}] if terms and term not in terms else []


def without_affinity(pod: Object) -> list[Object]:
    """Takes the affinity away, once."""
    if not pod["spec"].get("affinity") or "cleaned" in pod["metadata"].get("labels", {}):
        return []
    return [
        {"op": "remove", "path": "/spec/affinity"},
        {"op": "add", "path": "/metadata/labels", "value": {"cleaned": ""}},
    ]


def without_affinity_every_time(pod: Object) -> list[Object]:
    return [{"op": "remove", "path": "/spec/affinity"}] if pod["spec"].get("affinity") else []


def with_the_default_scheduler(pod: Object) -> list[Object]:
    return [{"op": "replace", "path": "/spec/schedulerName", "value": "default-scheduler"}]


def counted_up(pod: Object) -> list[Object]:
    """Changes the pod whenever it is asked."""
    asked = int(pod["metadata"].get("labels", {}).get("asked", "0")) + 1
    return [{"op": "add", "path": "/metadata/labels", "value": {"asked": str(asked)}}]


def selecting(group: str) -> Change:
    return lambda pod: [{"op": "add", "path": "/spec/nodeSelector", "value": {GROUP: group}}]


def required_terms(pod: Object) -> list[Object]:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    return list(affinity.get(REQUIRED, {}).get("nodeSelectorTerms", []))


def in_group(group: str) -> Manifest:
    return {"key": GROUP, "operator": "In", "values": [group]}


class TestOfOneBeforeOurs:
    def test_gpus_that_it_adds_count(self, product: Product, control_plane: ControlPlane, namespace: str) -> None:
        with beside(control_plane, namespace, with_gpus(1), BEFORE_OURS):
            made = control_plane.create(pod("p", 1), namespace)

        assert required_terms(made) == [{"matchExpressions": [in_group("SLOT-2")]}]

    def test_gpus_that_it_adds_to_a_pod_without_any_count(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, with_gpus(2), BEFORE_OURS):
            made = control_plane.create(pod("p", 0), namespace)

        assert required_terms(made) == [{"matchExpressions": [in_group("SLOT-2")]}]

    def test_a_selector_of_its_that_contradicts_the_policy_is_denied(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, selecting("SLOT-8"), BEFORE_OURS):
            answer = control_plane.api().post(pod("p", 2), namespace=namespace)

        assert answer.status == 403
        assert "the pod wants my.gpu.cluster/node-group In [SLOT-8], but requests for 2 GPUs are served by" in (
            answer.message
        )

    def test_ours_is_asked_once_where_nothing_changes_after_it(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, with_gpus(1), BEFORE_OURS) as other:
            calls = product.calls_during(lambda: control_plane.create(pod("p", 1), namespace))

        assert (calls, len(other.requests)) == ((1, 1), 1)


class TestOfOneAfterOurs:
    def test_the_routing_is_replaced_when_it_adds_gpus(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        """Never doubled: SLOT-2 and SLOT-4 at once would match no node."""
        with beside(control_plane, namespace, with_gpus(2)):
            made = control_plane.create(pod("p", 2), namespace)

        assert required_terms(made) == [{"matchExpressions": [in_group("SLOT-4")]}]
        assert made["metadata"]["annotations"]["gpupolicy.dev/routed-to"] == "SLOT-4"

    def test_the_terms_of_a_pods_own_get_the_new_routing_alone(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        racks = [{"matchExpressions": [{"key": "rack", "operator": "In", "values": [rack]}]} for rack in ("r1", "r2")]
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": racks}}}
        with beside(control_plane, namespace, with_gpus(2)):
            made = control_plane.create(pod("p", 2, affinity=affinity), namespace)

        assert required_terms(made) == [
            {"matchExpressions": [*rack["matchExpressions"], in_group("SLOT-4")]} for rack in racks
        ]

    def test_ours_is_asked_again_once_and_judges_the_final_pod_once(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, with_gpus(2)) as other:
            calls = product.calls_during(lambda: control_plane.create(pod("p", 2), namespace))

        assert (calls, len(other.requests)) == ((2, 1), 1)

    def test_a_term_that_it_adds_is_routed_too(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, with_another_term):
            made = control_plane.create(pod("p", 2), namespace)

        assert required_terms(made) == [
            {"matchExpressions": [in_group("SLOT-2")]},
            {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}, in_group("SLOT-2")]},
        ]

    def test_a_routing_that_it_takes_away_comes_back(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, without_affinity):
            made = control_plane.create(pod("p", 2), namespace)

        assert required_terms(made) == [{"matchExpressions": [in_group("SLOT-2")]}]

    def test_a_scheduler_that_it_takes_away_comes_back(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, with_the_default_scheduler):
            made = control_plane.create(pod("p", 2), namespace)

        assert made["spec"]["schedulerName"] == "gpu-packing"

    def test_a_number_of_gpus_that_it_makes_inadmissible_is_denied(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, with_gpus(1)):
            answer = control_plane.api().post(pod("p", 2), namespace=namespace)

        assert (answer.status, "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8" in answer.message) == (403, True)

    def test_gpus_that_it_adds_to_a_pod_without_any_are_denied_by_the_final_judgement(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        """The API server asks no mutating webhook again that it passed over in the first round."""
        with beside(control_plane, namespace, with_gpus(2)):
            answer = control_plane.api().post(pod("p", 0), namespace=namespace)

        line = product.policy.cite("spec", "slotGroups", 1)
        assert answer.status == 403
        assert answer.message == (
            f'admission webhook "check.classic.gpupolicy.dev" denied the request: pod p in namespace {namespace}: '
            "the pod is not routed: not every way of placing it requires my.gpu.cluster/node-group In [SLOT-2] and its "
            "schedulerName is not gpu-packing; the mutating webhook did not see it, or another one changed it "
            f"afterwards ({line}) [pod-not-routed]"
        )


class TestOfOneThatIsAskedAgainToo:
    def test_neither_loops_when_it_changes_the_pod_every_time(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, counted_up, reinvocationPolicy="IfNeeded") as other:
            calls = product.calls_during(lambda: control_plane.create(pod("p", 2), namespace))

        assert (calls, len(other.requests)) == ((2, 1), 1)

    def test_gpus_that_it_adds_after_the_last_routing_are_denied(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        """Two rounds and no more: 1 GPU is routed, doubled, routed as 2, and doubled to 4, which are in SLOT-2 then."""
        with beside(control_plane, namespace, doubled_every_time, reinvocationPolicy="IfNeeded") as other:
            answer = control_plane.api().post(pod("p", 1), namespace=namespace)

        assert len(other.requests) == 2
        assert answer.status == 403
        assert "not every way of placing it requires my.gpu.cluster/node-group In [SLOT-4]" in answer.message

    def test_a_routing_that_it_takes_away_every_time_is_missed_in_the_end(
        self, product: Product, control_plane: ControlPlane, namespace: str
    ) -> None:
        with beside(control_plane, namespace, without_affinity_every_time, reinvocationPolicy="IfNeeded") as other:
            answer = control_plane.api().post(pod("p", 2), namespace=namespace)

        assert (answer.status, "[pod-not-routed]" in answer.message, len(other.requests)) == (403, True, 2)
