"""What is served and what it is served with, put together from the options of ``serve``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpupolicy.admission import Decision
from gpupolicy.certificates import ends_soon, expires_at, service_names
from gpupolicy.certificates.rotation import Plan
from gpupolicy.errors import UsageError
from gpupolicy.loading import load
from gpupolicy.model import Policy

from .answer import Response, version_of
from .journal import Journal, JournalHandler, TokenBucket
from .managed_objects import Objects
from .managed_source import ManagedSource
from .metrics import Metrics
from .namespace_source import Source
from .namespaces import NamespaceLabels
from .reload import CertificateSource, PolicySource
from .review import Review
from .self_managed import SelfManaged
from .watchers import Watchers

EXPIRY_SECONDS = 3600.0
_FIRST_LIST_SECONDS = 10.0
# Ours, and those of what we stand on: they would write to standard error themselves, at once, and wait for its reader.
_LOGS = tuple(map(logging.getLogger, ("gpupolicy.webhook", "asyncio", "uvicorn.error")))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What ``serve`` needs. Port 0 takes a free one. ``kubeconfig`` None: inside a cluster, as the pod's account.

    Without ``certificate`` and ``key`` the webhook manages its certificates itself, in the Secret that the policy
    names; ``settle_seconds``: how long API servers get to hear of a new authority. ``client_authority``: only clients
    with a certificate of it are let in, and of these, if there are ``client_names``, only who bears one of them.
    ``drain_seconds``: how long reviews are still answered after SIGTERM, while the endpoint is taken out of the
    Service. ``grace_seconds``: how long a review under way is waited for after that.
    """

    policy: Path
    certificate: Path | None = None
    key: Path | None = None
    host: str = "::"
    port: int = 8443
    metrics_port: int = 8080
    kubeconfig: Path | None = None
    client_authority: Path | None = None
    client_names: tuple[str, ...] = ()
    extra_names: tuple[str, ...] = ()
    settle_seconds: float = 60.0
    json_log: bool = False
    drain_seconds: float = 5.0
    grace_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is served, and what it is served with."""

    metrics: Metrics
    journal: Journal
    policies: PolicySource
    certificates: CertificateSource | ManagedSource
    namespaces: NamespaceLabels
    watchers: Watchers
    strangers: TokenBucket = field(default_factory=lambda: TokenBucket(rate=0.2, burst=5.0))
    crowds: TokenBucket = field(default_factory=lambda: TokenBucket(rate=0.02, burst=1.0))

    def find_obstacle(self) -> str | None:
        """Says why the policy in force cannot be served yet."""
        return self.namespaces.find_obstacle() if self.policies.current().uses_namespace_labels else None

    def find_remarks(self) -> Iterator[str]:
        """Yields what is wrong although reviews are answered; the log has the details."""
        yield from self.watchers.find_remarks()
        if self.policies.is_refused:
            yield f"the changed policy is refused, {version_of(self.policies.current())} goes on"
        if ends_soon(self.certificates.served.pair.certificate, datetime.now(UTC)):
            yield f"the certificate ends on {expires_at(self.certificates.served.pair.certificate):%Y-%m-%d}"

    def record(self, review: Review, decision: Decision, policy: Policy, response: Response) -> None:
        """Counts a decision, and writes a line for a denial."""
        self.metrics.count_decision(review, decision, policy)
        if not decision.allowed:
            status = response.get("status")
            message = status.get("message") if isinstance(status, dict) else ""
            self.journal.deny(review, decision, policy, str(message))

    def on_stranger(self, names: tuple[str, ...]) -> None:
        """Counts and tells of a client whose certificate bears another name."""
        self.metrics.count_stranger()
        if self.strangers.take():
            shown = ", ".join(names)[:200] or "nobody"
            self.journal.warn(f"a client was refused: its certificate names {shown}")

    def on_full(self) -> None:
        """Counts and tells that there are more connections than may be open."""
        self.metrics.count_crowded()
        if self.crowds.take():
            self.journal.warn("too many connections are open: those that have been silent for longest are closed")

    async def look_at_expiry(self) -> float:
        """Says once an hour that the certificate ends soon: it should have been made new by now."""
        certificate = self.certificates.served.pair.certificate
        if ends_soon(certificate, datetime.now(UTC)):
            self.journal.warn(
                f"the certificate ends on {expires_at(certificate):%Y-%m-%d %H:%M} UTC and is not renewed"
            )
        return EXPIRY_SECONDS


@contextmanager
def assemble(options: ServeOptions, write: Callable[[str], None]) -> Iterator[Parts]:
    """Reads the files, asks the cluster where that is needed, and puts the parts together; ends their threads.

    Raises:
        GPUPolicyError: see ``serve``.
    """
    metrics = Metrics()
    watchers = Watchers(metrics.count_watch_failure)
    journal = Journal(write, as_json=options.json_log, count=metrics.count_line)
    handler = JournalHandler(journal)
    for log in _LOGS:
        log.addHandler(handler)
    manager: SelfManaged | None = None
    try:
        namespaces = _follow_namespaces(options, metrics, journal, watchers)
        policies = _read_policy(options, metrics, journal, namespaces)
        certificates: CertificateSource | ManagedSource
        if options.certificate and options.key:
            certificates = _read_certificate(options, options.certificate, options.key, metrics, journal)
        else:
            certificates, manager = _manage_certificates(options, policies.current(), metrics, journal)
            manager.start(watchers)
        yield Parts(
            metrics=metrics,
            journal=journal,
            policies=policies,
            certificates=certificates,
            namespaces=namespaces,
            watchers=watchers,
        )
    finally:
        if manager:
            manager.stop()
        for log in _LOGS:
            log.removeHandler(handler)
        journal.close()


def _follow_namespaces(
    options: ServeOptions, metrics: Metrics, journal: Journal, watchers: Watchers
) -> NamespaceLabels:
    namespaces = NamespaceLabels(lambda: _find_namespaces(options), journal.report, journal.warn, watchers)
    metrics.watch_namespaces(lambda: namespaces.heard_at)
    return namespaces


def _find_namespaces(options: ServeOptions) -> Source:
    from .api_server import LIST_SECONDS, ApiServer, find_api  # the client behind it takes 20 MB: only where needed

    return ApiServer(find_api(options.kubeconfig, answer_seconds=LIST_SECONDS))


def _find_objects(options: ServeOptions, policy: Policy) -> Objects:
    from .api_objects import ANSWER_SECONDS, ApiObjects  # only where needed, as above
    from .api_server import find_api

    return ApiObjects(
        find_api(options.kubeconfig, answer_seconds=ANSWER_SECONDS),
        namespace=policy.webhook.namespace,
        secret=policy.webhook.certificates.secret_name,
        registration=f"gpupolicy-{policy.name}",
    )


def _read_policy(
    options: ServeOptions, metrics: Metrics, journal: Journal, namespaces: NamespaceLabels
) -> PolicySource:
    def prepare(policy: Policy) -> None:
        if policy.uses_namespace_labels:
            namespaces.start()
            namespaces.wait(_FIRST_LIST_SECONDS)

    def tell(taken: bool, line: str) -> None:
        _tell("policy", metrics, journal, taken, line)
        if taken:
            metrics.set_policy(policies.current(), time.time())

    policies = PolicySource(options.policy, load, tell, prepare=prepare)
    policy = policies.current()
    metrics.set_policy(policy, time.time())
    if policy.uses_namespace_labels:
        place = policy.cite(*policy.namespace_label_fields[0])
        journal.report(f"{place} needs labels of namespaces: the cluster is asked")
        namespaces.start()
    return policies


def _read_certificate(
    options: ServeOptions, certificate: Path, key: Path, metrics: Metrics, journal: Journal
) -> CertificateSource:
    return CertificateSource(
        certificate,
        key,
        lambda taken, line: _tell("certificate", metrics, journal, taken, line),
        metrics.set_expiry,
        client_authority=options.client_authority,
    )


def _manage_certificates(
    options: ServeOptions, policy: Policy, metrics: Metrics, journal: Journal
) -> tuple[ManagedSource, SelfManaged]:
    """Serves from the Secret; returns once there is a certificate."""
    if options.certificate or options.key:
        raise UsageError("a certificate and its key are given together or not at all")
    webhook = policy.webhook

    def expires(serving: float, authority: float) -> None:
        metrics.set_expiry(serving)
        metrics.set_authority_expiry(authority)

    source = ManagedSource(
        lambda taken, line: _tell("certificate", metrics, journal, taken, line),
        expires,
        client_authority=options.client_authority,
    )
    manager = SelfManaged(
        objects=_find_objects(options, policy),
        plan=Plan(
            names=(*service_names(webhook.name, webhook.namespace), *options.extra_names),
            settle=timedelta(seconds=options.settle_seconds),
        ),
        take=source.take,
        report=journal.report,
        warn=journal.warn,
        done=metrics.count_step,
        failed=metrics.count_step_failure,
        secret_name=webhook.certificates.secret_name,
        namespace=webhook.namespace,
    )
    manager.begin()
    return source, manager


def _tell(what: str, metrics: Metrics, journal: Journal, taken: bool, line: str) -> None:
    metrics.count_reload(what, taken=taken)
    (journal.report if taken else journal.warn)(line)
