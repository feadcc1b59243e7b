"""What is fuzzed: each target takes any bytes and asserts what must hold, so an exception of any kind is a defect."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from commands import POLICY, run

from gpupolicy.compiler import Order, compile_manifests
from gpupolicy.errors import GPUPolicyError, UsageError
from gpupolicy.linting import lint_text
from gpupolicy.loading import load, load_text
from gpupolicy.patch import apply_patch
from gpupolicy.policytests.running import run_tests
from gpupolicy.webhook.reviewer import ENDPOINTS, Reviewer

BY = load(POLICY)
REVIEWER = Reviewer(current_policy=lambda: BY)
_STATUSES = (0, 1, 2)
_RESPONSE_KEYS = {"uid", "allowed", "status", "patch", "patchType", "warnings", "auditAnnotations"}


def policy(data: bytes) -> None:
    """A policy: lint finds something or nothing; what loads also compiles, or says why not."""
    findings = lint_text(data, "fuzz.yaml")
    assert all(finding.message and finding.rule for finding in findings)
    try:
        loaded = load_text(data, "fuzz.yaml")
    except GPUPolicyError:
        return
    try:
        list(compile_manifests(Order(policy=loaded), ("webhook",)))
    except UsageError:
        return


def manifest(data: bytes) -> None:
    """Manifests: every verb ends in an exit status, and what mutate writes it leaves alone the second time."""
    for verb in ("check", "explain"):
        assert run(verb, POLICY, "-", stdin=data, debug=True).status in _STATUSES
    once = run("mutate", POLICY, "-", "--templates", stdin=data, debug=True)
    assert once.status in _STATUSES
    if once.status == 0:
        assert run("mutate", POLICY, "-", "--templates", stdin=once.out, debug=True).out == once.out


def function(data: bytes) -> None:
    """A KRM function: a list comes out where one can be read, and nothing at all where none can."""
    for mode in ("validate", "mutate"):
        outcome = run("fn", POLICY, "--mode", mode, stdin=data, debug=True)
        assert outcome.status in _STATUSES
        assert (outcome.out == "") == (outcome.status == 2)


def policy_test(data: bytes) -> None:
    """A policy test: it runs, or a finding says what keeps it from running."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "t.yaml")
        file.write_bytes(data.replace(b"p.yaml", POLICY.encode()))
        report = run_tests([str(file)], load)
    assert all(finding.message for finding in report.findings)


def review(data: bytes) -> None:
    """A review: HTTP 200 with a well-formed answer, or 400; never a failure of ours."""
    for path, endpoint in ENDPOINTS.items():
        status, body = REVIEWER.answer(data, endpoint)
        assert status in (200, 400), (path, status)
        answer = json.loads(body)
        if status == 200:
            _check_response(json.loads(data)["request"], answer, endpoint.patches)
        else:
            assert (answer["kind"], answer["code"]) == ("Status", 400)


def json_object(data: bytes) -> None:
    """Any JSON value in the place of the object, the old object, and a pod's spec."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    specs = value.get("spec") if isinstance(value, dict) else value
    for subject in (value, {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": specs}):
        group, _, _ = str(subject.get("apiVersion") if isinstance(subject, dict) else "").rpartition("/")
        kind = {"group": group, "kind": (isinstance(subject, dict) and subject.get("kind")) or "Pod"}
        for operation, old in (("CREATE", None), ("UPDATE", value)):
            request = {"uid": "u", "kind": kind, "operation": operation, "object": subject, "oldObject": old}
            envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
            review(json.dumps(envelope).encode())


def _check_response(request: Mapping[str, Any], answer: Mapping[str, Any], patches: bool) -> None:
    """Asserts what the API server asks of an answer, and the laws of our patches."""
    response = answer["response"]
    assert answer["kind"] == "AdmissionReview"
    assert (response["uid"], type(response["allowed"])) == (request["uid"], bool)
    assert set(response) <= _RESPONSE_KEYS
    assert all(type(text) is str and text and text.isprintable() for text in response.get("warnings", ()))
    assert ("patch" in response) == ("patchType" in response)
    if not response["allowed"]:
        assert response["status"]["code"] in (400, 403)
        assert response["status"]["message"]
    if "patch" in response:
        assert patches
        _check_patch(request, json.loads(base64.b64decode(response["patch"], validate=True)))


def _check_patch(request: Mapping[str, Any], operations: Any) -> None:
    """Asserts that a patch applies, that a second one is not needed, and that the result is allowed at the end."""
    pod = deepcopy(request["object"])
    apply_patch(pod, operations)
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**request, "object": pod}}
    body = json.dumps(envelope).encode()
    _, again = REVIEWER.answer(body, ENDPOINTS["/mutate"])
    _, final = REVIEWER.answer(body, ENDPOINTS["/validate/final"])
    assert "patch" not in json.loads(again)["response"]
    assert json.loads(final)["response"]["allowed"]


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "policy": policy,
    "manifest": manifest,
    "function": function,
    "policy-test": policy_test,
    "review": review,
    "json-object": json_object,
}
