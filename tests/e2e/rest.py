"""Requests to the API server as one user, with the whole answer: status, body and the warnings that kubectl prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from kubernetes import client as kubernetes_client

Object = Mapping[str, Any]  # a manifest, or what the API server answered

_WARNING = re.compile(r'^299 \S+ "((?:[^"\\]|\\.)*)"')
_CONTENT_TYPES = {
    "apply": "application/apply-patch+yaml",
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class RefusedError(AssertionError):
    """The API server refused what a test took for granted; an AssertionError, so that the test fails and says why."""

    def __init__(self, request: str, answer: Answer) -> None:
        super().__init__(f"{request}: {answer.status} {answer.message}")
        self.answer = answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said."""

    status: int
    body: Object
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the request was granted."""
        return self.status < 300

    @property
    def message(self) -> str:
        """The words of a refusal, as kubectl's user reads them."""
        return str(self.body.get("message", ""))


class Api:
    """The API server as one user sees it: methods named by an HTTP verb return refusals, the others raise them."""

    def __init__(self, client: kubernetes_client.ApiClient) -> None:
        self.client = client
        self._resources: dict[str, dict[str, Object]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send one request and return whatever comes back.

        Args:
            method: GET, POST, PUT, PATCH or DELETE.
            path: such as ``/api/v1/namespaces/default/pods``.
            body: an object, sent as JSON; bytes are sent as they are.
            query: such as ``{"dryRun": "All"}``.
            content_type: of the body.
        """
        response = self.client.rest_client.pool_manager.request(
            method,
            self.client.configuration.host + path + (f"?{urlencode(query)}" if query else ""),
            body=body if body is None or isinstance(body, bytes) else json.dumps(body),
            headers={**self.client.default_headers, "Content-Type": content_type, "Accept": "application/json"},
            timeout=60,
            retries=False,
        )
        return Answer(
            status=response.status, body=_body(response.data), warnings=_warnings(response.headers.getlist("Warning"))
        )

    def post(
        self, manifest: Object, *, namespace: str | None = None, dry_run: bool = False, strict: bool = True
    ) -> Answer:
        """Create an object; a refusal is an answer like any other."""
        return self.request("POST", self.path(manifest, namespace, named=False), manifest, _query(dry_run, strict))

    def patch(
        self, manifest: Object, patch: object, kind: str = "merge", *, subresource: str = "", dry_run: bool = False
    ) -> Answer:
        """Patch the object that a manifest names; kind: merge, json, strategic."""
        path = self.path(manifest) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, patch, _query(dry_run, True), _CONTENT_TYPES[kind])

    def delete(self, manifest: Object, *, namespace: str | None = None, grace_seconds: int | None = None) -> Answer:
        """Delete the object that a manifest names."""
        body = {"propagationPolicy": "Background"}
        grace = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        return self.request("DELETE", self.path(manifest, namespace), {**body, **grace})

    def get(self, manifest: Object, *, namespace: str | None = None) -> Answer:
        """Read the object that a manifest names."""
        return self.request("GET", self.path(manifest, namespace))

    def create(self, manifest: Object, *, namespace: str | None = None, dry_run: bool = False) -> Object:
        """Create an object that has to be accepted; returns it as the API server made it."""
        return _granted("create", manifest, self.post(manifest, namespace=namespace, dry_run=dry_run))

    def apply(
        self, manifest: Object, *, namespace: str | None = None, dry_run: bool, field_manager: str, strict: bool
    ) -> Object:
        """Apply an object (server-side, taking fields over from other managers)."""
        query = {**_query(dry_run, strict), "fieldManager": field_manager, "force": "true"}
        answer = self.request("PATCH", self.path(manifest, namespace), manifest, query, _CONTENT_TYPES["apply"])
        return _granted("apply", manifest, answer)

    def list(self, path: str, *, selector: str = "") -> list[Object]:
        """The items of a list."""
        answer = self.request("GET", path, query={"labelSelector": selector} if selector else None)
        if not answer.accepted:
            raise RefusedError(f"list {path}", answer)
        return list(answer.body["items"])

    def path(self, manifest: Object, namespace: str | None = None, *, named: bool = True) -> str:
        """The path of an object, or of its collection, found by discovery.

        Args:
            manifest: needs apiVersion, kind, and metadata.name when named.
            namespace: used when the manifest names none; ``default`` when neither does.
            named: the object's own path.
        """
        version, metadata = manifest["apiVersion"], manifest["metadata"]
        resource = self._resource(version, manifest["kind"])
        parts = [f"/apis/{version}" if "/" in version else f"/api/{version}"]
        if resource["namespaced"]:
            parts += ["namespaces", metadata.get("namespace") or namespace or "default"]
        return "/".join([*parts, resource["name"], *([metadata["name"]] if named else [])])

    def _resource(self, version: str, kind: str) -> Object:
        """The resource of a kind; asked anew when unknown, because a test may have added its definition."""
        if kind not in self._resources.get(version, {}):
            answer = self.request("GET", f"/apis/{version}" if "/" in version else f"/api/{version}")
            found = answer.body.get("resources", [])
            self._resources[version] = {item["kind"]: item for item in found if "/" not in item["name"]}
        if kind not in self._resources[version]:
            raise RefusedError(f"find {version} {kind}", Answer(status=404, body={"message": "no such kind"}))
        return self._resources[version][kind]


def _query(dry_run: bool, strict: bool) -> dict[str, str]:
    validation = {"fieldValidation": "Strict" if strict else "Warn"}
    return {**validation, "dryRun": "All"} if dry_run else validation


def _granted(verb: str, manifest: Object, answer: Answer) -> Object:
    """The object of an answer that has to be a grant."""
    if not answer.accepted:
        name = manifest["metadata"].get("name") or manifest["metadata"].get("generateName")
        raise RefusedError(f"{verb} {manifest['kind']} {name}", answer)
    return answer.body


def _body(data: bytes) -> Object:
    """The JSON of a body; plain text (of /readyz, or a proxy's error) as a message."""
    try:
        found = json.loads(data)
    except ValueError:
        return {"message": data.decode(errors="replace")}
    return found if isinstance(found, dict) else {"message": str(found)}


def _warnings(values: Iterable[str]) -> tuple[str, ...]:
    """The texts of Warning headers, which look like ``299 - "text"``."""
    matches = (_WARNING.match(value) for value in values)
    return tuple(re.sub(r"\\(.)", r"\1", match.group(1)) for match in matches if match)
