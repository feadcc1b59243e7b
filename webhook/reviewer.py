"""Answers one review: reads it, asks ``decide``, writes the answer. Knows no Flask and no server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from gpupolicy.admission import Decision, decide
from gpupolicy.admission.workload import Surroundings, admit_workload
from gpupolicy.errors import ReviewError
from gpupolicy.model import Policy
from gpupolicy.workloads import group_of

from .answer import Response, to_pass, to_response, to_review, to_status
from .namespaces import LabelsNotKnownError
from .review import Review, read_review

_log = logging.getLogger("gpupolicy.webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What a path does: ``patches`` for a mutating webhook, ``final`` where the pod is in its last form.

    ``workloads``: objects that make pods are judged as well.
    """

    patches: bool = False
    final: bool = False
    workloads: bool = False


ENDPOINTS: Mapping[str, Endpoint] = {
    "/mutate": Endpoint(patches=True),
    "/validate": Endpoint(workloads=True),
    "/validate/final": Endpoint(final=True),
    "/validate/workloads": Endpoint(workloads=True),
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _no_labels(_namespace: str) -> Mapping[str, str]:
    return {}


def _ignore(_review: Review, _verdict: str) -> None:
    return None


def _forget(_review: Review, _decision: Decision, _policy: Policy, _response: Response) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """Judges reviews by the policy in force. The fields are explained at ``create_app``.

    ``record`` is told each decision, by which policy, and the answer: for metrics and the log. It must not raise.
    """

    current_policy: Callable[[], Policy]
    now: Callable[[], datetime] = _utc_now
    namespace_labels: Callable[[str], Mapping[str, str]] = _no_labels
    observe: Callable[[Review, str], None] = _ignore
    record: Callable[[Review, Decision, Policy, Response], None] = _forget

    def answer(self, body: bytes, endpoint: Endpoint) -> tuple[int, bytes]:
        """Answers the body of a request.

        Args:
            body: JSON text of an AdmissionReview.
            endpoint: which path was asked.

        Returns:
            HTTP status and JSON text. What is no review is 400, a defect of ours 500: then failurePolicy decides. 503
            where the decision depends on labels that are not known yet: the API server may ask again.
        """
        try:
            review = read_review(body)
            is_ours = review.is_pod or (endpoint.workloads and _holds_what_it_says(review))
            if not is_ours or review.new is None:  # what is not ours must never be held up
                self.observe(review, "skip")
                return 200, to_review(review, to_pass(review))
            policy = self.current_policy()
            if review.is_pod:
                decision = self._admit(policy, review, review.new, final=endpoint.final)
            else:
                decision = self._admit_workload(policy, review, review.new)
            self.observe(review, _verdict(decision))
            response = to_response(review, decision, policy, patches=endpoint.patches)
            self.record(review, decision, policy, response)
            return 200, to_review(review, response)
        except ReviewError as error:
            return 400, to_status(400, str(error))
        except LabelsNotKnownError as error:
            return 503, to_status(503, str(error))
        except Exception:  # the request handler: the trace is for the operator's log
            _log.exception("a review could not be answered")
            return 500, to_status(500, "a review could not be answered; the log of the webhook says why")

    def _admit(self, policy: Policy, review: Review, pod: Mapping[str, object], *, final: bool) -> Decision:
        return decide(
            policy,
            pod,
            operation=review.operation,
            old=review.old,
            namespace=review.namespace,
            namespace_labels=self._labels(policy, review.namespace),
            now=self.now(),
            subresource=review.subresource,
            username=review.username,
            final=final,
        )

    def _labels(self, policy: Policy, namespace: str | None) -> Mapping[str, str]:
        return self.namespace_labels(namespace) if namespace and policy.uses_namespace_labels else {}

    def _admit_workload(self, policy: Policy, review: Review, workload: Mapping[str, object]) -> Decision:
        return admit_workload(
            policy,
            workload,
            operation=review.operation,
            old=review.old,
            subresource=review.subresource,
            surroundings=Surroundings(
                namespace=review.namespace,
                namespace_labels=self._labels(policy, review.namespace),
                now=self.now(),
                username=review.username,
            ),
        )


def _holds_what_it_says(review: Review) -> bool:
    """Returns whether the object is of the kind that the review names, which is how the API server sends it."""
    new = review.new or {}
    return (group_of(new.get("apiVersion")), new.get("kind")) == (review.group, review.kind)


def _verdict(decision: Decision) -> str:
    if not decision.allowed:
        return "deny"
    if not decision.judged:
        return "skip"
    return "warn" if decision.warnings else "allow"
