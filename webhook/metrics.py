"""What the webhook counts, for Prometheus. Every label has a closed set of values: no client can add one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from .review import Review

_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "other")
_VERDICTS = ("allow", "warn", "deny", "skip")
_FAILURES = ("400", "404", "405", "408", "413", "500", "503", "other")


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library types most of itself, not this
        self._registry = CollectorRegistry()
        reviews = self._counter("reviews", "Reviews answered.", "operation", "verdict", "dry_run")
        failures = self._counter("request_failures", "Requests answered by an HTTP error.", "code")
        reloads = self._counter(
            "reloads", "Changed files taken, or refused while the old ones go on.", "what", "result"
        )
        self._reviews = {
            (operation, verdict, dry): reviews.labels(operation, verdict, str(dry).lower())
            for operation, verdict, dry in product(_OPERATIONS, _VERDICTS, (False, True))
        }
        self._failures = {code: failures.labels(code) for code in _FAILURES}
        self._reloads = {
            (what, taken): reloads.labels(what, "taken" if taken else "refused")
            for what, taken in product(("policy", "certificate"), (True, False))
        }
        self._expiry = self._gauge("certificate_expiry_timestamp_seconds", "When the served certificate ends.")

    def count_review(self, review: Review, verdict: str) -> None:
        """Counts an answered review."""
        operation = review.operation if review.operation in _OPERATIONS else "other"
        self._reviews[operation, verdict, review.dry_run].inc()

    def count_failure(self, code: int) -> None:
        """Counts a request that was answered by an HTTP error."""
        self._failures.get(str(code), self._failures["other"]).inc()

    def count_reload(self, what: str, *, taken: bool) -> None:
        """Counts an attempt to take a changed policy or certificate."""
        self._reloads[what, taken].inc()

    def set_expiry(self, timestamp: float) -> None:
        """Sets when the served certificate ends, in seconds since 1970."""
        self._expiry.set(timestamp)

    def watch_running(self, running: Callable[[], int]) -> None:
        """Shows the number of requests under way."""
        self._gauge("requests_in_flight", "Requests under way, from their headers to their answer.").set_function(
            running
        )

    def watch_namespaces(self, heard_at: Callable[[], float]) -> None:
        """Shows when the API server last told of namespaces, in seconds since 1970; NaN while nobody asks it."""
        self._gauge(
            "namespaces_heard_timestamp_seconds", "When the API server last told of namespaces, or that none changed."
        ).set_function(heard_at)

    def render(self) -> tuple[bytes, str]:
        """Returns the text for Prometheus and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace="gpupolicy", registry=self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, namespace="gpupolicy", registry=self._registry)
