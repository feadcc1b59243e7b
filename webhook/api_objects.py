"""The Secret and the registrations of self-managed certificates, as the API server has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from gpupolicy.cluster import errors
from gpupolicy.cluster.api import Api, PatchKind
from gpupolicy.errors import UsageError

from .managed_objects import ConflictError, Object

ANSWER_SECONDS = 10.0
_WRITER = {"fieldManager": "gpupolicy-certificates"}
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_REGISTRATIONS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


class ApiObjects:
    """``Objects`` (see there) of a real API server."""

    def __init__(self, api: Api, *, namespace: str, secret: str, registration: str) -> None:
        """Asks nothing yet.

        Args:
            api: the API server, asked once for each request.
            namespace: of the Secret.
            secret: its name.
            registration: the name of both webhook configurations.
        """
        self._api = api
        self._secrets = f"/api/v1/namespaces/{namespace}/secrets"
        self._secret = f"{self._secrets}/{secret}"
        self._place = f"{namespace}/{secret}"
        self._registrations = {kind: f"{_ADMISSION}/{name}/{registration}" for kind, name in _REGISTRATIONS.items()}

    def find_time(self) -> datetime | None:
        """Returns the time of the last answer by the API server's clock, None where it does not tell."""
        return self._api.answered_at

    def read_secret(self) -> Object | None:
        """Returns the Secret, None where there is none."""
        return self._find(self._secret)

    def create_secret(self, secret: Object) -> None:
        """Makes the Secret."""
        try:
            self._api.post(self._secrets, secret, _WRITER)
        except errors.ConflictError as error:
            raise ConflictError(str(error)) from error
        except errors.ForbiddenError as error:
            told = f"there is no Secret {self._place}, and it cannot be made (apply it empty): {error}"
            raise UsageError(told) from error

    def replace_secret(self, secret: Object) -> None:
        """Replaces the Secret, if it still is of the given version."""
        with _conflicts_told():
            self._api.put(self._secret, secret, _WRITER)

    def read_registrations(self) -> Sequence[Object]:
        """Returns the registrations that there are."""
        found = [(kind, self._find(path)) for kind, path in self._registrations.items()]
        return [{"kind": kind, **document} for kind, document in found if document is not None]

    def patch_registration(self, kind: str, patch: Sequence[Object]) -> None:
        """Changes a registration by a JSON patch."""
        with _conflicts_told():
            self._api.patch(self._registrations[kind], list(patch), PatchKind.JSON, _WRITER)

    def _find(self, path: str) -> Object | None:
        try:
            return self._api.get(path)
        except errors.NotFoundError:
            return None


@contextmanager
def _conflicts_told() -> Iterator[None]:
    """A write to what is gone, to another version, and a JSON patch whose test fails are conflicts."""
    try:
        yield
    except (errors.NotFoundError, errors.ConflictError, errors.InvalidError) as error:
        raise ConflictError(str(error)) from error
