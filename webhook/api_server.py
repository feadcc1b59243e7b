"""Namespaces as an API server tells them, by the official client, which this file and api_objects.py alone know."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpupolicy.errors import ClusterError, InputError, MissingExtraError, shown

from .namespace_source import Change, ExpiredError, Labels

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, Configuration, CoreV1Api

# A namespace may carry 256 KiB of annotations: a page of these bounds what is in memory at a time.
PAGE = 50
WATCH_SECONDS = 300
CONNECT_SECONDS = 5.0
LIST_SECONDS = 30.0
# A bookmark comes about once a minute; a connection on which nothing comes is dead.
SILENCE_SECONDS = 150.0
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_MESSAGE_CHARACTERS = 300
_GONE = 410


def connect(
    kubeconfig: Path | None, *, environ: Mapping[str, str] = os.environ, service_account: Path = _SERVICE_ACCOUNT
) -> ApiServer:
    """Finds the API server, to be asked for namespaces; arguments and errors are those of ``to_client``."""
    client = to_client(kubeconfig, environ=environ, service_account=service_account)
    from kubernetes.client import CoreV1Api

    return ApiServer(CoreV1Api(client))


def to_client(
    kubeconfig: Path | None, *, environ: Mapping[str, str] = os.environ, service_account: Path = _SERVICE_ACCOUNT
) -> ApiClient:
    """Finds the API server; asks it nothing yet.

    Args:
        kubeconfig: a file with the way to the cluster and who we are; None: the pod's own service account.
        environ: where Kubernetes tells a pod the address of the API server.
        service_account: the folder with the pod's token and the CA.

    Raises:
        ClusterError: no kubeconfig is given, and this is no pod with a service account's token.
        InputError: the kubeconfig cannot be used.
        MissingExtraError: the client is not installed.
    """
    try:
        from kubernetes import client
    except ImportError as error:
        if (error.name or "").split(".")[0] != "kubernetes":
            raise
        raise MissingExtraError("cluster", "kubernetes") from error
    configuration = client.Configuration()
    if kubeconfig is not None:
        _load_kubeconfig(kubeconfig, configuration)
    else:
        _load_service_account(service_account, environ, configuration)
    configuration.retries = False  # the caller tries again
    return client.ApiClient(configuration)


def _load_kubeconfig(file: Path, configuration: Configuration) -> None:
    from kubernetes import config
    from yaml import YAMLError

    load: Any = config.load_kube_config  # it has no types
    try:
        file.read_bytes()
        load(config_file=str(file), client_configuration=configuration, persist_config=False)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(file)) from error
    except (config.ConfigException, YAMLError) as error:
        raise InputError(f"is no kubeconfig that can be used: {_one_line(str(error))}", file=str(file)) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # the client trusts the shape
        raise InputError("is no kubeconfig", file=str(file)) from error


def _load_service_account(folder: Path, environ: Mapping[str, str], configuration: Configuration) -> None:
    from kubernetes import config
    from kubernetes.config import incluster_config

    loader: Any = incluster_config.InClusterConfigLoader  # it has no types
    try:
        loader(str(folder / "token"), str(folder / "ca.crt"), environ=environ).load_and_set(configuration)
    except (config.ConfigException, OSError) as error:
        told = _one_line(str(error)).rstrip(".").lower()
        raise ClusterError(
            f"there is no way to the cluster: no --kubeconfig is given, and this is no pod with a token ({told})"
        ) from error


class ApiServer:
    """A source of namespaces (see ``Source``). One request at a time, each with an end."""

    def __init__(self, api: CoreV1Api) -> None:
        self._api = api

    def list(self) -> tuple[Mapping[str, Labels], str]:
        """Returns the labels of every namespace by its name, and the version that they stand for."""
        found: dict[str, Labels] = {}
        following: dict[str, str] = {}
        while True:
            with self._ask(LIST_SECONDS, limit=PAGE, **following) as response:
                page = json.loads(response.data)
                found.update(_read(item) for item in page["items"])
                version, token = page["metadata"]["resourceVersion"], page["metadata"].get("continue")
            if not token:
                return found, version
            following = {"_continue": token}

    def watch(self, version: str) -> Iterator[Change]:
        """Yields at once, when the watch is open, and then what comes after a version, until the watch ends."""
        with self._ask(
            SILENCE_SECONDS,
            watch=True,
            allow_watch_bookmarks=True,
            resource_version=version,
            timeout_seconds=WATCH_SECONDS,
        ) as response:
            yield Change(version=version)
            for line in response:
                yield _to_change(json.loads(line))

    @contextmanager
    def _ask(self, silence_seconds: float, **parameters: object) -> Iterator[Any]:
        """Gives the open answer to a request for namespaces; what goes wrong with it is a ClusterError."""
        with translated("these are no namespaces"):
            limits = (CONNECT_SECONDS, silence_seconds)
            # Unread, as urllib3 gives it; the types tell of the object that is made of it otherwise.
            asking: Any = self._api.list_namespace
            response = asking(_preload_content=False, _request_timeout=limits, **parameters)
            try:
                if response.status != 200:
                    raise to_error(response.status, response.data, response.reason)
                yield response
            finally:
                response.close()


@contextmanager
def translated(expected: str) -> Iterator[None]:
    """Makes a ClusterError of whatever goes wrong with a request; ``expected`` ends the word on a strange answer."""
    from kubernetes.client import ApiException
    from kubernetes.config import ConfigException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ApiException as error:
        raise to_error(error.status, error.body, error.reason) from error
    except (HTTPError, OSError, ConfigException) as error:
        raise ClusterError(_one_line(str(error)) or type(error).__name__) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # of who reads the answer
        raise ClusterError(f"what answers is no API server: {expected}") from error


def _read(item: Mapping[str, Any]) -> tuple[str, Labels]:
    metadata = item["metadata"]
    return metadata["name"], metadata.get("labels") or {}


def _to_change(event: Mapping[str, Any]) -> Change:
    """Source: Kubernetes API concepts, "Efficient detection of changes"."""
    kind, item = event["type"], event["object"]
    if kind == "ERROR":
        raise to_error(item.get("code"), json.dumps(item), "")
    version = item["metadata"]["resourceVersion"]
    if kind == "BOOKMARK":
        return Change(version=version)
    name, labels = _read(item)
    return Change(version=version, name=name, labels=None if kind == "DELETED" else labels)


def to_error(code: int | None, body: bytes | str | None, reason: str | None) -> ClusterError:
    """Returns what an answer refuses by.

    The API server says what is wrong in the message of a Status; a proxy before it does not.
    """
    try:
        told = str(json.loads(body or "")["message"])
    except (ValueError, LookupError, TypeError):
        told = f"{reason or 'no reason is given'}{f' (HTTP {code})' if code else ''}"
    return (ExpiredError if code == _GONE else ClusterError)(_one_line(told))


def _one_line(text: str) -> str:
    return shown(" ".join(text.split()), _MESSAGE_CHARACTERS)
