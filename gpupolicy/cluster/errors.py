"""What an API server refuses, and why it could not be asked: one class for each thing that a caller can mend."""

from __future__ import annotations

from collections.abc import Mapping

from gpupolicy.errors import ClusterError

_NOTHING: Mapping[str, object] = {}


class ApiError(ClusterError):
    """An answer that is no success.

    Attributes:
        status: the HTTP status.
        reason: the reason of the Status, such as Forbidden, Conflict or TooManyRequests; empty where none was sent.
        answer: the Status as the API server sent it (``details.causes`` names the managers of a conflict).
        retry_after: seconds after which to ask again; None where the answer does not say so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        answer: Mapping[str, object] = _NOTHING,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.answer = answer
        self.retry_after = retry_after


class UnauthorizedError(ApiError):
    """401: the API server does not know who asks; credentials are missing or have expired."""


class ForbiddenError(ApiError):
    """403: it knows who asks and does not allow it; the message names the RBAC rule that is missing."""


class NotFoundError(ApiError):
    """404: there is no such object, or no such resource."""


class ConflictError(ApiError):
    """409: the object has changed meanwhile, or others own the fields."""


class GoneError(ApiError):
    """410: the version or the page that was asked for has expired."""


class InvalidError(ApiError):
    """422: what was sent breaks a rule of the API."""


class TooManyRequestsError(ApiError):
    """429: later; of an eviction: a PodDisruptionBudget does not allow it now."""


class ConnectionFailedError(ClusterError):
    """Nothing answers, or what answers cannot be trusted or understood.

    Attributes:
        was_sent: the request may have reached the API server, so a change may have been made.
        is_transient: the same request may work in a moment.
    """

    def __init__(self, message: str, *, was_sent: bool = False, is_transient: bool = False) -> None:
        super().__init__(message)
        self.was_sent, self.is_transient = was_sent, is_transient


class ApiTimeoutError(ConnectionFailedError):
    """The API server took longer than we wait."""
