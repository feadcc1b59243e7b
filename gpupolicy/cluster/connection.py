"""The way to a cluster: ``--kubeconfig``, ``$KUBECONFIG``, ``~/.kube/config``, or the pod's own service account."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpupolicy.cluster.api import PAGE, Api
from gpupolicy.cluster.kubeconfig import load_kubeconfig
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.source import OnRead, ignore_reading
from gpupolicy.cluster.transport import ANSWER_SECONDS, CONNECT_SECONDS, ClientTransport, plain
from gpupolicy.errors import ClusterError, InputError, MissingExtraError

if TYPE_CHECKING:
    from kubernetes.client import Configuration

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def connect(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = _SERVICE_ACCOUNT,
    on_read: OnRead = ignore_reading,
    page: int = PAGE,
    connect_seconds: float = CONNECT_SECONDS,
    answer_seconds: float = ANSWER_SECONDS,
) -> LiveCluster:
    """Finds a cluster as kubectl does; asks it nothing yet.

    Args:
        kubeconfig: a file; None: those of $KUBECONFIG, else ~/.kube/config, else the service account of this pod.
        context: which context of it; None: the current one.
        environ: where KUBECONFIG, and in a pod the address of the API server, stand.
        home: the folder of the user; None: of who runs this.
        service_account: the folder with the pod's token and the CA.
        on_read: is told how far a list is.
        page: how many objects a list brings at a time.
        connect_seconds: how long to wait for a connection.
        answer_seconds: how long to wait for an answer.

    Raises:
        InputError: the kubeconfig cannot be used, or has no such context.
        ClusterError: no way to a cluster is known, or there are no credentials.
        MissingExtraError: the client is not installed.
    """
    try:
        from kubernetes import client
    except ImportError as error:
        if (error.name or "").split(".")[0] != "kubernetes":
            raise
        raise MissingExtraError("cluster", "kubernetes") from error
    configuration = client.Configuration()
    paths = _find_kubeconfigs(kubeconfig, environ, home or Path.home())
    headers: tuple[tuple[str, str], ...] = ()
    if paths:
        found, headers = load_kubeconfig(paths, context, configuration)
        name = f"context {found}"
    else:
        _load_service_account(service_account, environ, configuration, context)
        name = "the cluster of this pod"
    transport = ClientTransport(
        configuration, name, headers, connect_seconds=connect_seconds, answer_seconds=answer_seconds
    )
    return LiveCluster(Api(transport, page=page), on_read=on_read)


def _find_kubeconfigs(named: str | None, environ: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """Returns the files to read; none where there is no kubeconfig.

    Raises:
        InputError: the one that is named, or all that KUBECONFIG names, cannot be read.
    """
    if named is not None:
        return (_readable(named),)
    listed = [path for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    if listed:
        there = tuple(path for path in listed if Path(path).expanduser().exists())
        if not there:
            raise InputError("KUBECONFIG names what is not there", file=os.pathsep.join(listed))
        return there
    usual = home / ".kube" / "config"
    return (str(usual),) if usual.exists() else ()


def _readable(path: str) -> str:
    try:
        with open(path, "rb"):
            return path
    except OSError as error:
        raise InputError(f"cannot be read: {(error.strerror or str(error)).lower()}", file=path) from error
    except ValueError as error:  # a NUL
        raise InputError("no file has such a name", file=path) from error


def _load_service_account(
    folder: Path, environ: Mapping[str, str], configuration: Configuration, context: str | None
) -> None:
    from kubernetes import config
    from kubernetes.config import incluster_config

    loader: Any = incluster_config.InClusterConfigLoader  # it has no types
    try:
        if context is not None:
            raise ClusterError(f"there is no context {context}: no kubeconfig is there (--kubeconfig, KUBECONFIG)")
        loader(str(folder / "token"), str(folder / "ca.crt"), environ=environ).load_and_set(configuration)
    except (config.ConfigException, OSError) as error:
        raise ClusterError(
            "no way to a cluster is known: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) and this "
            f"is no pod with a token ({plain(error).rstrip('.')}); to read a dump instead: --from FILE"
        ) from error
