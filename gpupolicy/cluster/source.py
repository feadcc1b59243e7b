"""Where nodes, pods and namespaces are read: what a live cluster and dumps have in common. Knows neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from gpupolicy.node import JSONMap


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far a pass over a source is: bytes of a dump, objects of a cluster.

    ``total`` is None where nobody knows it yet. ``is_over`` comes once at the end of every pass.
    """

    what: str
    unit: str
    done: int
    total: int | None
    is_over: bool = False


OnRead = Callable[[Reading], None]
OnNote = Callable[[str], None]


class Source(Protocol):
    """Nodes, pods and namespaces, one by one, each whole and with ``apiVersion`` and ``kind``.

    Every call begins a pass of its own, so a source can be read again. Objects are never given twice in a pass, and
    each has a ``metadata.name``. What goes wrong on the way is an InputError (dumps) or a ClusterError (live).
    """

    name: str  # for messages: "context prod", "nodes.json, pods.json.gz"

    def nodes(self) -> Iterator[JSONMap]:
        """Yields every Node."""
        ...

    def pods(self, *, namespace: str | None = None) -> Iterator[JSONMap]:
        """Yields every Pod, or those of a namespace."""
        ...

    def namespaces(self) -> Iterator[JSONMap]:
        """Yields every Namespace; none where a dump holds none."""
        ...


def ignore_reading(reading: Reading) -> None:
    """Tells nobody how far a pass is."""


def ignore_note(note: str) -> None:
    """Tells nobody what is worth a remark."""
