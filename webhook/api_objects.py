"""The Secret and the registrations of self-managed certificates, as the API server has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gpupolicy.errors import ClusterError, UsageError

from .api_server import CONNECT_SECONDS, to_error, translated

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Object = Mapping[str, Any]

ANSWER_SECONDS = 10.0
FIELD_MANAGER = "gpupolicy-certificates"
REGISTRATION_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_REFUSED, _NOT_FOUND = 300, 404
# A write to what is gone; another version; a JSON patch whose test fails.
_CONFLICTS = (_NOT_FOUND, 409, 422)


class ConflictError(ClusterError):
    """Somebody else has changed, made or removed the object meanwhile: look again."""


class Objects(Protocol):
    """One Secret and the registrations of one name. Every method raises ClusterError, writes ConflictError too."""

    def read_secret(self) -> Object | None:
        """Returns the Secret, None where there is none."""

    def create_secret(self, secret: Object) -> None:
        """Makes the Secret."""

    def replace_secret(self, secret: Object) -> None:
        """Replaces the Secret, if it still is of the given version."""

    def read_registrations(self) -> Sequence[Object]:
        """Returns the registrations that there are."""

    def patch_registration(self, kind: str, patch: Sequence[Object]) -> None:
        """Changes a registration by a JSON patch."""


class ApiObjects:
    """``Objects`` of a real API server."""

    def __init__(self, client: ApiClient, *, namespace: str, secret: str, registration: str) -> None:
        """Asks nothing yet.

        Args:
            client: the way to the API server.
            namespace: of the Secret.
            secret: its name.
            registration: the name of both webhook configurations.
        """
        from kubernetes.client import AdmissionregistrationV1Api, CoreV1Api

        self._core: Any = CoreV1Api(client)
        self._admission: Any = AdmissionregistrationV1Api(client)
        self._namespace, self._secret, self._registration = namespace, secret, registration

    def read_secret(self) -> Object | None:
        """Returns the Secret, None where there is none."""
        return _ask(self._core.read_namespaced_secret, self._secret, self._namespace)

    def create_secret(self, secret: Object) -> None:
        """Makes the Secret.

        Raises:
            UsageError: we have no right to, so it has to be made beforehand, as ``gpupolicy compile`` does.
        """
        try:
            _ask(self._core.create_namespaced_secret, self._namespace, secret, field_manager=FIELD_MANAGER)
        except ClusterError as error:
            if isinstance(error, ConflictError):
                raise
            place = f"{self._namespace}/{self._secret}"
            raise UsageError(f"there is no Secret {place}, and it cannot be made (apply it empty): {error}") from error

    def replace_secret(self, secret: Object) -> None:
        """Replaces the Secret, if it still is of the given version."""
        _ask(self._core.replace_namespaced_secret, self._secret, self._namespace, secret, field_manager=FIELD_MANAGER)

    def read_registrations(self) -> Sequence[Object]:
        """Returns the registrations that there are."""
        reads = (
            self._admission.read_mutating_webhook_configuration,
            self._admission.read_validating_webhook_configuration,
        )
        return [
            {"kind": kind, **document}
            for kind, read in zip(REGISTRATION_KINDS, reads, strict=True)
            if (document := _ask(read, self._registration)) is not None
        ]

    def patch_registration(self, kind: str, patch: Sequence[Object]) -> None:
        """Changes a registration by a JSON patch."""
        call = (
            self._admission.patch_mutating_webhook_configuration
            if kind == REGISTRATION_KINDS[0]
            else self._admission.patch_validating_webhook_configuration
        )
        _ask(call, self._registration, list(patch), field_manager=FIELD_MANAGER)


def _ask(call: Any, *arguments: object, **parameters: object) -> Object | None:
    """Returns the object in the answer, None where it is not there; a write finds that, too, to be a conflict."""
    is_read, code = not parameters, 0
    try:
        with translated("this is no such object"):
            code, body, reason = _answer(call, *arguments, **parameters)
            if code < _REFUSED:
                document: Object = json.loads(body)
                return document
            raise to_error(code, body, reason)
    except ClusterError as error:
        if code == _NOT_FOUND and is_read:
            return None
        if code in _CONFLICTS and not is_read:
            raise ConflictError(str(error)) from error
        raise


def _answer(call: Any, *arguments: object, **parameters: object) -> tuple[int, bytes, str]:
    """Returns code, body and reason. Some releases of the client raise for a refusal, others do not."""
    from kubernetes.client import ApiException

    limits = (CONNECT_SECONDS, ANSWER_SECONDS)
    try:
        response = call(*arguments, _preload_content=False, _request_timeout=limits, **parameters)
    except ApiException as error:
        if not error.status:
            raise
        return error.status, error.body or b"", error.reason or ""
    try:
        return response.status, response.data, response.reason or ""
    finally:
        response.close()
