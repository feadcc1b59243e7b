"""What is told of namespaces, and by whom: a list, and a watch that goes on from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from gpupolicy.errors import ClusterError

Labels = Mapping[str, str]


class ExpiredError(ClusterError):
    """The API server no longer knows what came after a version: list again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a watch tells: the labels that a namespace has now, None where it is gone.

    Without a name no namespace changed: the watch is open, or has come as far as ``version``.
    """

    version: str
    name: str = ""
    labels: Labels | None = None


class Source(Protocol):
    """Where namespaces are read. Both methods raise ClusterError, or ExpiredError for a version that is too old."""

    def list(self) -> tuple[Mapping[str, Labels], str]:
        """Returns the labels of every namespace by its name, and the version that they stand for."""

    def watch(self, version: str) -> Iterator[Change]:
        """Yields at once, when the watch is open, and then what comes after a version, until the watch ends."""
