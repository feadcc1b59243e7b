"""The Flask application that answers AdmissionReviews. A view reads the review, asks ``admit`` and answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from flask import Flask, request
from flask import Response as HTTPResponse
from werkzeug.exceptions import HTTPException

from gpupolicy.admission import Decision, admit
from gpupolicy.errors import ReviewError
from gpupolicy.model import Policy

from .answer import Response, to_pass, to_response, to_review, to_status
from .review import BODY_LIMIT, Review, read_review

_log = logging.getLogger("gpupolicy.webhook")


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _no_labels(_namespace: str) -> Mapping[str, str]:
    return {}


def _ignore(_review: Review, _verdict: str) -> None:
    return None


def create_app(
    current_policy: Callable[[], Policy],
    *,
    now: Callable[[], datetime] = _utc_now,
    namespace_labels: Callable[[str], Mapping[str, str]] = _no_labels,
    observe: Callable[[Review, str], None] = _ignore,
) -> Flask:
    """Makes the application with ``POST /mutate``, ``/validate`` and ``/validate/final``.

    Args:
        current_policy: asked once a request, so that a reload needs no restart.
        now: the present time with a time zone; exemptions may expire.
        namespace_labels: labels of a namespace by its name. A review does not carry them; without access to the
            cluster they are unknown, and only selectors on ``kubernetes.io/metadata.name`` can match.
        observe: told each review and its verdict (allow, warn, deny, skip), for metrics.

    Returns:
        A WSGI application. ``/validate/final`` is for the validating registration: it also denies a pod that asks for
        GPUs and was not routed.
    """
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_LIMIT

    def answer(*, patches: bool, final: bool) -> HTTPResponse:
        review = read_review(request.get_data(cache=False))
        response, verdict = _judge(review, current_policy(), now(), namespace_labels, patches=patches, final=final)
        observe(review, verdict)
        return _json(200, to_review(review, response))

    @app.post("/mutate", provide_automatic_options=False)
    def mutate() -> HTTPResponse:
        return answer(patches=True, final=False)

    @app.post("/validate", provide_automatic_options=False)
    def validate() -> HTTPResponse:
        return answer(patches=False, final=False)

    @app.post("/validate/final", provide_automatic_options=False)
    def validate_final() -> HTTPResponse:
        return answer(patches=False, final=True)

    app.register_error_handler(ReviewError, _on_review_error)
    app.register_error_handler(HTTPException, _on_http_error)
    app.register_error_handler(Exception, _on_defect)
    return app


def _judge(
    review: Review,
    policy: Policy,
    now: datetime,
    namespace_labels: Callable[[str], Mapping[str, str]],
    *,
    patches: bool,
    final: bool,
) -> tuple[Response, str]:
    """Returns the response and its verdict. Only pods are judged: the rest must never be held up."""
    if not review.is_pod or review.new is None:
        return to_pass(review), "skip"
    decision = admit(
        policy,
        review.new,
        operation=review.operation,
        old=review.old,
        namespace=review.namespace,
        namespace_labels=namespace_labels(review.namespace) if review.namespace else {},
        now=now,
        subresource=review.subresource,
        username=review.username,
        final=final,
    )
    return to_response(review, decision, policy, patches=patches), _verdict(decision)


def _verdict(decision: Decision) -> str:
    if not decision.allowed:
        return "deny"
    if not decision.judged:
        return "skip"
    return "warn" if decision.warnings else "allow"


def _json(code: int, body: bytes, headers: Mapping[str, str] | None = None) -> HTTPResponse:
    return HTTPResponse(body, code, headers, content_type="application/json")


def _on_review_error(error: ReviewError) -> HTTPResponse:
    return _json(400, to_status(400, str(error)))


def _on_http_error(error: HTTPException) -> HTTPResponse:
    code = error.code or 500
    kept = {name: value for name, value in error.get_headers() if name.lower() == "allow"}
    return _json(code, to_status(code, error.name.lower()), kept)


def _on_defect(error: Exception) -> HTTPResponse:
    """A fault of ours: failurePolicy decides, and the operator finds the trace in the log."""
    _log.error("a review could not be answered", exc_info=error)
    return _json(500, to_status(500, "a review could not be answered; the log of the webhook says why"))
