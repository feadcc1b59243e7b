"""Reading the envelope: what is taken, and what each wrong one is told."""

from __future__ import annotations

import json

import pytest

from gpupolicy.errors import ReviewError
from gpupolicy.webhook.review import read_review

REQUEST = {
    "uid": "u-1",
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "namespace": "team-a",
    "operation": "CREATE",
    "userInfo": {"username": "dev-1"},
    "object": {"metadata": {}},
}


def envelope(version: str = "v1", **fields: object) -> bytes:
    """A review whose request has the given fields in place of the usual ones."""
    request = {**REQUEST, **fields}
    review = {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


def test_a_review_is_read_whole():
    review = read_review(envelope(name="job-a", subResource="resize", oldObject={"spec": {}}, dryRun=True))

    assert (review.uid, review.name, review.namespace) == ("u-1", "job-a", "team-a")
    assert (review.operation, review.subresource, review.dry_run) == ("CREATE", "resize", True)
    assert (review.username, review.new, review.old) == ("dev-1", {"metadata": {}}, {"spec": {}})


@pytest.mark.parametrize("field", ["name", "namespace", "subResource", "userInfo", "object", "oldObject", "dryRun"])
def test_what_the_api_server_leaves_out_or_sets_to_null_is_no_fault(field):
    assert read_review(envelope(**{field: None})).uid == "u-1"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_both_versions_of_the_api_are_read(version):
    assert read_review(envelope(version)).api_version == f"admission.k8s.io/{version}"


@pytest.mark.parametrize(
    ("kind", "is_pod"),
    [
        pytest.param({"group": "", "version": "v1", "kind": "Pod"}, True, id="pod"),
        pytest.param({"version": "v1", "kind": "Pod"}, True, id="pod-without-group"),
        pytest.param({"group": "", "version": "v1", "kind": "Binding"}, False, id="binding"),
        pytest.param({"group": "policy", "version": "v1", "kind": "Eviction"}, False, id="eviction"),
        pytest.param({"group": "example.com", "version": "v1", "kind": "Pod"}, False, id="pod-of-another-group"),
    ],
)
def test_only_a_pod_of_the_core_group_is_a_pod(kind, is_pod):
    assert read_review(envelope(kind=kind)).is_pod is is_pod


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "the body is no JSON: Expecting value: line 1 column 1 (char 0)", id="empty"),
        pytest.param(b"[]", "the body is a list, a mapping is expected", id="list"),
        pytest.param(b'"text"', 'the body is "text", a mapping is expected', id="string"),
        pytest.param(b"{}", "kind is missing, AdmissionReview is expected", id="no-kind"),
        pytest.param(b'{"kind": "Pod"}', 'kind is "Pod", AdmissionReview is expected', id="other-kind"),
        pytest.param(
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v2"}',
            'apiVersion is "admission.k8s.io/v2", admission.k8s.io/v1 is expected',
            id="unknown-version",
        ),
        pytest.param(
            b'{"kind": "AdmissionReview", "apiVersion": ["admission.k8s.io/v1"]}',
            "apiVersion is a list, admission.k8s.io/v1 is expected",
            id="version-a-list",
        ),
        pytest.param(
            b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}',
            "request is missing, a mapping is expected",
            id="no-request",
        ),
        pytest.param(envelope(uid=None), "request.uid is missing, a string is expected", id="no-uid"),
        pytest.param(envelope(uid=""), "request.uid is missing, a string is expected", id="uid-empty"),
        pytest.param(envelope(uid=7), "request.uid is 7, a string is expected", id="uid-a-number"),
        pytest.param(envelope(kind="Pod"), 'request.kind is "Pod", a mapping is expected', id="kind-a-string"),
        pytest.param(envelope(kind={"group": ""}), "request.kind.kind is missing, a string is expected", id="kindless"),
        pytest.param(
            envelope(operation=[]), "request.operation is a list, a string is expected", id="operation-a-list"
        ),
        pytest.param(envelope(namespace={}), "request.namespace is a mapping, a string is expected", id="namespace"),
        pytest.param(envelope(object="pod"), 'request.object is "pod", a mapping is expected', id="object-a-string"),
        pytest.param(envelope(oldObject=[1]), "request.oldObject is a list, a mapping is expected", id="old-a-list"),
        pytest.param(envelope(dryRun="no"), 'request.dryRun is "no", true or false is expected', id="dry-run"),
        pytest.param(
            envelope(userInfo={"username": 1}), "request.userInfo.username is 1, a string is expected", id="username"
        ),
    ],
)
def test_a_wrong_envelope_is_named(body, message):
    with pytest.raises(ReviewError) as caught:
        read_review(body)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 100_000, id="deeply-nested"),
        pytest.param(b"\xff\xfe", id="no-utf-8"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", id="number-without-end"),
        pytest.param(envelope()[:-1], id="cut-off"),
        pytest.param(envelope() + b"x", id="something-after-it"),
    ],
)
def test_what_is_no_json_is_said_to_be_none(body):
    with pytest.raises(ReviewError, match=r"^the body is no JSON: "):
        read_review(body)


def test_a_long_value_is_shortened_in_the_message():
    with pytest.raises(ReviewError) as caught:
        read_review(json.dumps({"kind": "k" * 100}).encode())

    assert str(caught.value) == f'kind is "{"k" * 39}... (102 characters), AdmissionReview is expected'
