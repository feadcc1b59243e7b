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
from gpupolicy.cluster.transport import ANSWER_SECONDS, ClientTransport, plain
from gpupolicy.errors import ClusterError, InputError, MissingExtraError, reason_of

if TYPE_CHECKING:
    from kubernetes.client import Configuration

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def connect(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    on_read: OnRead = ignore_reading,
    page: int = PAGE,
    answer_seconds: float = ANSWER_SECONDS,
    instead: str = "",
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
        answer_seconds: how long to wait for an answer.
        instead: what to do where no way is known, for the message.

    Raises:
        InputError: the kubeconfig cannot be used, or has no such context.
        ClusterError: no way to a cluster is known, or there are no credentials.
        MissingExtraError: the client is not installed.
    """
    paths = _find_kubeconfigs(kubeconfig, environ, home or Path.home())
    if paths:
        transport = open_kubeconfig(paths, context, answer_seconds=answer_seconds)
    elif context is not None:
        raise ClusterError(f"there is no context {context}: no kubeconfig is there (--kubeconfig, KUBECONFIG)")
    else:
        try:
            transport = open_service_account(service_account, environ, answer_seconds=answer_seconds)
        except ClusterError as error:
            raise ClusterError(
                "no way to a cluster is known: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) and "
                f"{error}{f'; {instead}' if instead else ''}"
            ) from error
    return LiveCluster(Api(transport, page=page), on_read=on_read)


def open_kubeconfig(
    paths: tuple[str, ...], context: str | None = None, *, answer_seconds: float = ANSWER_SECONDS
) -> ClientTransport:
    """Opens the way that kubeconfigs tell; arguments and errors are those of ``connect``."""
    configuration = _new_configuration()
    name, headers = load_kubeconfig(paths, context, configuration)
    return ClientTransport(configuration, f"context {name}", headers, answer_seconds=answer_seconds)


def open_service_account(
    folder: Path = SERVICE_ACCOUNT,
    environ: Mapping[str, str] = os.environ,
    *,
    answer_seconds: float = ANSWER_SECONDS,
) -> ClientTransport:
    """Opens the way that Kubernetes tells a pod; a token that is renewed is read again.

    Raises:
        ClusterError: this is no pod with a token.
        MissingExtraError: the client is not installed.
    """
    configuration = _new_configuration()
    from kubernetes import config
    from kubernetes.config import incluster_config

    loader: Any = incluster_config.InClusterConfigLoader  # it has no types
    try:
        loader(str(folder / "token"), str(folder / "ca.crt"), environ=environ).load_and_set(configuration)
    except (config.ConfigException, OSError) as error:
        raise ClusterError(f"this is no pod with a token ({plain(error).rstrip('.')})") from error
    return ClientTransport(configuration, "the cluster of this pod", answer_seconds=answer_seconds)


def _new_configuration() -> Configuration:
    """Raises MissingExtraError where the client, which takes 20 MB and is loaded here, is not installed."""
    try:
        from kubernetes import client
    except ImportError as error:
        if (error.name or "").split(".")[0] != "kubernetes":
            raise
        raise MissingExtraError("cluster", "kubernetes") from error
    return client.Configuration()


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
        raise InputError(f"cannot be read: {reason_of(error)}", file=path) from error
    except ValueError as error:  # a NUL
        raise InputError("no file has such a name", file=path) from error
