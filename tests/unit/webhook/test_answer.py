"""What stands in an answer: messages, warnings within the API server's limits, annotations for the audit log."""

from __future__ import annotations

import json

import pytest
from builders import policy

from gpupolicy.admission import Decision, Placement
from gpupolicy.errors import Finding, Severity
from gpupolicy.model import Exemption
from gpupolicy.webhook.answer import to_response, to_status
from gpupolicy.webhook.review import Review

POLICY = policy()


def finding(message: str, rule: str = "some-rule", hint: str | None = None) -> Finding:
    return Finding(rule=rule, severity=Severity.WARNING, field=("spec",), message=message, hint=hint)


def respond(decision: Decision, *, patches: bool = False, **fields: object) -> dict:
    """The response for a decision on pod job-a in team-a."""
    usual = {
        "api_version": "admission.k8s.io/v1",
        "uid": "u-1",
        "operation": "CREATE",
        "group": "",
        "kind": "Pod",
        "subresource": "",
        "name": "job-a",
        "namespace": "team-a",
        "username": None,
        "dry_run": False,
        "new": {},
        "old": None,
    }
    return to_response(Review(**{**usual, **fields}), decision, POLICY, patches=patches)


def allowed(*warnings: Finding, **fields: object) -> Decision:
    return Decision(allowed=True, judged=True, reason="fine", warnings=warnings, **fields)


def denied(*violations: Finding, **fields: object) -> Decision:
    return Decision(allowed=False, judged=True, reason="", violations=violations, **fields)


def test_a_denial_tells_every_violation_its_line_of_the_policy_and_its_hint():
    causes = {"r2": ("spec", "admission")}
    decision = denied(finding("a", "r1", "do x"), finding("b", "r2"), causes=causes)

    assert respond(decision)["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": "pod job-a in namespace team-a: a; do x [r1]; b (policy) [r2]",
    }


@pytest.mark.parametrize(
    ("fields", "subject"),
    [
        pytest.param({"name": "", "new": {"metadata": {"name": "b"}}}, "pod b in namespace team-a", id="from-the-pod"),
        pytest.param(
            {"name": "", "new": {"metadata": {"generateName": "c-"}}}, "pod c-* in namespace team-a", id="prefix"
        ),
        pytest.param({"name": "", "new": {}}, "pod without a name in namespace team-a", id="nameless"),
        pytest.param({"name": "", "new": {"metadata": 7}}, "pod without a name in namespace team-a", id="wrong-shape"),
        pytest.param({"namespace": None}, "pod job-a", id="no-namespace"),
    ],
)
def test_a_denial_names_the_pod_as_well_as_it_can(fields, subject):
    assert respond(denied(finding("no", "r")), **fields)["status"]["message"] == f"{subject}: no [r]"


def test_a_very_long_denial_is_cut_at_a_word():
    message = respond(denied(finding("word " * 2000)))["status"]["message"]

    assert message.endswith(" word ...")
    assert 2990 < len(message) <= 3000


def test_a_denied_pod_gets_no_patch():
    decision = Decision(allowed=False, judged=True, reason="no", patch=({"op": "add", "path": "/a", "value": 1},))

    assert "patch" not in respond(decision, patches=True)


def test_an_empty_patch_is_left_out():
    """A patch without patchType, or the other way round, makes the whole answer unreadable for the API server."""
    assert not {"patch", "patchType"} & set(respond(allowed(), patches=True))


def test_a_warning_names_its_hint_and_its_rule():
    assert respond(allowed(finding("odd", hint="do this")))["warnings"] == ["odd; do this [some-rule]"]


def test_a_long_warning_is_cut_at_a_word_and_keeps_its_rule():
    (warning,) = respond(allowed(finding("word " * 100)))["warnings"]

    assert warning.endswith(" word ... [some-rule]")
    assert 245 < len(warning) <= 256


def test_a_long_warning_without_a_space_is_cut_all_the_same():
    (warning,) = respond(allowed(finding("x" * 400)))["warnings"]

    assert warning == "x" * 240 + " ... [some-rule]"


