"""Target ``webhook``: everything that runs the admission webhook in a cluster, and its registration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

from gpupolicy.compiler.manifest import Document, Manifest, Order
from gpupolicy.compiler.namespace import compile_namespace, labels_of, selector_of
from gpupolicy.compiler.registration import compile_registration
from gpupolicy.compiler.templating import fill
from gpupolicy.errors import UsageError
from gpupolicy.model import CertificateMode, Policy

_DRAIN_SECONDS = 5
_LONGEST_CALL_SECONDS = 30
_OWN_ISSUER = "ca"
_CONFIG_MAP_BYTES = 1024 * 1024


def compile_webhook(order: Order) -> Iterator[Manifest]:
    """Yields namespace, certificate, workload, and last the registration, in the order in which they are needed."""
    policy = order.policy
    yield from compile_namespace(policy.webhook.namespace)
    yield from _certificates(policy)
    yield from _workload(policy)
    yield from compile_registration(order)


def policy_text(policy: Policy) -> str:
    """Returns the policy as it was written, or as JSON where it was given as a document.

    Raises:
        UsageError: the policy was built in code and has neither.
    """
    if policy.origin.text:
        return policy.origin.text
    if policy.origin.document:
        return json.dumps(policy.origin.document, indent=2, ensure_ascii=False) + "\n"
    raise UsageError("the policy has no text to put into a ConfigMap: load it with gpupolicy.load or load_text")


def _workload(policy: Policy) -> Iterator[Manifest]:
    webhook = policy.webhook
    text = policy_text(policy)
    if len(text.encode()) > _CONFIG_MAP_BYTES:
        raise UsageError(f"the policy has {len(text.encode())} bytes; a ConfigMap holds at most {_CONFIG_MAP_BYTES}")
    values = {
        **_names(policy),
        "selector": selector_of(policy, webhook.name),
        "replicas": webhook.replicas,
        "image": webhook.image,
        "policy_text": text,
        "policy_hash": sha256(text.encode()).hexdigest()[:16],
        "gpu_support": policy.labels.gpu_support,
        "drain_seconds": _DRAIN_SECONDS,
        "grace_seconds": _LONGEST_CALL_SECONDS + 3 * _DRAIN_SECONDS,
    }
    documents = fill("webhook", values)
    if webhook.replicas > 1:
        documents += fill("disruption-budget", values)
    for document in documents:
        yield Manifest(document=document, path=f"webhook/{str(document['kind']).lower()}.yaml")


def _certificates(policy: Policy) -> Iterator[Manifest]:
    """Yields cert-manager's objects; in mode ``secret`` the Secret is made by ``gpupolicy certs``, not here."""
    certificates = policy.webhook.certificates
    if certificates.mode is not CertificateMode.CERT_MANAGER:
        return
    host = f"{policy.webhook.name}.{policy.webhook.namespace}.svc"
    kind, _, name = (certificates.issuer or f"Issuer/{policy.webhook.name}-{_OWN_ISSUER}").rpartition("/")
    values = {
        **_names(policy),
        "dns_names": [host, f"{host}.cluster.local"],
        "issuer_kind": kind or "Issuer",
        "issuer_name": name,
    }
    documents = fill("own-issuer", values) if certificates.issuer is None else []
    for document in [*documents, *fill("certificate", values)]:
        yield Manifest(document=document, path=f"webhook/{_certificate_file(document, policy)}")


def _certificate_file(document: Document, policy: Policy) -> str:
    metadata = document["metadata"]
    own = str(metadata["name"]) if isinstance(metadata, dict) else ""
    return f"{str(document['kind']).lower()}{own.removeprefix(policy.webhook.name)}.yaml"


def _names(policy: Policy) -> dict[str, object]:
    webhook = policy.webhook
    return {
        "name": webhook.name,
        "namespace": webhook.namespace,
        "labels": labels_of(policy, webhook.name),
        "secret_name": webhook.certificates.secret_name,
    }
