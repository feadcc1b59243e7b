"""The Flask application: reviews go to the reviewer, everything else is refused in JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from gpupolicy.model import Policy

from .answer import to_status
from .review import BODY_LIMIT, Review
from .reviewer import ENDPOINTS, Endpoint, Reviewer


def create_app(
    current_policy: Callable[[], Policy],
    *,
    now: Callable[[], datetime] | None = None,
    namespace_labels: Callable[[str], Mapping[str, str]] | None = None,
    observe: Callable[[Review, str], None] | None = None,
) -> Flask:
    """Makes the application with ``POST /mutate``, ``/validate`` and ``/validate/final``.

    Args:
        current_policy: asked once a request, so that a reload needs no restart.
        now: the present time with a time zone, because exemptions may expire; default the clock.
        namespace_labels: labels of a namespace by its name, which no review carries. Default: none has any, so that
            only selectors on ``kubernetes.io/metadata.name`` can match. Where it raises LabelsNotKnownError, or what
            it returns does when looked into, the answer is HTTP 503.
        observe: told each review and its verdict (allow, warn, deny, skip), for metrics.

    Returns:
        A WSGI application. ``/validate/final`` is for the validating registration: it also denies a pod that asks for
        GPUs and was not routed.
    """
    given = {"now": now, "namespace_labels": namespace_labels, "observe": observe}
    chosen = {name: value for name, value in given.items() if value is not None}
    return build_app(Reviewer(current_policy=current_policy, **chosen))  # type: ignore[arg-type]  # by name


def build_app(reviewer: Reviewer) -> Flask:
    """Makes the application around a reviewer."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_LIMIT
    app.register_error_handler(HTTPException, _on_http_error)
    for path, endpoint in ENDPOINTS.items():
        app.add_url_rule(path, path, _view(reviewer, endpoint), methods=["POST"], provide_automatic_options=False)
    return app


def _view(reviewer: Reviewer, endpoint: Endpoint) -> Callable[[], Response]:
    def view() -> Response:
        code, body = reviewer.answer(request.get_data(cache=False), endpoint)
        return Response(body, code, content_type="application/json")

    return view


def _on_http_error(error: HTTPException) -> Response:
    code = error.code or 500
    kept = {name: value for name, value in error.get_headers() if name.lower() == "allow"}
    return Response(to_status(code, error.name.lower()), code, kept, content_type="application/json")
