"""Answers that are no success, in words that say what to do: log in, add an RBAC rule, wait."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gpupolicy.cluster.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
)
from gpupolicy.cluster.rights import Right
from gpupolicy.cluster.transport import Answer
from gpupolicy.errors import shown

_CLASSES: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
}
_MESSAGE_CHARACTERS = 400
_USER = re.compile(r'User "([^"]*)"')
_ANONYMOUS = "system:anonymous"


def to_error(answer: Answer, right: Right | None, name: str) -> ApiError:
    """Returns the error that an answer stands for.

    Args:
        answer: one with a status of 300 or more.
        right: what the request needed.
        name: the cluster, for messages.
    """
    status = _read_status(answer.body)
    said = status.get("message")
    told = shown(" ".join(said.split()), _MESSAGE_CHARACTERS) if isinstance(said, str) and said else ""
    kind = _CLASSES.get(answer.status, ApiError)
    return kind(
        _tell(answer.status, told, right, name),
        status=answer.status,
        reason=str(status.get("reason") or ""),
        answer=status,
        retry_after=_read_seconds(answer.headers.get("retry-after")),
    )


def _tell(code: int, told: str, right: Right | None, name: str) -> str:
    if code == 401:
        return f"{name}: the API server does not know who asks (401): the credentials are missing, wrong or expired"
    if code == 403 and right is not None and " cannot " in told:
        return _tell_forbidden(told, right, name)
    return f"{name}: {told or 'the API server gives no reason'} ({code})"


def _tell_forbidden(told: str, right: Right, name: str) -> str:
    found = _USER.search(told)
    user = found.group(1) if found else ""
    if user == _ANONYMOUS:
        return f"{name}: who does not log in may not {right.verb} {right.resource} (403): no credentials were sent"
    where = f" in namespace {right.namespace}" if right.namespace else ""
    return (
        f"{name}: {f'user {user}' if user else 'this user'} may not {right.verb} {right.resource}{where} (403); "
        f"missing is the RBAC rule {right.rule} in {right.where} (see docs/cluster-access.md)"
    )


def _read_status(body: bytes) -> Mapping[str, object]:
    """Returns the Status; nothing where a proxy answered."""
    try:
        status = json.loads(body or b"")
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _read_seconds(header: str | None) -> float | None:
    """Returns a Retry-After in seconds; the API server sends no dates."""
    return float(header) if header is not None and header.isdecimal() else None
