"""The server under test: the webhook as it is deployed, and beside it a Flask view that parses and allows.

Prints its port when it is ready. ``GET /cpu`` tells the CPU seconds of the process.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from flask import Flask, Response, jsonify, request

from gpupolicy.admission import Decision
from gpupolicy.loading import load
from gpupolicy.model import Policy
from gpupolicy.webhook.app import build_app
from gpupolicy.webhook.bridge import Bridge
from gpupolicy.webhook.journal import Journal
from gpupolicy.webhook.metrics import Metrics
from gpupolicy.webhook.protocol import listen
from gpupolicy.webhook.reload import CertificateSource
from gpupolicy.webhook.review import Review
from gpupolicy.webhook.reviewer import ENDPOINTS, Reviewer
from gpupolicy.webhook.server import bind
from gpupolicy.webhook.shortcut import Shortcut


def add_baselines(app: Flask, reviewer: Reviewer) -> None:
    """Adds the views to compare with.

    They are: one as Flask's documentation has it, the least that can be written, and ours by way of Flask alone.
    """

    @app.post("/allow")
    def allow() -> Response:
        review = request.get_json()
        response = {"uid": review["request"]["uid"], "allowed": True}
        return jsonify(apiVersion=review["apiVersion"], kind="AdmissionReview", response=response)

    @app.post("/allow-bare")
    def allow_bare() -> Response:
        review = json.loads(request.get_data())
        response = {"uid": review["request"]["uid"], "allowed": True}
        answer = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        return Response(json.dumps(answer), content_type="application/json")

    @app.post("/mutate-by-flask")
    def mutate() -> Response:
        code, body = reviewer.answer(request.get_data(), ENDPOINTS["/mutate"])
        return Response(body, code, content_type="application/json")

    @app.get("/cpu")
    def cpu() -> str:
        return str(time.process_time())


async def main(policy_file: Path, certificate: Path, key: Path) -> None:
    """Serves until it is killed."""
    policy = load(policy_file)
    metrics = Metrics()
    journal = Journal(lambda _line: None, as_json=True, count=metrics.count_line)

    def record(review: Review, decision: Decision, judged: Policy, _response: object) -> None:
        """Counts and tells as the deployed server does."""
        metrics.count_decision(review, decision, judged)
        if not decision.allowed:
            journal.deny(review, decision, judged, "denied")

    reviewer = Reviewer(current_policy=lambda: policy, observe=metrics.count_review, record=record)
    app = build_app(reviewer)
    add_baselines(app, reviewer)
    certificates = CertificateSource(certificate, key, lambda _taken, _line: None, metrics.set_expiry)
    bridge = Bridge(Shortcut(reviewer, app), on_failure=metrics.count_failure, on_answer=metrics.count_duration)
    listener = await listen(bridge, bind("127.0.0.1", 0), tls=certificates.context)
    print(listener.address[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*map(Path, sys.argv[1:4])))
