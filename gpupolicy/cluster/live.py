"""A live cluster as a source; its ``api`` makes changes, too."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from gpupolicy.cluster.api import Api
from gpupolicy.cluster.source import OnRead, Reading, ignore_reading
from gpupolicy.node import JSONMap


class LiveCluster:
    """Nodes, pods and namespaces as an API server lists them, page by page."""

    def __init__(self, api: Api, *, on_read: OnRead = ignore_reading) -> None:
        """Asks nothing yet.

        Args:
            api: the API server.
            on_read: is told after every page how many objects have come.
        """
        self.api = api
        self.name = api.name
        self._on_read = on_read

    def nodes(self) -> Iterator[JSONMap]:
        """Yields every Node.

        Raises:
            ClusterError: the API server refuses or does not answer.
        """
        return self._list("nodes", "/api/v1/nodes")

    def pods(self, *, namespace: str | None = None) -> Iterator[JSONMap]:
        """Yields every Pod, or those of a namespace.

        Raises:
            ClusterError: the API server refuses or does not answer.
        """
        inside = f"/namespaces/{quote(namespace, safe='')}" if namespace is not None else ""
        return self._list("pods", f"/api/v1{inside}/pods")

    def namespaces(self) -> Iterator[JSONMap]:
        """Yields every Namespace.

        Raises:
            ClusterError: the API server refuses or does not answer.
        """
        return self._list("namespaces", "/api/v1/namespaces")

    def _list(self, what: str, path: str) -> Iterator[JSONMap]:
        def tell(done: int, total: int | None) -> None:
            self._on_read(Reading(what=what, unit="objects", done=done, total=total))

        try:
            yield from self.api.list(path, on_page=tell)
        finally:
            self._on_read(Reading(what=what, unit="objects", done=0, total=None, is_over=True))
