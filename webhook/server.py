"""The process that faces the API server: one event loop, a TLS port for reviews, a plain one for probes."""

from __future__ import annotations

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Callable
from functools import partial

from gpupolicy.errors import UsageError, reason_of

from .app import build_app
from .bridge import Bridge
from .crowd import Crowd
from .parts import Parts, ServeOptions, assemble
from .probes import Probes
from .protocol import Listener, listen
from .reload import look
from .reviewer import Reviewer
from .shortcut import Shortcut
from .watchers import Watch

__all__ = ["ServeOptions", "bind", "serve"]

_ANY = ("::", "", "*")
_FLUSH_SECONDS = 1.0
_MOST_PROBES = 100


def serve(options: ServeOptions, write: Callable[[str], None]) -> None:
    """Serves reviews until a signal says stop. Needs the main thread.

    Args:
        options: files, addresses and times.
        write: writes one line of the log: the address when ready, each reload, each denial, the stop.

    Raises:
        PolicyError: the policy has errors.
        InputError: the policy, the certificate, the key or the kubeconfig cannot be read, or a key does not fit.
        UsageError: an address cannot be listened on.
        ClusterError: the policy or its certificates need the cluster, and there is no way to it.
        MissingExtraError: they need it, and the client is not installed.
    """
    with (
        assemble(options, write) as parts,
        bind(options.host, options.port) as reviews,
        bind(options.host, options.metrics_port) as probes,
    ):
        gc.collect()
        gc.freeze()  # what is here stays: to look through it again and again would stop all reviews for 20 ms each time
        asyncio.run(_run(options, parts, reviews, probes))


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
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {reason_of(error)}"
        raise UsageError(f"port {port} on {host or 'all addresses'} {reason}") from error


async def _run(options: ServeOptions, parts: Parts, review_socket: socket.socket, probe_socket: socket.socket) -> None:
    metrics, report, watchers = parts.metrics, parts.journal.report, parts.watchers
    reviewer = Reviewer(
        current_policy=parts.policies.current,
        namespace_labels=parts.namespaces.labels_of,
        observe=metrics.count_review,
        record=parts.record,
    )
    bridge = Bridge(
        Shortcut(reviewer, build_app(reviewer)),
        on_failure=metrics.count_failure,
        on_answer=metrics.count_duration,
    )
    metrics.watch_running(lambda: bridge.running)
    probes = Probes(
        lambda: "draining" if bridge.draining else parts.find_obstacle(), metrics.render, parts.find_remarks
    )
    stop, crowd = _Stop(), Crowd(on_full=parts.on_full)
    metrics.watch_connections(lambda: len(crowd))
    listener = await listen(
        bridge,
        review_socket,
        tls=parts.certificates.context,
        client_names=frozenset(options.client_names),
        on_stranger=parts.on_stranger,
        crowd=crowd,
        watchers=watchers,
    )
    probe_listener = await listen(
        probes, probe_socket, crowd=Crowd(_MOST_PROBES), watchers=watchers, watch=Watch.PROBES
    )
    watching = [
        asyncio.create_task(watchers.keep(Watch.POLICY, partial(look, parts.policies))),
        asyncio.create_task(watchers.keep(Watch.CERTIFICATE, partial(look, parts.certificates))),
        asyncio.create_task(watchers.keep(Watch.EXPIRY, parts.look_at_expiry)),
    ]
    report(f"serving {_url('https', listener)} policy {parts.policies.current().name}")
    report(f"probes and metrics {_url('http', probe_listener)}")
    await stop.asked.wait()
    bridge.draining = True
    await _drain(options, report, stop, bridge, listener)
    for task in watching:
        task.cancel()
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
