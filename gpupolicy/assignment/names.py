"""The names of nodes, to be looked up by name or shell pattern without trying every pattern on every node."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from fnmatch import translate

_WILDCARD = re.compile(r"[*?\[]")


class NodeNames:
    """Sorted names; a pattern is tried on those that begin as it does."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)
        self._known = frozenset(self._names)

    def find(self, patterns: Iterable[str]) -> list[str]:
        """Returns the names that are among the patterns or match one of them, as ``labels.matches_glob``; sorted."""
        found: set[str] = set()
        for pattern in patterns:
            if pattern in self._known:
                found.add(pattern)
            if wildcard := _WILDCARD.search(pattern):
                matches = re.compile(translate(pattern)).match
                found.update(name for name in self._beginning(pattern[: wildcard.start()]) if matches(name))
        return sorted(found)

    def _beginning(self, prefix: str) -> Iterator[str]:
        for position in range(bisect_left(self._names, prefix), len(self._names)):
            if not self._names[position].startswith(prefix):
                return
            yield self._names[position]
