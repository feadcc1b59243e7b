"""Target ``webhook``: everything that runs the admission webhook in a cluster, and its registration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import PurePath

from gpupolicy.compiler.manifest import Document, Manifest, Order
from gpupolicy.compiler.namespace import compile_namespace, labels_of, selector_of
from gpupolicy.compiler.registration import compile_registration, configuration_name
from gpupolicy.compiler.templating import fill
from gpupolicy.errors import UsageError
from gpupolicy.model import CertificateMode, Policy

_API_SERVER_PORTS = (443, 6443)  # a network policy sees the port of the Service or of the server behind it
_OWN_ISSUER = "ca"
_LISTENS = ("--host", "::", "--port", "8443", "--metrics-port", "8080")
_CONFIG_MAP_BYTES = 1024 * 1024


def compile_webhook(order: Order) -> Iterator[Manifest]:
    """Yields namespace, certificate, workload, and last the registration, in the order in which they are needed."""
    policy = order.policy
    yield from compile_namespace(policy.webhook.namespace)
    yield from _certificates(policy)
    yield from _namespace_access(policy)
    yield from _certificate_access(policy)
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
        # Measured: 52 MB, and 92 MB with the client of the API server; 3 MB more with 5,000 namespaces.
        "memory_request": "128Mi" if _asks_the_cluster(policy) else "96Mi",
        "mounts_token": _asks_the_cluster(policy),
        "egress": _egress() if _asks_the_cluster(policy) else None,
        **_certificate_values(policy),
    }
    documents = fill("webhook", values)
    if webhook.replicas > 1:
        documents += fill("disruption-budget", values)
    for document in documents:
        kind = str(document["kind"])
        yield Manifest(document=document, path=f"webhook/{kind.lower()}.yaml", remarks=_remarks(policy, kind))


def _asks_the_cluster(policy: Policy) -> bool:
    return policy.uses_namespace_labels or _manages_itself(policy)


def _manages_itself(policy: Policy) -> bool:
    return policy.webhook.certificates.mode is CertificateMode.SELF_MANAGED


def _certificate_values(policy: Policy) -> dict[str, object]:
    """Says where the certificate comes from: the cluster's Secret read by the webhook, or files of a mounted one."""
    secret = None if _manages_itself(policy) else policy.webhook.certificates.secret_name
    files = {"--cert": "/etc/gpupolicy-tls/tls.crt", "--key": "/etc/gpupolicy-tls/tls.key"}
    arguments = [word for pair in files.items() for word in pair] if secret else ["--self-managed"]
    return {
        "arguments": ["serve", "/etc/gpupolicy/policy.yaml", *_LISTENS, "--log-format", "json", *arguments],
        "tls_mount": {"name": "tls", "mountPath": "/etc/gpupolicy-tls", "readOnly": True} if secret else None,
        "tls_volume": {"name": "tls", "secret": {"secretName": secret}} if secret else None,
    }


def _certificate_access(policy: Policy) -> Iterator[Manifest]:
    """Yields the Secret and the rights of a webhook that manages its certificates itself."""
    if not _manages_itself(policy):
        return
    values = {
        **_names(policy),
        "role": f"gpupolicy-{policy.name}-certificates",
        "configuration": configuration_name(policy),
    }
    for document in fill("certificate-access", values):
        kind = str(document["kind"]).lower()
        file = "secret" if kind == "secret" else f"certificates-{kind}"
        yield Manifest(document=document, path=f"webhook/{file}.yaml")


def _namespace_access(policy: Policy) -> Iterator[Manifest]:
    """Yields the right to follow namespaces, for a policy that selects them by their labels."""
    if not policy.uses_namespace_labels:
        return
    values = {**_names(policy), "role": f"gpupolicy-{policy.name}-namespaces"}
    for document in fill("namespace-access", values):
        kind = str(document["kind"])
        yield Manifest(document=document, path=f"webhook/{kind.lower()}.yaml", remarks=_remarks(policy, kind))


def _egress() -> list[dict[str, object]]:
    """To any address: the API server's is not known here."""
    return [{"ports": [{"port": port, "protocol": "TCP"} for port in _API_SERVER_PORTS]}]


def _remarks(policy: Policy, kind: str) -> tuple[str, ...]:
    """Says why this webhook gets more than others: a review does not carry the labels of its namespace."""
    gets = {
        "ClusterRole": "the webhook may list and watch namespaces",
        "Deployment": "a token of its ServiceAccount is mounted",
        "NetworkPolicy": "the API server may be reached",
    }
    if kind not in gets:
        return ()
    reasons = []
    if policy.uses_namespace_labels:
        place = PurePath(policy.cite(*policy.namespace_label_fields[0])).name
        reasons.append(f"The policy selects namespaces by labels ({place}), so {gets[kind]}.")
    if _manages_itself(policy):
        reasons.append(f"The webhook manages its certificates itself, so {gets[kind]}.")
    return tuple(reasons)


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
