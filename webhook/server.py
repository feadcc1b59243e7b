"""The process that faces the API server: one event loop, a TLS port for reviews, a plain one for probes."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpupolicy.errors import UsageError
from gpupolicy.loading import load
from gpupolicy.model import Policy

from .api_server import connect
from .app import build_app
from .bridge import Bridge
from .metrics import Metrics
from .namespaces import NamespaceLabels
from .probes import Probes
from .protocol import Listener, listen
from .reload import CertificateSource, PolicySource, watch
from .reviewer import Reviewer
from .shortcut import Shortcut

_ANY = ("::", "", "*")
_FLUSH_SECONDS = 1.0
_FIRST_LIST_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What ``serve`` needs. Port 0 takes a free one. ``kubeconfig`` None: inside a cluster, as the pod's account.

    ``drain_seconds``: how long reviews are still answered after SIGTERM, while the endpoint is taken out of the
    Service. ``grace_seconds``: how long a review under way is waited for after that.
    """

    policy: Path
    certificate: Path
    key: Path
    host: str = "::"
    port: int = 8443
    metrics_port: int = 8080
    kubeconfig: Path | None = None
    drain_seconds: float = 5.0
    grace_seconds: float = 10.0


def serve(options: ServeOptions, report: Callable[[str], None]) -> None:
    """Serves reviews until a signal says stop. Needs the main thread.

    Args:
        options: files, addresses and times.
        report: takes lines for the operator: the address when ready, each reload, the stop.

    Raises:
        PolicyError: the policy has errors.
        InputError: the policy, the certificate, the key or the kubeconfig cannot be read, or a key does not fit.
        UsageError: an address cannot be listened on.
        ClusterError: the policy needs labels of namespaces, and there is no way to the cluster.
        MissingExtraError: it needs them, and the client is not installed.
    """
    parts = _build(options, report)
    with bind(options.host, options.port) as reviews, bind(options.host, options.metrics_port) as probes:
        asyncio.run(_run(options, report, parts, reviews, probes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What is served, and what it is served with."""

    metrics: Metrics
    policies: PolicySource
    certificates: CertificateSource
    namespaces: NamespaceLabels

    def find_obstacle(self) -> str | None:
        """Says why the policy in force cannot be served yet."""
        return self.namespaces.find_obstacle() if self.policies.current().uses_namespace_labels else None


def _build(options: ServeOptions, report: Callable[[str], None]) -> _Parts:
    metrics = Metrics()
    namespaces = NamespaceLabels(lambda: connect(options.kubeconfig), report)
    metrics.watch_namespaces(lambda: namespaces.heard_at)

    def prepare(policy: Policy) -> None:
        if policy.uses_namespace_labels:
            namespaces.start()
            namespaces.wait(_FIRST_LIST_SECONDS)

    policies = PolicySource(options.policy, load, _teller("policy", metrics, report), prepare=prepare)
    certificates = CertificateSource(
        options.certificate, options.key, _teller("certificate", metrics, report), metrics.set_expiry
    )
    policy = policies.current()
    if policy.uses_namespace_labels:
        report(f"{policy.cite(*policy.namespace_label_fields[0])} needs labels of namespaces: the cluster is asked")
        namespaces.start()
    return _Parts(metrics=metrics, policies=policies, certificates=certificates, namespaces=namespaces)


def bind(host: str, port: int) -> socket.socket:
    """Returns a socket bound to an address; for ``::`` it takes IPv4 too, and IPv4 alone where there is no IPv6.

    Raises:
        UsageError: the address is in use, not ours, or the port needs more rights.
    """
    try:
        if host in _ANY and socket.has_dualstack_ipv6():
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        family, *_, address = socket.getaddrinfo("0.0.0.0" if host in _ANY else host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise UsageError(f"port {port} on {host or 'all addresses'} {reason}") from error


def _teller(what: str, metrics: Metrics, report: Callable[[str], None]) -> Callable[[bool, str], None]:
    def tell(taken: bool, line: str) -> None:
        metrics.count_reload(what, taken=taken)
        report(line)

    return tell


async def _run(
    options: ServeOptions,
    report: Callable[[str], None],
    parts: _Parts,
    review_socket: socket.socket,
    probe_socket: socket.socket,
) -> None:
    metrics, policies, certificates = parts.metrics, parts.policies, parts.certificates
    reviewer = Reviewer(
        current_policy=policies.current, namespace_labels=parts.namespaces.labels_of, observe=metrics.count_review
    )
    bridge = Bridge(Shortcut(reviewer, build_app(reviewer)), on_failure=metrics.count_failure)
    metrics.watch_running(lambda: bridge.running)
    probes = Probes(lambda: "draining" if bridge.draining else parts.find_obstacle(), metrics.render)
    stop = _Stop()
    listener = await listen(bridge, review_socket, tls=certificates.context)
    probe_listener = await listen(probes, probe_socket)
    watchers = [asyncio.create_task(watch(source)) for source in (policies, certificates)]
    report(f"serving {_url('https', listener)} policy {policies.current().name}")
    report(f"probes and metrics {_url('http', probe_listener)}")
    await stop.asked.wait()
    bridge.draining = True
    await _drain(options, report, stop, bridge, listener)
    for watcher in watchers:
        watcher.cancel()
    probe_listener.close()


class _Stop:
    """Signals: the first asks for a stop, the second ends all waiting. SIGINT comes from a terminal: no drain then."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.forced = asyncio.Event()
        self.drains = True
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._on_signal, True)
        loop.add_signal_handler(signal.SIGINT, self._on_signal, False)

    def _on_signal(self, drains: bool) -> None:
        if self.asked.is_set():
            self.forced.set()
        self.drains = self.drains and drains
        self.asked.set()


async def _drain(
    options: ServeOptions, report: Callable[[str], None], stop: _Stop, bridge: Bridge, listener: Listener
) -> None:
    """Not ready at once, but reviews are answered until no more should come; then those under way are waited for.

    Until 1.36 the API server goes on using connections to a pod that has left the Service: each answer has to say
    ``Connection: close``.
    """
    if stop.drains and options.drain_seconds:
        report(f"stopping in {options.drain_seconds:g} s")
        await _wait(stop.forced, options.drain_seconds, lambda: False)
    listener.close()
    await _wait(stop.forced, options.grace_seconds, lambda: bridge.running == 0)
    await _wait(stop.forced, _FLUSH_SECONDS, lambda: listener.connections == 0)
    report("stopped")


async def _wait(forced: asyncio.Event, seconds: float, is_done: Callable[[], bool]) -> None:
    """Waits until it is done, the time is over, or a second signal came."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not forced.is_set() and not is_done() and loop.time() < end:
        await asyncio.sleep(0.05)


def _url(scheme: str, listener: Listener) -> str:
    host, port = listener.address
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
