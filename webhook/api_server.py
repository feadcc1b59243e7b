"""Namespaces as an API server tells them. To be imported where they are needed: the client behind it takes 20 MB."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpupolicy.cluster.api import Api
from gpupolicy.cluster.connection import SERVICE_ACCOUNT, open_kubeconfig, open_service_account
from gpupolicy.cluster.errors import GoneError
from gpupolicy.errors import ClusterError

from .namespace_source import Change, ExpiredError, Labels

# A namespace may carry 256 KiB of annotations: a page of these bounds what is in memory at a time.
PAGE = 50
WATCH_SECONDS = 300
LIST_SECONDS = 30.0
# A bookmark comes about once a minute; a connection on which nothing comes is dead.
SILENCE_SECONDS = 150.0
_PATH = "/api/v1/namespaces"


def find_api(
    kubeconfig: Path | None,
    *,
    answer_seconds: float,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Api:
    """Finds the API server; asks it nothing yet. Each request is sent once: who asks tries again.

    Args:
        kubeconfig: a file with the way to the cluster and who we are; None: the pod's own service account.
        answer_seconds: how long to wait for an answer.
        environ: where Kubernetes tells a pod the address of the API server.
        service_account: the folder with the pod's token and the CA.

    Raises:
        ClusterError: no kubeconfig is given, and this is no pod with a service account's token.
        InputError: the kubeconfig cannot be used.
        MissingExtraError: the client is not installed.
    """
    if kubeconfig is not None:
        return Api(open_kubeconfig((str(kubeconfig),), answer_seconds=answer_seconds), pauses=())
    try:
        return Api(open_service_account(service_account, environ, answer_seconds=answer_seconds), pauses=())
    except ClusterError as error:
        told = f"there is no way to the cluster: no --kubeconfig is given, and {error}"
        raise ClusterError(told) from error


class ApiServer:
    """A source of namespaces (see ``Source``). One request at a time, each with an end."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> tuple[Mapping[str, Labels], str]:
        """Returns the labels of every namespace by its name, and the version that they stand for."""
        found: dict[str, Labels] = {}
        following: dict[str, str] = {}
        while True:
            with self._translated():  # a version that expires on the way leaves no list to watch from
                page: Mapping[str, Any] = self._api.get(_PATH, {"limit": str(PAGE), **following})
                found.update(_read(item) for item in page["items"])
                version, token = page["metadata"]["resourceVersion"], page["metadata"].get("continue")
            if not token:
                return found, version
            following = {"continue": token}

    def watch(self, version: str) -> Iterator[Change]:
        """Yields at once, when the watch is open, and then what comes after a version, until the watch ends."""
        with (
            self._translated(),
            self._api.watch(_PATH, version, seconds=WATCH_SECONDS, silence_seconds=SILENCE_SECONDS) as events,
        ):
            yield Change(version=version)
            yield from map(_to_change, events)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except GoneError as error:
            raise ExpiredError(str(error)) from error
        except (LookupError, TypeError, AttributeError) as error:
            raise self._api.no_api_server(_PATH) from error


def _read(item: Mapping[str, Any]) -> tuple[str, Labels]:
    metadata = item["metadata"]
    return metadata["name"], metadata.get("labels") or {}


def _to_change(event: Mapping[str, Any]) -> Change:
    kind, item = event["type"], event["object"]
    version = item["metadata"]["resourceVersion"]
    if kind == "BOOKMARK":
        return Change(version=version)
    name, labels = _read(item)
    return Change(version=version, name=name, labels=None if kind == "DELETED" else labels)
