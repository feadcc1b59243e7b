"""Gatekeeper and Kyverno outside of a cluster, each with the one rule, on a control plane that both need.

Each runs with the flags and variables of the Deployment in its own manifests, and with a few of ours.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from e2e.controlplane import ControlPlane
from e2e.processes import ServerProcess, answers_ok, free_port, wait_for
from e2e.rest import RefusedError
from peers.build import HERE, find_or_build, find_or_download, version
from review import read_bodies
from subjects import DENIED, Server

Manifest = Mapping[str, Any]

PATIENCE_SECONDS = 120
# What a controller needs before it starts; its roles do not matter, it is the administrator.
PREREQUISITES = ("Namespace", "CustomResourceDefinition", "ConfigMap", "ServiceAccount")


@contextmanager
def peers(pki: Path) -> Iterator[list[Server]]:
    """Runs both and gives them, ready and with their rule; ends everything afterwards.

    Args:
        pki: the folder of the certificate that Gatekeeper serves with; Kyverno makes its own, and tells its authority.

    Raises:
        UnavailableError: one of them or the control plane is not here and cannot be built.
        ServerError, WaitError, RefusedError: one does not start, or does not take its rule.
    """
    for name in ("gatekeeper", "kyverno"):
        find_or_build(name)
    with ControlPlane() as plane, ExitStack() as stack:
        for namespace in {json.loads(body)["request"]["namespace"] for body in read_bodies()} - {"default"}:
            plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        found = [start(plane, stack, pki) for start in (gatekeeper, kyverno)]
        for server in found:
            wait_for(lambda server=server: _refuses(server), PATIENCE_SECONDS, f"a denial of {server.name}")
        yield found


def gatekeeper(plane: ControlPlane, stack: ExitStack, pki: Path) -> Server:
    """Starts Gatekeeper with a constraint template in CEL."""
    manifests = read(find_or_download("gatekeeper") / "deploy/gatekeeper.yaml")
    port, health = free_port(), free_port()
    flags = [
        *(f"--kubeconfig={plane.kubeconfig()}", "--host=127.0.0.1", f"--port={port}"),
        *(f"--cert-dir={pki}", "--disable-cert-rotation", "--debug-use-fake-pod", "--operation=generate"),
        *(f"--health-addr=127.0.0.1:{health}", f"--prometheus-port={free_port()}"),
        *("--default-create-vap-for-templates=false", "--default-create-vap-binding-for-constraints=false"),
    ]
    process = started(plane, stack, "gatekeeper", manifests, "gatekeeper-controller-manager", flags)
    process.wait_ready(lambda: answers_ok(f"http://127.0.0.1:{health}/readyz"), PATIENCE_SECONDS)
    for manifest in read(HERE / "gatekeeper/rule.yaml"):
        create(plane, manifest)
    name, url = f"Gatekeeper {version('gatekeeper')}, CEL", f"https://127.0.0.1:{port}/v1/admit"
    return Server(name=name, pid=process.pid, url=url, authority=pki / "ca.crt")


def kyverno(plane: ControlPlane, stack: ExitStack, pki: Path) -> Server:
    """Starts Kyverno's admission controller with a ValidatingPolicy.

    Reports are off: their price is paid by the API server, which shares the processors. Its key is of our kind (ECDSA),
    because handshakes with its default (RSA) cost it more.
    """
    manifests = read(find_or_download("kyverno") / "config/install-latest-testing.yaml")
    port = free_port()
    flags = [
        *(f"--kubeconfig={plane.kubeconfig()}", f"--serverIP=127.0.0.1:{port}"),
        *("--webhookServerHost=127.0.0.1", f"--webhookServerPort={port}", "--tlsKeyAlgorithm=ECDSA"),
        *("--metricsHost=127.0.0.1", f"--metricsPort={free_port()}", "--controllerRuntimeMetricsAddress=0"),
        "--admissionReports=false",
    ]
    process = started(plane, stack, "kyverno", manifests, "kyverno-admission-controller", flags)
    process.wait_ready(lambda: answers_ok(f"https://127.0.0.1:{port}/health/readiness"), PATIENCE_SECONDS)
    for manifest in read(HERE / "kyverno/rule.yaml"):
        create(plane, manifest)
    registered = wait_for(lambda: _registered(plane), PATIENCE_SECONDS, "Kyverno's registration for pods")
    authority = pki / "kyverno-ca.crt"
    authority.write_bytes(base64.b64decode(registered["caBundle"]))
    return Server(
        name=f"Kyverno {version('kyverno')}, CEL", pid=process.pid, url=registered["url"], authority=authority
    )


def read(file: Path) -> list[Manifest]:
    """Returns the objects of a file."""
    with file.open("rb") as stream:
        return [manifest for manifest in yaml.load_all(stream, Loader=yaml.CSafeLoader) if manifest]


def started(
    plane: ControlPlane,
    stack: ExitStack,
    name: str,
    manifests: Sequence[Manifest],
    deployment: str,
    flags: Sequence[str],
) -> ServerProcess:
    """Creates what a program needs and runs it as its Deployment says.

    Args:
        plane: where.
        stack: ends it.
        name: of the program.
        manifests: its own.
        deployment: the name of the Deployment among them.
        flags: those of ours, after its own.
    """
    needed = [manifest for manifest in manifests if manifest["kind"] in PREREQUISITES]
    for manifest in needed:
        create(plane, manifest)
    kinds = [manifest for manifest in needed if manifest["kind"] == "CustomResourceDefinition"]
    wait_for(lambda: all(_is_served(plane, kind) for kind in kinds), message=f"the kinds of {name}")
    (found,) = (each for each in manifests if (each["kind"], each["metadata"]["name"]) == ("Deployment", deployment))
    container = found["spec"]["template"]["spec"]["containers"][0]
    command = ["/usr/bin/env", *_variables(container, found), str(find_or_build(name)), *container["args"], *flags]
    process = ServerProcess(name, command, plane.log_folder)
    stack.callback(process.kill)
    return process


def _variables(container: Manifest, deployment: Manifest) -> list[str]:
    """Returns the variables of a container, which may be the name or the namespace of its pod."""
    metadata = {"metadata.name": f"{deployment['metadata']['name']}-0"}
    metadata |= {"metadata.namespace": deployment["metadata"]["namespace"]}
    return [
        f"{each['name']}={each['value'] if 'value' in each else metadata[each['valueFrom']['fieldRef']['fieldPath']]}"
        for each in container["env"]
    ]


def _is_served(plane: ControlPlane, definition: Manifest) -> bool:
    """Returns whether objects of a kind may be created."""
    conditions = plane.api().get(definition).body.get("status", {}).get("conditions", ())
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def create(plane: ControlPlane, manifest: Manifest) -> None:
    """Creates an object, as soon as its kind is there and its webhooks answer."""
    refusals: list[str] = []

    def is_created() -> bool:
        try:
            plane.create(manifest)
        except RefusedError as error:
            refusals.append(str(error))
            return False
        return True

    wait_for(is_created, 60, lambda: refusals[-1], interval=0.2)


def _registered(plane: ControlPlane) -> Mapping[str, str] | None:
    """Returns how Kyverno told the API server to ask for its ValidatingPolicy."""
    found = plane.api().list("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations")
    clients = (webhook["clientConfig"] for each in found for webhook in each.get("webhooks", ()))
    return next((client for client in clients if "/vpol/" in client.get("url", "")), None)


def _refuses(server: Server) -> bool:
    try:
        return server.refuses(DENIED)
    except OSError:
        return False
