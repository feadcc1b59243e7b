"""Our product on the test control plane: the real ``gpupolicy serve``, and what ``gpupolicy compile`` emits for it."""

from __future__ import annotations

import base64
import re
import secrets
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from e2e import objects
from e2e.controlplane import ControlPlane
from e2e.processes import ServerError, ServerProcess, wait_for
from e2e.rest import Object
from prometheus_client.parser import text_string_to_metric_families

from gpupolicy import compile, load
from gpupolicy.certificates import TRIAL_NAMES, renew
from gpupolicy.compiler import Order, compile_manifests
from gpupolicy.model import Policy

_REVIEWS = re.compile(r"^serving https://127\.0\.0\.1:(\d+) policy ", re.MULTILINE)
_PROBES = re.compile(r"^probes and metrics http://127\.0\.0\.1:(\d+)$", re.MULTILINE)
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_MARKER = "gpupolicy-marker"


class PolicyServer:
    """``gpupolicy serve`` as a process of its own on loopback; it dies with us, and stop ends it before."""

    def __init__(
        self,
        policy_file: Path,
        folder: Path,
        logs: Path,
        *,
        port: int = 0,
        kubeconfig: Path | None = None,
        options: Sequence[str | Path] = (),
    ) -> None:
        """Start it and wait until it is ready.

        Args:
            policy_file: read again by the server when it changes.
            folder: certificates are made here unless they are there.
            logs: the folder of its log, which has a name of its own.
            port: for reviews; 0: a free one. A server that comes back takes the port of the one that ended.
            kubeconfig: who it is to the API server, for a policy that selects namespaces by labels.
            options: more of the command.
        """
        self.authority = renew(folder, TRIAL_NAMES, now=datetime.now(UTC)).authority
        command: list[str | Path] = [
            *(sys.executable, "-m", "gpupolicy", "serve", policy_file),
            *("--host", "127.0.0.1", "--port", str(port), "--metrics-port", "0", "--drain-seconds", "0"),
            *("--cert", folder / "tls.crt", "--key", folder / "tls.key"),
            *(("--kubeconfig", kubeconfig) if kubeconfig else ()),
            *options,
        ]
        self.process = ServerProcess(f"gpupolicy-{secrets.token_hex(4)}", command, logs)
        log = self.process.log
        self.process.wait_ready(lambda: bool(_PROBES.search(log.read_text())))
        self.port = int(_found(_REVIEWS, log))
        self._metrics = f"http://127.0.0.1:{_found(_PROBES, log)}/metrics"

    @property
    def url(self) -> str:
        """Where it answers reviews, without a path."""
        return f"https://127.0.0.1:{self.port}"

    def reviews(self, **labels: str) -> int:
        """How many reviews it has answered, dry runs included.

        Args:
            labels: only those with these values: operation, verdict (allow, warn, deny, skip), dry_run.
        """
        return self.count("gpupolicy_reviews_total", **labels)

    def failures(self) -> int:
        """How many requests it has answered by an HTTP error."""
        return self.count("gpupolicy_request_failures_total")

    def count(self, metric: str, **labels: str) -> int:
        """The sum of a metric over all its label values but the given ones."""
        with _DIRECT.open(self._metrics, timeout=5) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        samples = (sample for family in families for sample in family.samples if sample.name == metric)
        return int(sum(sample.value for sample in samples if labels.items() <= sample.labels.items()))

    def stop(self) -> None:
        """End it in order, as a pod is ended."""
        self.process.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The webhook of one policy, served and registered."""

    plane: ControlPlane
    policy: Policy
    policy_file: Path
    folder: Path  # of its certificates
    server: PolicyServer

    @contextmanager
    def served_again(self) -> Iterator[PolicyServer]:
        """The webhook back at its address, after its server was stopped."""
        server = PolicyServer(self.policy_file, self.folder, self.plane.log_folder, port=self.server.port)
        try:
            yield server
        finally:
            server.stop()

    @property
    def route_hook(self) -> str:
        """The name of the mutating webhook, by which the API server counts (``plane.webhook_calls``)."""
        return f"route.{self.policy.name}.gpupolicy.dev"

    @property
    def check_hook(self) -> str:
        """The name of the validating webhook."""
        return f"check.{self.policy.name}.gpupolicy.dev"

    def calls(self) -> tuple[int, int]:
        """How often the API server has asked the mutating and the validating webhook, refused connections included."""
        route, check = self.plane.webhook_calls(self.route_hook, self.check_hook)
        return route, check

    def calls_during(self, action: Callable[[], object]) -> tuple[int, int]:
        """How often the two are asked because of something that a test does."""
        before = self.calls()
        action()
        after = self.calls()
        return after[0] - before[0], after[1] - before[1]


@contextmanager
def installed(plane: ControlPlane, policy_file: Path, *, kubeconfig: Path | None = None) -> Iterator[Product]:
    """Serve a policy and register it as compiled; on leaving, nothing of it is asked any more.

    The registration holds for the whole cluster, as in earnest, so leave it before another one of the same kind.
    ``kubeconfig`` is needed by a policy that selects namespaces by labels.
    """
    policy = load(policy_file)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpupolicy-serve-")))
        server = PolicyServer(policy_file, folder, plane.log_folder, kubeconfig=kubeconfig)
        stack.callback(server.stop)
        stack.callback(unregister, plane, policy)
        register(plane, policy, server)
        yield Product(plane=plane, policy=policy, policy_file=policy_file, folder=folder, server=server)


def shipped(name: str) -> Path:
    """The file of a policy that we ship: classic, reserve, packing, mixed-fleet, mig, multi-tenant."""
    return Path(__file__).parents[2] / "policies" / f"{name}.yaml"


def variant(name: str, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a policy that we ship with a change.

    Args:
        name: of the shipped policy.
        folder: where the file is written.
        change: alters the policy's spec in place.
    """
    document = yaml.safe_load(shipped(name).read_text())
    change(document["spec"])
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


