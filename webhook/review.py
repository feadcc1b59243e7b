"""Reads an AdmissionReview: the envelope is checked here, the pod inside it by ``decide``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from gpupolicy.errors import ReviewError

API_VERSIONS = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
# The API server takes objects of up to 3 MiB; an UPDATE carries two of them and the envelope.
BODY_LIMIT = 8 * 1024 * 1024
# Far more than there are in an object that etcd stores (1.5 MB). In Python a mapping takes up to 230 bytes, however
# short its text is: without a limit a body of 8 MiB took 200 MB, and 900 MB where each value was a container.
VALUES_LIMIT = 500_000
_SIGNS = b",{["
# Up to a sign that begins a value; what stands in strings is none. It matches wherever it begins, so a search takes one
# look at each byte: a string that nothing closes goes on to the end.
_TO_VALUE = re.compile(rb"""(?:[^",{\[]++|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))*+(?:[,{\[]|\Z)""", re.DOTALL)

T = TypeVar("T")
_NAMES = {str: "a string", dict: "a mapping", bool: "true or false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One request of the API server. ``new`` and ``old`` are foreign objects, of any shape inside."""

    api_version: str
    uid: str
    operation: str
    group: str
    kind: str
    subresource: str
    name: str
    namespace: str | None
    username: str | None
    dry_run: bool
    new: Mapping[str, object] | None
    old: Mapping[str, object] | None

    @property
    def is_pod(self) -> bool:
        """Whether it is about a pod; a Binding or an Eviction comes under ``pods`` too, and is none."""
        return self.kind == "Pod" and self.group == ""


def read_review(body: bytes) -> Review:
    """Reads the body of a request.

    Args:
        body: JSON text of an AdmissionReview, v1 or v1beta1.

    Returns:
        The request in it.

    Raises:
        ReviewError: it is no AdmissionReview that can be answered (an answer needs the uid), so HTTP 400 is due.

    Source: kubernetes/api admission/v1/types.go.
    """
    review = _parse(body)
    if review.get("kind") != "AdmissionReview":
        raise ReviewError(f"kind is {_shown(review.get('kind'))}, AdmissionReview is expected")
    if review.get("apiVersion") not in API_VERSIONS:
        raise ReviewError(f"apiVersion is {_shown(review.get('apiVersion'))}, {API_VERSIONS[0]} is expected")
    request = _need(review, "request", dict)
    kind = _need(request, "kind", dict, "request.")
    user: Mapping[str, object] = _find(request, "userInfo", dict, "request.") or {}
    return Review(
        api_version=str(review["apiVersion"]),
        uid=_need(request, "uid", str, "request."),
        operation=_need(request, "operation", str, "request."),
        group=_find(kind, "group", str, "request.kind.") or "",
        kind=_need(kind, "kind", str, "request.kind."),
        subresource=_find(request, "subResource", str, "request.") or "",
        name=_find(request, "name", str, "request.") or "",
        namespace=_find(request, "namespace", str, "request.") or None,
        username=_find(user, "username", str, "request.userInfo.") or None,
        dry_run=_find(request, "dryRun", bool, "request.") or False,
        new=_find(request, "object", dict, "request."),
        old=_find(request, "oldObject", dict, "request."),
    )


def _parse(body: bytes) -> Mapping[str, object]:
    if _count_values(body) > VALUES_LIMIT:
        raise ReviewError(f"the body holds more than {VALUES_LIMIT:,} values")
    try:
        # Not json.loads alone, which takes UTF-16 too: there the signs are not where they are counted.
        review = json.loads(body.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise ReviewError(f"the body is no JSON: {reason}") from error
    if not isinstance(review, dict):
        raise ReviewError(f"the body is {_shown(review)}, a mapping is expected")
    return review


def _count_values(body: bytes) -> int:
    """Returns at least how many values the text holds, where they are many; what stands in strings is none."""
    if len(body) <= VALUES_LIMIT or _count_signs(body) <= VALUES_LIMIT:
        return 0
    parts = islice(_TO_VALUE.finditer(body), VALUES_LIMIT + 1)
    return sum(body[part.end() - 1] in _SIGNS for part in parts)


def _count_signs(text: bytes) -> int:
    return sum(map(text.count, _SIGNS))


def _need(parent: Mapping[str, object], key: str, kind: type[T], above: str = "") -> T:
    value = _find(parent, key, kind, above)
    if not value:
        raise ReviewError(f"{above}{key} is missing, {_NAMES[kind]} is expected")
    return value


def _find(parent: Mapping[str, object], key: str, kind: type[T], above: str) -> T | None:
    value = parent.get(key)
    if value is None:
        return None
    if not isinstance(value, kind):
        raise ReviewError(f"{above}{key} is {_shown(value)}, {_NAMES[kind]} is expected")
    return value


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"
