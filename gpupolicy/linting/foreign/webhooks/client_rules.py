"""Rules about clientConfig: how the API server reaches the hook, and whom it trusts there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_subdomain_problem
from gpupolicy.linting.foreign.findings import error, info, show, warning
from gpupolicy.linting.foreign.pem import has_certificate, is_encoded_twice
from gpupolicy.linting.foreign.reading import Object, child, mapping, text, whole
from gpupolicy.linting.foreign.webhooks.registration import Hook, WebhookConfiguration

# control signs and a % without two digits anywhere, blanks and these signs before the path
_MISPLACED = re.compile(r"[\x00-\x1f\x7f]|%(?![0-9a-fA-F]{2})|^[^/]*\s|://[^/?#]*[\s\"<>^`{|}\\]")

# annotations by which something else fills in caBundle
_INJECTORS = (
    "cert-manager.io/inject-",
    "service.beta.openshift.io/inject-cabundle",
    "certificates.k8s.io/inject-",
    "gpupolicy.dev/inject-ca-from",
)


def webhook_client_not_single(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook with neither url nor service, or with both.

    Why: the API server refuses it: it needs exactly one address.
    Bad:  clientConfig: {caBundle: ...}
    Good: clientConfig: {service: {namespace: gpu-system, name: gpupolicy-webhook, path: /mutate}}
    Source: kubernetes pkg/apis/admissionregistration/validation.
    """
    for hook, client in _clients(configuration):
        given = [name for name in ("url", "service") if client.get(name) is not None]
        if len(given) != 1:
            found = "both url and service" if given else "neither url nor service"
            message = f"clientConfig has {found}; exactly one is needed"
            yield error("webhook-client-not-single", hook.field("clientConfig"), message)


def webhook_url_refused(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A URL that the API server refuses.

    Why: it is https://host[:port][/path], without user, query or fragment.
    Bad:  url: http://webhook.example.com/mutate?team=a
    Good: url: https://webhook.example.com/mutate
    Source: kubernetes apiserver pkg/util/webhook/validation.go; measured on Kubernetes 1.37.2.
    """
    for hook, client in _clients(configuration):
        url = client.get("url")
        if isinstance(url, str) and client.get("service") is None:
            path = (*hook.path, "clientConfig", "url")
            for problem in _url_problems(url):
                yield error("webhook-url-refused", path, problem, "write https://host[:port][/path]")
            parts = _split(url)
            if parts is not None and (port := _port(parts)) and not 1 <= int(port) <= 65535:
                message = f"the URL has the port {port}; the API server takes it, and no call can get there"
                yield warning("webhook-url-refused", path, message, "write a port from 1 to 65535")


def _url_problems(url: str) -> Iterator[str]:
    parts = _split(url)
    if parts is None:
        yield f"{show(url)} is no URL"
        return
    if parts.scheme != "https":
        found = f"the scheme {parts.scheme}" if parts.scheme else "no scheme"
        yield f"the URL has {found}; the API server calls https alone"
    if not parts.netloc.rpartition("@")[2]:
        yield "the URL has no host"
    for name, value in (("user", "@" in parts.netloc), ("query", parts.query), ("fragment", parts.fragment)):
        if value:
            yield f"the URL has a {name}, which the API server refuses"


def _split(url: str) -> SplitResult | None:
    """The parts of a URL, None where Go's parser takes none: a port that is no number, a misplaced sign."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    port = _port(parts)
    is_sound = port == "" or (port.isascii() and port.isdigit())
    return parts if is_sound and not _MISPLACED.search(url) else None


def _port(parts: SplitResult) -> str:
    """What stands behind the host, "" where nothing does."""
    return parts.netloc.rpartition("@")[2].rpartition("]")[2].partition(":")[2]


def webhook_service_refused(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A service reference that the API server refuses.

    Why: name and namespace are needed; path starts with a slash and has no empty part; port is 1 to 65535.
    Bad:  service: {name: gpupolicy-webhook, path: mutate}
    Good: service: {namespace: gpu-system, name: gpupolicy-webhook, path: /mutate, port: 443}
    Source: kubernetes apiserver pkg/util/webhook/validation.go.
    """
    for hook, client in _clients(configuration):
        service = client.get("service")
        if isinstance(service, dict) and client.get("url") is None:
            for field, problem in _service_problems(service):
                path: FieldPath = (*hook.path, "clientConfig", "service")
                yield error("webhook-service-refused", (*path, field) if field in service else path, problem)


def _service_problems(service: Object) -> Iterator[tuple[str, str]]:
    for field in ("namespace", "name"):
        if not text(service.get(field)):
            yield field, f"the service has no {field}"
    port = whole(service.get("port"))
    if port is not None and not 1 <= port <= 65535:
        yield "port", f"port is {port}; 1 to 65535 is expected"
    path = text(service.get("path"))
    if path not in ("", "/"):
        if not path.startswith("/"):
            yield "path", f"path is {show(path)}; it has to start with a slash"
        steps = path[1:].removesuffix("/").split("/")
        if any(find_dns_subdomain_problem(step) for step in steps):
            yield "path", f"path is {show(path)}; its parts have lower case letters, digits, '-' and '.' alone"


def webhook_ca_not_pem(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A caBundle that holds no certificate.

    Why: the API server stores it and then fails every call; with failurePolicy Fail that refuses every request.
    Bad:  caBundle: Q0EtT05F
    Good: caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t..., base64 of the PEM file
    Source: measured on Kubernetes 1.37.2: unable to parse bytes as PEM block.
    """
    for hook, client in _clients(configuration):
        bundle = text(client.get("caBundle"))
        if bundle and not has_certificate(bundle) and not _is_injected(configuration):
            hint = "it is encoded twice" if is_encoded_twice(bundle) else "write base64 of the PEM file"
            path = (*hook.path, "clientConfig", "caBundle")
            yield warning("webhook-ca-not-pem", path, "caBundle holds no certificate in PEM form", hint)


def webhook_ca_missing(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook behind a service without a caBundle.

    Why: no public authority signs the name of a service, so every call fails until something fills caBundle in.
    Bad:  clientConfig: {service: {...}}
    Good: clientConfig: {service: {...}, caBundle: ...}, or the annotation of an injector
    Source: measured on Kubernetes 1.37.2: certificate signed by unknown authority.
    """
    for hook, client in _clients(configuration):
        if isinstance(client.get("service"), dict) and not client.get("caBundle") and not _is_injected(configuration):
            path = hook.field("clientConfig")
            message = "clientConfig has no caBundle, and no annotation asks for one"
            yield info("webhook-ca-missing", path, message)


def _clients(configuration: WebhookConfiguration) -> Iterator[tuple[Hook, Object]]:
    for hook in configuration.hooks:
        yield hook, mapping(hook.value.get("clientConfig"))


def _is_injected(configuration: WebhookConfiguration) -> bool:
    annotations: Any = mapping(child(configuration.value, "metadata", "annotations"))
    return any(key.startswith(_INJECTORS) for key in annotations)
