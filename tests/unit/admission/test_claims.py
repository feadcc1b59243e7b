"""Resource claims: devices of known claims count as GPUs, in every shape that the API has had."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GPU, container, gpu_type, pod, policy

from gpupolicy import admit
from gpupolicy.admission.claims import ClaimShapeError, Devices, find_claim_key, index_claims, read_requests

CLASS, OTHER = "gpu.example.com", "big.example.com"
NAME = f"deviceclass.resource.kubernetes.io/{CLASS}"
POLICY = policy(types=(gpu_type("V100", device_classes=(CLASS,)), gpu_type("A100", device_classes=(OTHER,))))


def exactly(**fields: Any) -> dict[str, Any]:
    return {"name": "r", "exactly": {"deviceClassName": CLASS, **fields}}


def claim(*requests: Any, kind: str = "ResourceClaim", name: str = "gpus", version: str = "v1") -> dict[str, Any]:
    spec: dict[str, Any] = {"devices": {"requests": list(requests)}}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def asking(*names: str, field: str = "resourceClaimName", **spec: Any) -> dict[str, Any]:
    entries = [{"name": f"c{index}", field: name} for index, name in enumerate(names)]
    return pod(None, resourceClaims=entries, **spec)


def decide(document: dict[str, Any], *known: dict[str, Any]) -> Any:
    return admit(POLICY, document, claims=index_claims(known))


@pytest.mark.parametrize(
    ("requests", "gpus"),
    [
        pytest.param([exactly()], 1, id="one-is-the-default"),
        pytest.param([exactly(count=4)], 4, id="count"),
        pytest.param([exactly(count=4, allocationMode="ExactCount")], 4, id="exact-count"),
        pytest.param([exactly(count=0)], 1, id="none-is-one"),
        pytest.param([exactly(count=2.0)], 2, id="whole-number-with-a-point"),
        pytest.param([exactly(allocationMode="All")], 8, id="all-of-a-node"),
        pytest.param([exactly(count=2), exactly(count=2)], 4, id="requests-add-up"),
        pytest.param([exactly(count=2), exactly(count=8, adminAccess=True)], 2, id="admin-access-takes-none"),
        pytest.param([{"name": "r", "deviceClassName": CLASS, "count": 2}], 2, id="v1beta1"),
        pytest.param(
            [{"name": "r", "firstAvailable": [{"deviceClassName": CLASS}, {"deviceClassName": CLASS, "count": 2}]}],
            2,
            id="the-largest-alternative",
        ),
    ],
)
def test_devices_of_a_known_class_count(requests: list[dict[str, Any]], gpus: int) -> None:
    assert decide(asking("gpus"), claim(*requests)).gpus == {NAME: gpus}


def test_three_devices_are_denied_at_the_place_of_the_claim() -> None:
    (violation,) = decide(asking("gpus"), claim(exactly(count=3))).violations

    assert (violation.rule, violation.field) == ("request-size-not-admitted", ("spec", "resourceClaims", 0))
    assert violation.message == "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8"


def test_the_devices_are_routed_to_the_types_of_their_class() -> None:
    decision = decide(asking("gpus"), claim(exactly(count=4)))

    assert (decision.placement.slot_groups, decision.placement.gpu_types) == (("SLOT-4",), ("V100",))


def test_a_template_makes_a_claim_for_each_entry() -> None:
    template = claim(exactly(count=2), kind="ResourceClaimTemplate")

    assert decide(asking("gpus", "gpus", field="resourceClaimTemplateName"), template).gpus == {NAME: 4}


def test_a_claim_that_is_named_twice_counts_once() -> None:
    assert decide(asking("gpus", "gpus"), claim(exactly(count=2))).gpus == {NAME: 2}


def test_two_claims_add_up() -> None:
    assert decide(asking("a", "b"), claim(exactly(), name="a"), claim(exactly(), name="b")).gpus == {NAME: 2}


def test_they_add_up_with_what_the_containers_ask_for() -> None:
    document = asking("gpus")
    document["spec"]["containers"] = [container(1)]

    assert decide(document, claim(exactly())).gpus == {GPU: 1, NAME: 1}


def test_they_are_held_while_init_containers_run() -> None:
    document = asking("gpus", initContainers=[container(2, name="i")])

    decision = decide(document, claim(exactly(count=2)))

    assert sum(decision.gpus.values()) == 4
    assert [warning.message for warning in decision.warnings] == [
        "with its init containers the pod needs 4 GPUs, without them 2: the scheduler holds 4 for the pod's whole life"
    ]


def test_a_claim_of_another_namespace_is_another_claim() -> None:
    decision = admit(POLICY, asking("gpus"), namespace="team-b", claims=index_claims([claim(exactly())]))

    assert [warning.rule for warning in decision.warnings] == ["device-claim-not-counted"]


@pytest.mark.parametrize("names", [("gpus",), ()], ids=["named", "without-a-name"])
def test_a_claim_that_is_not_known_is_told(names: tuple[str, ...]) -> None:
    document = asking(*names) if names else pod(None, resourceClaims=[{"name": "c0"}])

    (warning,) = admit(POLICY, document).warnings

    assert warning.message == "the devices of resource claim c0 are counted in another object; they are not judged"


def test_a_class_that_no_type_names_is_told() -> None:
    foreign = {"name": "r", "exactly": {"deviceClassName": "nic.example.com"}}

    decision = decide(asking("gpus"), claim(exactly(), foreign))

    (warning,) = decision.warnings
    assert (warning.rule, decision.gpus) == ("device-class-not-known", {NAME: 1})
    assert warning.message == (
        "devices of class nic.example.com (ResourceClaim gpus) are not counted: no GPU type names the class"
    )
    assert warning.hint == f"deviceClasses of the GPU types: {OTHER}, {CLASS}"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        pytest.param({"spec": 7}, "spec is no mapping", id="spec"),
        pytest.param({"spec": {"devices": 7}}, "devices is no mapping", id="devices"),
        pytest.param({"spec": {"devices": {"requests": 7}}}, "devices.requests is no list", id="requests"),
        pytest.param({"spec": {"devices": {"requests": [7]}}}, "a request is no mapping", id="request"),
        pytest.param(
            {"spec": {"devices": {"requests": [{"name": "r"}]}}}, "a request names no deviceClassName", id="class"
        ),
        pytest.param(
            {"spec": {"devices": {"requests": [exactly(count="2")]}}},
            "count is 2, a whole number from 1 on is expected",
            id="count-is-text",
        ),
        pytest.param(
            {"spec": {"devices": {"requests": [exactly(count=True)]}}},
            "count is True, a whole number from 1 on is expected",
            id="count-is-a-truth-value",
        ),
        pytest.param(
            {"spec": {"devices": {"requests": [exactly(count=-1)]}}},
            "count is -1, a whole number from 1 on is expected",
            id="count-is-negative",
        ),
        pytest.param(
            {"spec": {"devices": {"requests": [exactly(count=1.5)]}}},
            "count is 1.5, a whole number from 1 on is expected",
            id="count-is-a-fraction",
        ),
        pytest.param(
            {"spec": {"devices": {"requests": [exactly(count=False)]}}},
            "count is False, a whole number from 1 on is expected",
            id="count-is-no",
        ),
        pytest.param(
            {"apiVersion": "resource.k8s.io/v1alpha2", "spec": {"resourceClassName": CLASS}},
            "resourceClassName is of an API that Kubernetes no longer has",
            id="claim-of-the-first-api",
        ),
    ],
)
def test_a_claim_of_another_shape_is_told(broken: dict[str, Any], why: str) -> None:
    (warning,) = decide(asking("gpus"), claim() | broken).warnings

    assert (warning.rule, warning.message) == (
        "device-claim-not-counted",
        f"the devices of ResourceClaim gpus cannot be counted: {why}",
    )


def test_a_claim_without_requests_asks_for_nothing() -> None:
    empty = claim() | {"spec": {}}

    assert read_requests(empty) == []
    assert not decide(asking("gpus"), empty).gpus


def test_alternatives_of_two_classes_are_read_in_order() -> None:
    alternatives = [{"deviceClassName": OTHER}, {"deviceClassName": CLASS, "allocationMode": "All"}]

    assert read_requests(claim({"name": "r", "firstAvailable": alternatives})) == [
        (Devices(OTHER), Devices(CLASS, None))
    ]


def test_a_template_without_a_spec_inside_is_no_claim() -> None:
    with pytest.raises(ClaimShapeError, match=r"spec\.spec is no mapping"):
        read_requests({"kind": "ResourceClaimTemplate", "spec": {}})


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_claims_are_known_by_kind_namespace_and_name(version: str) -> None:
    assert find_claim_key(claim(version=version)) == ("ResourceClaim", "team-a", "gpus")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, id="kind"),
        pytest.param({"apiVersion": "v1", "kind": "ResourceClaim", "metadata": {"name": "a"}}, id="group"),
        pytest.param({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": 7}, id="metadata"),
        pytest.param({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {}}, id="name"),
    ],
)
def test_other_objects_are_none(other: dict[str, Any]) -> None:
    assert find_claim_key(other) is None


def test_an_update_is_compared_with_the_claims_counted_on_both_sides() -> None:
    before, after = asking("gpus"), asking("gpus")
    after["metadata"] = {**after["metadata"], "labels": {"a": "b"}}

    decision = admit(POLICY, after, operation="UPDATE", old=before, claims=index_claims([claim(exactly(count=3))]))

    assert (decision.allowed, decision.reason) == (True, "neither GPUs nor placement changed")


def test_a_class_of_several_types_is_named_once_in_the_hint() -> None:
    found = policy(types=(gpu_type("V100", device_classes=(CLASS,)), gpu_type("A100", device_classes=(CLASS,))))
    unknown = claim({"name": "r", "exactly": {"deviceClassName": "nic.example.com"}})

    (warning,) = admit(found, asking("gpus"), claims=index_claims([unknown])).warnings

    assert warning.hint == f"deviceClasses of the GPU types: {CLASS}"
