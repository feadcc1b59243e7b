"""A small admission webhook on loopback: another one beside ours, or one that tells what it was asked."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from e2e.rest import Object

Judge = Callable[[Object], dict[str, Any]]  # the request of an AdmissionReview -> the response, without uid


def allowed() -> dict[str, Any]:
    """The response that lets a request pass."""
    return {"allowed": True}


def denied(message: str) -> dict[str, Any]:
    """The response that refuses a request."""
    return {"allowed": False, "status": {"code": 403, "message": message}}


def patched(operations: Sequence[Object]) -> dict[str, Any]:
    """The response that changes the object (RFC 6902)."""
    patch = base64.b64encode(json.dumps(list(operations)).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


class SmallWebhook:
    """Serves one judgement over TLS and remembers the requests; to be used in a ``with`` statement."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.requests: list[Object] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        certificate, key = _self_signed()
        self._server.socket = _context(certificate, key).wrap_socket(self._server.socket, server_side=True)
        self.ca_bundle = base64.b64encode(certificate).decode()
        self.url = f"https://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> SmallWebhook:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def registration(self, name: str, *, namespaces: Sequence[str], mutating: bool = False, **fields: Any) -> Object:
        """Its configuration object: asked when pods of some namespaces are created.

        Args:
            name: of the webhook, three parts with dots; the configuration is named the same.
            namespaces: where it is asked.
            mutating: whether it may patch.
            fields: more of the webhook (reinvocationPolicy=..., matchConditions=...), or others instead.
        """
        kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
        names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)}
        pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
        webhook = {
            "name": name,
            "clientConfig": {"url": self.url, "caBundle": self.ca_bundle},
            "rules": [pods],
            "namespaceSelector": {"matchExpressions": [names]},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            **fields,
        }
        header = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
        return {**header, "webhooks": [webhook]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # the name that http.server looks for
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook.requests.append(review["request"])
                response = {"uid": review["request"]["uid"], **webhook.judge(review["request"])}
                body = json.dumps({**review, "request": None, "response": response}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: the requests are kept."""

        return Handler


def _self_signed() -> tuple[bytes, bytes]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def _context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """A TLS context; Python reads certificates from files only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "both.pem")
        file.touch(mode=0o600)
        file.write_bytes(certificate + key)
        context.load_cert_chain(file)
    return context
