"""Writes answers: a decision as the response of an AdmissionReview, and a failure as a Kubernetes Status."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from textwrap import shorten

from gpupolicy.admission import Decision, Placement
from gpupolicy.errors import Finding, shown
from gpupolicy.model import Policy

from .review import Review

Response = dict[str, object]

# What the API server lets through: beyond 4,096 in total it cuts every warning to 256, and one with a line break or
# another control character is dropped (measured on 1.37.2).
WARNING_CHARACTERS = 256
WARNINGS_BYTES = 4096
MESSAGE_CHARACTERS = 3000
_ANNOTATION_CHARACTERS = 8000
_NAME_CHARACTERS = 253  # no name may be longer, but mutating webhooks come before who says so
# Kubernetes' words (apimachinery pkg/apis/meta/v1/types.go); Python's phrases change from release to release.
_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    500: "InternalError",
    503: "ServiceUnavailable",
}
# json.dumps with separators makes an encoder at each call.
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def to_response(review: Review, decision: Decision, policy: Policy, *, patches: bool) -> Response:
    """Returns the ``response`` for a decided pod.

    Args:
        review: what was asked.
        decision: what ``admit`` said.
        policy: the policy it was judged by.
        patches: whether the asking webhook mutates; the API server refuses a patch from one that validates.
    """
    response: Response = {"uid": review.uid, "allowed": decision.allowed}
    if not decision.allowed:
        response["status"] = _to_denial(review, decision, policy)
    elif patches and decision.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(_encode(decision.patch).encode()).decode("ascii")
    if decision.warnings:
        response["warnings"] = _to_warnings(decision, policy)
    response["auditAnnotations"] = _to_annotations(decision, policy)
    return response


def to_pass(review: Review) -> Response:
    """Returns the ``response`` for what is not ours to judge: allowed, nothing changed."""
    return {"uid": review.uid, "allowed": True}


def to_review(review: Review, response: Response) -> bytes:
    """Returns the body of the answer: an AdmissionReview of the version that was asked."""
    answer = {"apiVersion": review.api_version, "kind": "AdmissionReview", "response": response}
    return _encode(answer).encode()


def to_status(code: int, message: str) -> bytes:
    """Returns the body of a failure (HTTP ``code``) as the Kubernetes API writes one."""
    status = {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(code, "Unknown"),
        "code": code,
    }
    return _encode(status).encode()


def _to_denial(review: Review, decision: Decision, policy: Policy) -> Mapping[str, object]:
    """Without a code the API server would answer 400; the reason is what kubectl shows in brackets.

    A pod that cannot be read is denied too, not answered by HTTP 400: failurePolicy Ignore would let it in.
    """
    unreadable = any(violation.rule == "pod-not-readable" for violation in decision.violations)
    code = HTTPStatus.BAD_REQUEST if unreadable else HTTPStatus.FORBIDDEN
    message = f"{_subject(review)}: {_tell(decision.violations, decision, policy)}"
    return {
        "code": int(code),
        "reason": _REASONS[code],
        "message": _one_line(message, MESSAGE_CHARACTERS),
    }


def _subject(review: Review) -> str:
    """Names the object. What a controller makes has no name yet, and its namespace stands in the request alone."""
    metadata = review.new.get("metadata") if review.new else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    prefix = metadata.get("generateName")
    name = review.name or metadata.get("name") or (f"{prefix}*" if prefix else "without a name")
    kind = "pod" if review.is_pod else review.kind
    subject = f"{kind} {shown(str(name), _NAME_CHARACTERS)}"
    return f"{subject} in namespace {review.namespace}" if review.namespace else subject


def _tell(findings: Iterable[Finding], decision: Decision, policy: Policy) -> str:
    """Says each thing once, however many containers have it."""
    return "; ".join(dict.fromkeys(_told(finding, decision, policy) for finding in findings))


def _told(finding: Finding, decision: Decision, policy: Policy) -> str:
    """Says what is there, by which line of the policy, what to write instead, and the rule: as ``check`` does."""
    cause = decision.causes.get(finding.rule)
    cited = f" ({policy.cite(*cause)})" if cause else ""
    hint = f"; {finding.hint}" if finding.hint else ""
    return f"{finding.message}{cited}{hint} [{finding.rule}]"


def _to_warnings(decision: Decision, policy: Policy) -> list[str]:
    """The rule id stays when the text is cut: it is the key to the full text, which the audit log has."""
    warnings: list[str] = []
    room = WARNINGS_BYTES
    for finding in decision.warnings:
        rule = f" [{finding.rule}]"
        told = _told(finding, decision, policy).removesuffix(rule)
        text = _one_line(told, WARNING_CHARACTERS - len(rule)) + rule
        if text in warnings:
            continue
        room -= len(text.encode())
        if room < 0:
            break
        warnings.append(text)
    return warnings


def _one_line(text: str, width: int) -> str:
    if len(text) <= width and text.isprintable() and "  " not in text:
        return text.strip()
    plain = "".join(character if character.isprintable() else " " for character in text)
    cut = shorten(plain, width, placeholder=" ...")
    return cut if len(cut) > len(" ...") else f"{plain.strip()[: width - 4]} ..."


def _to_annotations(decision: Decision, policy: Policy) -> Mapping[str, str]:
    """The API server writes these into the audit log as ``<webhook>/<key>``."""
    annotations = {"policy": version_of(policy)}
    told = (*decision.warnings, *decision.audited)
    if broken := {finding.rule for finding in (*decision.violations, *told)}:
        annotations["rules"] = ",".join(sorted(broken))
    if decision.placement:
        annotations["placement"] = _placed(decision.placement)
    if decision.exemption:
        annotations["exemption"] = decision.exemption.reason
    if told:
        annotations["findings"] = _tell(told, decision, policy)[:_ANNOTATION_CHARACTERS]
    return annotations


def _placed(placement: Placement) -> str:
    types, groups = ",".join(placement.gpu_types), ",".join(placement.slot_groups)
    name = placement.scheduler_name
    scheduler = f" schedulerName={shown(name, _NAME_CHARACTERS)}" if name else ""
    return f"gpuTypes={types} slotGroups={groups}{scheduler}"


def version_of(policy: Policy) -> str:
    """Returns the policy's name and a fingerprint of its text: which version answered."""
    return f"{policy.name}@{fingerprint(policy.origin.text)}"


@lru_cache(maxsize=8)
def fingerprint(text: str) -> str:
    """Tells versions of one policy apart; the same text has the same one in every replica."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
