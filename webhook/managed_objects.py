"""What self-managed certificates are kept in and trusted by: a Secret, and registrations. Knows no client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from gpupolicy.errors import ClusterError

Object = Mapping[str, Any]


class ConflictError(ClusterError):
    """Somebody else has changed, made or removed the object meanwhile: look again."""


class Objects(Protocol):
    """One Secret and the registrations of one name. Every method raises ClusterError, writes ConflictError too."""

    def find_time(self) -> datetime | None:
        """Returns the time of the last answer by the clock of who gave it, None where it does not tell."""

    def read_secret(self) -> Object | None:
        """Returns the Secret, None where there is none."""

    def create_secret(self, secret: Object) -> None:
        """Makes the Secret.

        Raises:
            UsageError: we have no right to, so it has to be made beforehand, as ``gpupolicy compile`` does.
        """

    def replace_secret(self, secret: Object) -> None:
        """Replaces the Secret, if it still is of the given version."""

    def read_registrations(self) -> Sequence[Object]:
        """Returns the registrations that there are."""

    def patch_registration(self, kind: str, patch: Sequence[Object]) -> None:
        """Changes a registration by a JSON patch."""
