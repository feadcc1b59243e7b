"""Rules about spec.webhook: names that Kubernetes takes, and a failure that does not stop the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.labels import find_dns_label_problem, find_dns_subdomain_problem
from gpupolicy.model import CertificateMode, FailurePolicy, Policy
from gpupolicy.rules.findings import error, warning

LONGEST_WAIT = 3

_WEBHOOK = ("spec", "webhook")
_SERVICE_NAME = re.compile(r"[a-z].*", re.DOTALL)


def webhook_name_not_dns(policy: Policy) -> Iterator[Finding]:
    """A name of the webhook that Kubernetes does not take.

    Why: the API server refuses the Namespace, the Service or the Secret.
    Bad:  webhook: {name: 1-webhook}
    Good: webhook: {name: gpu-webhook}
    Source: names of Services are RFC 1035 labels, which start with a letter.
    """
    webhook = policy.webhook
    if problem := find_dns_label_problem(webhook.namespace):
        yield error(
            "webhook-name-not-dns", (*_WEBHOOK, "namespace"), f'"{webhook.namespace}" is no namespace: it {problem}'
        )
    problem = find_dns_label_problem(webhook.name)
    if not problem and not _SERVICE_NAME.fullmatch(webhook.name):
        problem = "starts with a digit, which the name of a Service may not"
    if problem:
        yield error(
            "webhook-name-not-dns", (*_WEBHOOK, "name"), f'"{webhook.name}" is no name of a webhook: it {problem}'
        )
    secret = webhook.certificates.secret_name
    if problem := find_dns_subdomain_problem(secret):
        field = (*_WEBHOOK, "certificates", "secretName")
        yield error("webhook-name-not-dns", field, f'"{secret}" is no name of a Secret: it {problem}')
    kind, _, issuer = (webhook.certificates.issuer or "").partition("/")
    if kind and (problem := find_dns_subdomain_problem(issuer)):
        field = (*_WEBHOOK, "certificates", "issuer")
        yield error("webhook-name-not-dns", field, f'"{issuer}" is no name of an issuer: it {problem}')


def webhook_timeout_long(policy: Policy) -> Iterator[Finding]:
    """A webhook that may hold up every GPU pod for long when it is down.

    Why: with failurePolicy Fail each creation waits that long before it is refused, and controllers try again.
    Bad:  failurePolicy: Fail with timeoutSeconds: 30
    Good: timeoutSeconds: 3
    Source: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
    """
    webhook = policy.webhook
    if webhook.failure_policy is FailurePolicy.FAIL and webhook.timeout_seconds > LONGEST_WAIT:
        message = (
            f"with failurePolicy Fail every GPU pod waits up to {webhook.timeout_seconds} s for a webhook that is down"
        )
        yield warning("webhook-timeout-long", (*_WEBHOOK, "timeoutSeconds"), message, f"use {LONGEST_WAIT} or less")


def webhook_alone(policy: Policy) -> Iterator[Finding]:
    """One replica whose restart refuses GPU pods.

    Why: with failurePolicy Fail no GPU pod can be created while the only replica moves or restarts.
    Bad:  failurePolicy: Fail with replicas: 1
    Good: replicas: 2
    Source: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
    """
    webhook = policy.webhook
    if webhook.failure_policy is FailurePolicy.FAIL and webhook.replicas < 2:
        message = "with failurePolicy Fail and one replica no GPU pod can be created while it restarts"
        yield warning("webhook-alone", (*_WEBHOOK, "replicas"), message, "use 2 or more")


def certificate_issuer_without_use(policy: Policy) -> Iterator[Finding]:
    """An issuer that nobody asks.

    Why: only mode certManager uses it; in mode secret the certificate has to be made and renewed by gpupolicy certs.
    Bad:  certificates: {issuer: ClusterIssuer/internal}
    Good: certificates: {mode: certManager, issuer: ClusterIssuer/internal}
    Source: design: two ways to a certificate.
    """
    certificates = policy.webhook.certificates
    if certificates.issuer is not None and certificates.mode is not CertificateMode.CERT_MANAGER:
        field = (*_WEBHOOK, "certificates", "issuer")
        message = "the issuer is used in mode certManager only"
        yield warning("certificate-issuer-without-use", field, message, "set mode: certManager")