@pytest.mark.parametrize(
    ("message", "warning"),
    [
        pytest.param("one\ntwo", "one two [some-rule]", id="line-break"),
        pytest.param("one\r\n\ttwo", "one two [some-rule]", id="other-white-space"),
        pytest.param("one\x00two", "one two [some-rule]", id="control-character"),
        pytest.param("größe ⚠", "größe ⚠ [some-rule]", id="other-letters-stay"),
    ],
)
def test_a_warning_is_one_line(message, warning):
    """The API server drops a warning with a line break without a word."""
    assert respond(allowed(finding(message)))["warnings"] == [warning]


def test_warnings_stay_within_the_total_that_the_api_server_takes():
    many = [finding(f"{index:03} " + "ä" * 230) for index in range(30)]

    warnings = respond(allowed(*many))["warnings"]

    assert len(warnings) == 8
    assert sum(len(warning.encode()) for warning in warnings) <= 4096


def test_the_same_warning_is_given_once():
    assert respond(allowed(finding("odd"), finding("odd")))["warnings"] == ["odd [some-rule]"]


def test_the_same_warning_many_times_leaves_room_for_another():
    """Each of forty containers asks for what is not counted, and nobody serves the schedulerName."""
    warnings = respond(allowed(*[finding("odd " * 40)] * 40, finding("last")))["warnings"]

    assert [warning[:4] for warning in warnings] == ["odd ", "last"]


def test_what_two_containers_have_wrong_is_told_once():
    response = respond(denied(finding("no", "r"), finding("no", "r"), finding("other", "r")))

    assert response["status"]["message"] == "pod job-a in namespace team-a: no [r]; other [r]"


def test_the_audit_log_tells_the_same_warning_once():
    assert respond(allowed(finding("odd"), finding("odd")))["auditAnnotations"]["findings"] == "odd [some-rule]"


def test_a_name_that_is_longer_than_any_leaves_the_reason_to_be_read():
    """The API server checks names after the mutating webhooks."""
    message = respond(denied(finding("no", "r")), name="", new={"metadata": {"generateName": "n" * 4000}})["status"][
        "message"
    ]

    assert message == f"pod {'n' * 253}... (4001 characters) in namespace team-a: no [r]"


def test_the_audit_log_gets_the_full_text_of_every_warning():
    annotations = respond(allowed(finding("word " * 100), finding("two", "other-rule")))["auditAnnotations"]

    assert annotations["findings"] == "word " * 100 + " [some-rule]; two [other-rule]"


def test_the_audit_log_says_which_policy_which_rules_and_where_to():
    placement = Placement(gpu_types=("V100", "A100"), slot_groups=("SLOT-4",), scheduler_name="gpu-binpack")
    decision = allowed(finding("odd", "b"), finding("odd", "a"), placement=placement)

    annotations = respond(decision)["auditAnnotations"]

    assert annotations == {
        "policy": "test@e3b0c44298fc",
        "rules": "a,b",
        "placement": "gpuTypes=V100,A100 slotGroups=SLOT-4 schedulerName=gpu-binpack",
        "findings": "odd [b]; odd [a]",
    }


def test_the_audit_log_is_not_filled_by_a_scheduler_s_name():
    """The API server takes any text there, of a megabyte too."""
    placement = Placement(gpu_types=("V100",), slot_groups=("SLOT-4",), scheduler_name="s" * 1_000_000)

    assert len(respond(allowed(placement=placement))["auditAnnotations"]["placement"]) < 400


def test_the_audit_log_says_which_exemption_was_used():
    decision = Decision(allowed=True, judged=False, reason="exempt", exemption=Exemption(reason="device plugins"))

    assert respond(decision)["auditAnnotations"]["exemption"] == "device plugins"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        pytest.param(400, "BadRequest", id="400"),
        pytest.param(413, "RequestEntityTooLarge", id="413"),
        pytest.param(503, "ServiceUnavailable", id="503"),
        pytest.param(500, "InternalError", id="500"),
        pytest.param(418, "Unknown", id="one-that-kubernetes-has-not"),
    ],
)
def test_a_failure_is_a_status_as_the_kubernetes_api_has_it(code, reason):
    assert json.loads(to_status(code, "why")) == {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": "why",
        "reason": reason,
        "code": code,
    }