def registration(policy: Policy, server: PolicyServer) -> list[Object]:
    """The compiled webhook configurations; only where the API server finds the webhook is another."""
    documents = compile(policy, ("webhook",), ca_bundle=server.authority)
    return [_by_address(each, server) for each in documents if "WebhookConfiguration" in str(each["kind"])]


def register(plane: ControlPlane, policy: Policy, server: PolicyServer) -> None:
    """Register the webhook and wait until the API server asks both of its hooks."""
    plane.apply(registration(policy, server))

    def is_live() -> bool:
        before = server.reviews()
        ask(plane, policy)
        return server.reviews() >= before + 2

    wait_for(is_live, message="both webhooks asked")


def unregister(plane: ControlPlane, policy: Policy) -> None:
    """Remove the webhook's configurations and wait until the API server has forgotten them."""
    hooks = (f"route.{policy.name}.gpupolicy.dev", f"check.{policy.name}.gpupolicy.dev")
    for path in plane.cluster_wide_objects():
        if path.endswith(f"webhookconfigurations/gpupolicy-{policy.name}"):
            plane.api().request("DELETE", path)

    def is_forgotten() -> bool:
        before = plane.webhook_calls(*hooks)
        ask(plane, policy)
        return plane.webhook_calls(*hooks) == before

    wait_for(is_forgotten, message="no webhook asked any more")


def ask(plane: ControlPlane, policy: Policy) -> bool:
    """Make a dry run of a pod that every hook of the policy is asked about and none refuses: it asks for 0 GPUs."""
    marker = objects.pod(_MARKER, 0)
    marker["spec"]["containers"][0]["resources"]["limits"] = {policy.resource_names[0]: "0"}
    return plane.api().post(marker, namespace="default", dry_run=True).accepted


def label_nodes(plane: ControlPlane, policy: Policy) -> dict[str, str]:
    """Apply what ``gpupolicy compile --target nodes --nodes`` emits for the nodes that are there.

    Returns:
        The slot group of every node that has one.
    """
    order = Order(policy=policy, nodes=tuple(plane.api().list("/api/v1/nodes")))
    ours = [each.document for each in compile_manifests(order, ("nodes",)) if each.kept_apart is None]
    plane.apply(ours, field_manager="gpupolicy")
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in plane.api().list("/api/v1/nodes")}
    group = policy.labels.node_group
    return {node: found[group] for node, found in sorted(labels.items()) if group in found}


def _by_address(configuration: Mapping[str, object], server: PolicyServer) -> Object:
    hooks = configuration["webhooks"]
    assert isinstance(hooks, list)
    return {**configuration, "webhooks": [{**hook, "clientConfig": _client(hook, server)} for hook in hooks]}


def _client(hook: Object, server: PolicyServer) -> dict[str, str]:
    path = hook["clientConfig"]["service"]["path"]
    return {"url": server.url + path, "caBundle": base64.b64encode(server.authority).decode()}


def _found(pattern: re.Pattern[str], log: Path) -> str:
    if match := pattern.search(log.read_text()):
        return match[1]
    raise ServerError(f"no line like {pattern.pattern} in:\n{log.read_text()}")
