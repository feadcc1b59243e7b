"""Starts the real webhook as a process of its own and talks to it over TLS, as the API server would."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from gpupolicy.errors import GPUPolicyError, MissingExtraError

_READY = re.compile(r"serving https://(?:\[[^]]*]|[^:]*):(\d+)")
_TIMEOUT_SECONDS = 10
_PACKAGES = ("cryptography", "flask", "prometheus_client", "uvicorn")


class DemoError(GPUPolicyError):
    """The webhook did not come up, or did not answer as it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the webhook said about one pod."""

    allowed: bool
    message: str
    warnings: tuple[str, ...]
    patch: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A TLS connection to the webhook; ``port`` is on the loopback address."""

    port: int
    connection: http.client.HTTPSConnection

    def ask(self, review: dict[str, object]) -> Answer:
        """Posts an AdmissionReview to ``/mutate``."""
        body = json.dumps(review)
        self.connection.request("POST", "/mutate?timeout=3s", body, {"Content-Type": "application/json"})
        answered = json.loads(self.connection.getresponse().read())["response"]
        patch = json.loads(base64.b64decode(answered["patch"])) if "patch" in answered else []
        return Answer(
            allowed=answered["allowed"],
            message=answered.get("status", {}).get("message", ""),
            warnings=tuple(answered.get("warnings", ())),
            patch=tuple(patch),
        )


@contextmanager
def running_webhook(policy: Path, folder: Path) -> Iterator[Client]:
    """Yields a client of a webhook that serves a policy with fresh certificates; stops it afterwards.

    Args:
        policy: the policy's file.
        folder: an empty folder for the CA and the serving certificate.

    Raises:
        DemoError: the webhook did not come up.
        MissingExtraError: its packages are not installed.
    """
    _check_packages()
    context = _make_certificates(folder)
    command = [sys.executable, "-m", "gpupolicy", "serve", policy.name, "--host", "127.0.0.1", "--port", "0"]
    command += ["--metrics-port", "0", "--drain-seconds", "0"]
    command += ["--cert", str(folder / "tls.crt"), "--key", str(folder / "tls.key")]
    with subprocess.Popen(
        command, cwd=policy.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            port = _wait_for_port(process)
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS, context=context)
            yield Client(port=port, connection=connection)
            connection.close()
        finally:
            process.terminate()


def _check_packages() -> None:
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError("webhook", package)


def _make_certificates(folder: Path) -> ssl.SSLContext:
    from gpupolicy.certificates import TRIAL_NAMES, renew  # needs cryptography, which may be missing

    renew(folder, TRIAL_NAMES, now=datetime.now(UTC))
    return ssl.create_default_context(cafile=str(folder / "ca.crt"))


def _wait_for_port(process: subprocess.Popen[str]) -> int:
    lines: list[str] = []
    for line in process.stderr or ():
        lines.append(line)
        if found := _READY.search(line):
            return int(found.group(1))
    raise DemoError(f"the webhook did not come up: {''.join(lines).strip() or 'it said nothing'}")
