"""What the webhook counts, for Prometheus. Every label has a closed set of values: no client can add one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gpupolicy.admission import Decision
from gpupolicy.admission.door import OPERATIONS
from gpupolicy.admission_rules import ADMISSION_RULES
from gpupolicy.certificates.rotation import Step
from gpupolicy.model import Policy

from .answer import fingerprint
from .review import Review
from .reviewer import ENDPOINTS
from .self_managed import TRUST
from .watchers import Watch

_OPERATIONS = (*OPERATIONS, "other")
_VERDICTS = ("allow", "warn", "deny", "skip")
_FAILURES = ("400", "404", "405", "408", "413", "500", "503", "other")
_LINES = ("written", "limited", "lost")
# Around what a review takes (a tenth of a millisecond alone, some under load), up to the longest useful time-out.
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_MOST_EXEMPTIONS = 100


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
        self._is_refused = self._gauge("reload_refused", "1 while a changed file is not the one in force.", "what")
        for what in ("policy", "certificate"):
            self._is_refused.labels(what).set(0)
        self._expiry = self._gauge("certificate_expiry_timestamp_seconds", "When the served certificate ends.")
        self._add_decisions()
        self._add_server()
        self._add_rotation()

    def _add_decisions(self) -> None:
        self._findings = self._counter("findings", "Findings on judged objects.", "rule", "action", "operation")
        self._exemptions = self._counter(
            "exemptions_used", "Objects let in by an exemption, by its place in the policy.", "exemption"
        )
        self._policy = self._gauge("policy_info", "The policy in force: always 1.", "policy", "hash")
        self._generation = self._gauge("policy_generation", "How many policies have been in force since the start.")
        self._loaded = self._gauge("policy_loaded_timestamp_seconds", "When the policy in force was read.")

    def _add_server(self) -> None:
        ProcessCollector(registry=self._registry)
        durations = Histogram(
            "request_duration_seconds",
            "From the headers of a request to its answer.",
            ("path",),
            namespace="gpupolicy",
            registry=self._registry,
            buckets=_SECONDS,
        )
        self._durations = {path: durations.labels(path) for path in (*ENDPOINTS, "other")}
        lines = self._counter("log_lines", "Lines of the log: written, over the limit, or lost.", "result")
        self._lines = {result: lines.labels(result) for result in _LINES}
        self._strangers = self._counter("clients_refused", "Clients whose certificate bears another name.")
        self._crowded = self._counter("connections_over_limit", "Connections for which there was no room.")
        failures = self._counter("watch_failures", "Looks at what is watched that failed and are tried again.", "watch")
        self._watch_failures = {watch: failures.labels(watch.value) for watch in Watch}

    def _add_rotation(self) -> None:
        self._authority_expiry = self._gauge(
            "authority_expiry_timestamp_seconds", "When the authority ends that is managed here; NaN where none is."
        )
        self._authority_expiry.set(math.nan)
        steps = self._counter("certificate_steps", "Steps of self-managed certificates that were done.", "step")
        self._steps = {step: steps.labels(step) for step in (*map(str, Step), TRUST)}
        self._step_failures = self._counter("certificate_step_failures", "Steps that could not be done.")

    def count_review(self, review: Review, verdict: str) -> None:
        """Counts an answered review."""
        operation = review.operation if review.operation in _OPERATIONS else "other"
        self._reviews[operation, verdict, review.dry_run].inc()

    def count_decision(self, review: Review, decision: Decision, policy: Policy) -> None:
        """Counts what was found on a judged object, and the exemption that let it in; of a dry run nothing comes."""
        if review.dry_run:
            return
        told = (("deny", decision.violations), ("warn", decision.warnings), ("audit", decision.audited))
        for action, findings in told:
            for finding in findings:
                operation = review.operation if review.operation in _OPERATIONS else "other"
                rule = finding.rule if finding.rule in ADMISSION_RULES else "other"
                self._findings.labels(rule, action, operation).inc()
        if decision.exemption is not None:
            self._exemptions.labels(_place_of(decision, policy)).inc()

    def count_duration(self, path: str, seconds: float) -> None:
        """Counts how long a request took."""
        self._durations.get(path, self._durations["other"]).observe(seconds)

    def count_line(self, result: str) -> None:
        """Counts what became of a line of the log: written, limited, lost."""
        self._lines[result].inc()

    def count_stranger(self) -> None:
        """Counts a client whose certificate bears none of the names that are let in."""
        self._strangers.inc()

    def count_crowded(self) -> None:
        """Counts a connection for which there was no room, mostly made by closing another."""
        self._crowded.inc()

    def count_watch_failure(self, watch: Watch) -> None:
        """Counts a look at what is watched that failed in a way that nobody foresaw."""
        self._watch_failures[watch].inc()

    def count_step(self, step: str) -> None:
        """Counts a step in the life of self-managed certificates."""
        self._steps[step].inc()

    def count_step_failure(self) -> None:
        """Counts a step that could not be done."""
        self._step_failures.inc()

    def set_policy(self, policy: Policy, timestamp: float) -> None:
        """Shows the policy in force, in one series whose labels change with it."""
        self._policy.clear()
        self._policy.labels(policy.name, fingerprint(policy.origin.text)).set(1)
        self._generation.inc()
        self._loaded.set(timestamp)

    def set_authority_expiry(self, timestamp: float) -> None:
        """Sets when the authority ends that is managed here, in seconds since 1970."""
        self._authority_expiry.set(timestamp)

    def count_failure(self, code: int) -> None:
        """Counts a request that was answered by an HTTP error."""
        self._failures.get(str(code), self._failures["other"]).inc()

    def count_reload(self, what: str, *, taken: bool) -> None:
        """Counts an attempt to take a changed policy or certificate."""
        self._reloads[what, taken].inc()
        self._is_refused.labels(what).set(0 if taken else 1)

    def set_expiry(self, timestamp: float) -> None:
        """Sets when the served certificate ends, in seconds since 1970."""
        self._expiry.set(timestamp)

    def watch_running(self, running: Callable[[], int]) -> None:
        """Shows the number of requests under way."""
        self._gauge("requests_in_flight", "Requests under way, from their headers to their answer.").set_function(
            running
        )

    def watch_connections(self, count: Callable[[], int]) -> None:
        """Shows the number of open connections."""
        self._gauge("connections_open", "Open connections on the port for reviews.").set_function(count)

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

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, namespace="gpupolicy", registry=self._registry)


def _place_of(decision: Decision, policy: Policy) -> str:
    """Returns where the exemption stands in the policy, which has a bounded number of them."""
    place = policy.admission.exemptions.index(decision.exemption) if decision.exemption else 0
    return str(place) if place < _MOST_EXEMPTIONS else "other"
