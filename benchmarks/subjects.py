"""The webhooks that webhook.py asks: what a process costs, and the proof that it judges what it is said to judge."""

from __future__ import annotations

import json
import os
import re
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from review import read_bodies

DENIED, ALLOWED = 3, 4  # GPUs


class DisagreementError(RuntimeError):
    """A webhook does not judge as it has to, so its time means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A process that is asked, and what of it."""

    name: str
    pid: int
    url: str
    authority: Path
    judges: bool = True  # else it allows whatever it is asked

    def cpu(self) -> float:
        """Returns the CPU seconds that it has used, all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self) -> float:
        """Returns its resident megabytes."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0

    def ask(self, body: bytes) -> dict[str, Any]:
        """Returns the response to one review.

        Raises:
            OSError: there is no answer, or another status than 200.
            DisagreementError: the answer is no AdmissionReview, or one of another review.
        """
        context = ssl.create_default_context(cafile=str(self.authority))
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        asked = urllib.request.Request(f"{self.url}?timeout=10s", body, {"Content-Type": "application/json"})
        with direct.open(asked, timeout=10) as answer:
            review = json.load(answer)
        response: dict[str, Any] = review.get("response") or {}
        if review.get("kind") != "AdmissionReview" or response.get("uid") != json.loads(body)["request"]["uid"]:
            raise DisagreementError(f"{self.name} answers {str(review)[:500]}")
        return response

    def refuses(self, gpus: int) -> bool:
        """Whether it denies a pod of so many GPUs, and for that reason."""
        response = self.ask(pod_review(gpus))
        return not response["allowed"] and f"asks for {gpus} GPUs" in response["status"]["message"]


def pod_review(gpus: int) -> bytes:
    """Returns a captured review of a bare pod, with a number of GPUs in its place."""
    review = json.loads(read_bodies()[0])
    for amounts in review["request"]["object"]["spec"]["containers"][0]["resources"].values():
        if "nvidia.com/gpu" in amounts:
            amounts["nvidia.com/gpu"] = str(gpus)
    return json.dumps(review, separators=(",", ":")).encode()


def prove(server: Server) -> int:
    """Returns how many of the captured reviews a server allows, once it is sure what it judges by.

    Raises:
        DisagreementError: it does not deny 3 GPUs or not allow 4, or does not answer a captured review.
    """
    if server.judges and not server.refuses(DENIED):
        raise DisagreementError(f"{server.name} does not deny {DENIED} GPUs: {server.ask(pod_review(DENIED))}")
    allowed = [_allows(server, body) for body in (pod_review(ALLOWED), *read_bodies())]
    if not allowed[0]:
        raise DisagreementError(f"{server.name} does not allow {ALLOWED} GPUs: {server.ask(pod_review(ALLOWED))}")
    return sum(allowed[1:])


def _allows(server: Server, body: bytes) -> bool:
    try:
        return bool(server.ask(body)["allowed"])
    except OSError as error:
        raise DisagreementError(f"{server.name} does not answer: {error}") from error
