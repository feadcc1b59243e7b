"""The short way for reviews says exactly what Flask says, and takes nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from builders import pod, policy
from werkzeug.test import Client, TestResponse

from gpupolicy.webhook.app import build_app
from gpupolicy.webhook.reviewer import ENDPOINTS, Reviewer
from gpupolicy.webhook.shortcut import Shortcut

REVIEWS = sorted((Path(__file__).parents[2] / "data" / "reviews").glob("*.json"))
REVIEWER = Reviewer(current_policy=policy)
BY_FLASK = Client(build_app(REVIEWER))
SHORT = Client(Shortcut(REVIEWER, build_app(REVIEWER)))


def said(answer: TestResponse) -> tuple[int, dict[str, str], bytes]:
    return answer.status_code, dict(answer.headers), answer.data


def review(subject: object) -> bytes:
    request = {"uid": "u-1", "kind": {"kind": "Pod"}, "operation": "CREATE", "namespace": "team-a", "object": subject}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("file", REVIEWS, ids=lambda file: file.stem)
def test_a_captured_review_gets_the_same_answer_both_ways(file, path):
    body = file.read_bytes()

    assert said(SHORT.post(f"{path}?timeout=3s", data=body)) == said(BY_FLASK.post(f"{path}?timeout=3s", data=body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="no-json"),
        pytest.param(b"{}", id="no-review"),
        pytest.param(review(pod("3")), id="denied"),
        pytest.param(review({"spec": {"containers": "train"}}), id="wrong-shape"),
        pytest.param(review("pod"), id="object-a-string"),
        pytest.param(review({"metadata": {"name": "größe"}, "spec": pod("3")["spec"]}), id="other-letters"),
    ],
)
def test_anything_else_that_is_posted_gets_the_same_answer_both_ways(body):
    assert said(SHORT.post("/mutate", data=body)) == said(BY_FLASK.post("/mutate", data=body))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/mutate", id="other-method"),
        pytest.param("OPTIONS", "/validate", id="options"),
        pytest.param("POST", "/mutate/", id="other-path"),
        pytest.param("POST", "/", id="root"),
    ],
)
def test_what_is_no_review_is_left_to_flask(method, path):
    assert said(SHORT.open(path, method=method)) == said(BY_FLASK.open(path, method=method))


def test_a_defect_gets_the_same_answer_both_ways():
    def broken() -> object:
        raise RuntimeError("defect")

    reviewer = Reviewer(current_policy=broken)
    short, by_flask = Client(Shortcut(reviewer, build_app(reviewer))), Client(build_app(reviewer))

    assert said(short.post("/mutate", data=review(pod("1")))) == said(by_flask.post("/mutate", data=review(pod("1"))))
