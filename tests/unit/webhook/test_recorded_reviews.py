"""Answers to what a real API server sends to the compiled hooks (tests/data/reviews-recorded)."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest

from gpupolicy import load
from gpupolicy.patch import apply_patch
from gpupolicy.webhook import create_app

TESTS = Path(__file__).parents[2]
RECORDED = TESTS / "data" / "reviews-recorded"
POLICY = load(TESTS.parent / "policies" / "classic.yaml")
PATHS = {"mutate": "/mutate", "validate": "/validate/final"}


def review(name: str) -> dict[str, object]:
    return json.loads((RECORDED / f"{name}.json").read_text())["request"]


def answer(name: str) -> dict[str, object]:
    """The response to a recorded review, at the path that the hook of its phase is registered with."""
    client = create_app(lambda: POLICY).test_client()
    posted = client.post(PATHS[name.split("-")[0]], data=(RECORDED / f"{name}.json").read_bytes())
    assert posted.status_code == 200
    return posted.get_json()["response"]


def mutated(name: str) -> dict[str, object]:
    """The pod of a recorded review after our patch."""
    pod = review(name)["object"]
    apply_patch(pod, json.loads(b64decode(answer(name)["patch"])))
    return pod


def terms(pod: dict[str, object]) -> list[object]:
    return pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]


def in_group(name: str) -> dict[str, object]:
    return {"key": "my.gpu.cluster/node-group", "operator": "In", "values": [name]}


def test_every_recorded_review_has_its_answer_here():
    tested = {*ROUTED, *FINAL, *DENIED, "mutate-daemon-set", "mutate-implicit-device-class"}

    assert tested == {file.stem for file in RECORDED.glob("*.json")}


ROUTED = {"mutate-bare": "SLOT-8", "mutate-sidecars": "SLOT-4", "mutate-second-round": "SLOT-4"}


@pytest.mark.parametrize(("name", "group"), ROUTED.items(), ids=ROUTED)
def test_a_pod_is_sent_to_the_group_of_its_size_and_to_no_other(name, group):
    """Also in the second round, when another webhook has made it larger."""
    pod = mutated(name)

    assert terms(pod) == [{"matchExpressions": [in_group(group)]}]
    assert pod["spec"]["schedulerName"] == "gpu-packing"
    assert pod["metadata"]["annotations"]["gpupolicy.dev/routed-to"] == group


@pytest.mark.parametrize("name", ["mutate-bare", "mutate-replica-set"])
def test_in_the_mutating_phase_a_pod_has_no_uid_and_its_requests_are_filled_in(name):
    """What the unit tests of the core take for granted."""
    pod = review(name)["object"]

    (container,) = pod["spec"]["containers"]
    assert "uid" not in pod["metadata"]
    assert container["resources"]["requests"]["nvidia.com/gpu"] == container["resources"]["limits"]["nvidia.com/gpu"]


FINAL = ("validate-bare", "validate-replica-set")


@pytest.mark.parametrize("name", FINAL)
def test_a_pod_in_its_final_form_passes(name):
    assert answer(name)["allowed"] is True


DENIED = {
    "mutate-replica-set": ("pod train-* in namespace research: the pod asks for 3 GPUs", "request-size-not-admitted"),
    "mutate-limit-missing": ("nvidia.com/gpu is requested without a limit", "gpu-limit-missing"),
    "validate-grown-without-routing": ("pod late in namespace research: the pod is not routed", "pod-not-routed"),
    "validate-narrowed": ("the pod wants my.gpu.cluster/node-group In [SLOT-8]", "placement-contradiction"),
}


@pytest.mark.parametrize(("name", "message", "rule"), [(name, *told) for name, told in DENIED.items()], ids=DENIED)
def test_a_pod_that_breaks_a_rule_is_denied_with_the_reason(name, message, rule):
    response = answer(name)

    assert response["allowed"] is False
    assert response["status"]["code"] == 403
    assert message in response["status"]["message"]
    assert response["auditAnnotations"]["rules"] == rule


def test_a_daemon_sets_pod_is_exempt_and_left_as_it_is():
    response = answer("mutate-daemon-set")

    assert response["auditAnnotations"]["exemption"] == "one pod a node by design"
    assert "patch" not in response


def test_devices_that_are_only_requested_by_an_implicit_name_are_warned_about():
    (warning,) = answer("mutate-implicit-device-class")["warnings"]

    assert warning.endswith("[device-class-not-known]")
