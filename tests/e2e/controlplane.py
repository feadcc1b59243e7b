"""A real Kubernetes control plane on this machine: etcd, kube-apiserver, schedulers, kube-controller-manager."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from controlplane import build
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from e2e import identities
from e2e.contents import ClusterContents
from e2e.identities import ADMIN, CONTROLLER_MANAGER, SCHEDULER, Identities
from e2e.processes import ServerProcess, free_port, started_on_free_port, tail, wait_for
from e2e.rest import Api, Object
from e2e.schedulers import Config, Scheduler, check_scheduler_config, completed_config
from kubernetes import client as kubernetes_client
from urllib3.exceptions import HTTPError

__all__ = ["ADMIN", "ControlPlane", "Scheduler", "check_scheduler_config", "wait_for"]

CONTROLLERS = (
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "statefulset-controller",
)

# Set to 1 to keep the folder of every plane: logs, kubeconfigs, scheduler configurations, the audit log.
KEEP = "GPUPOLICY_E2E_KEEP"
_PREFIX = "gpupolicy-e2e-"
FOLDERS = Path(tempfile.gettempdir(), f"{_PREFIX}*")

# Without a kubelet and a node controller: ServiceAccount would want token secrets, and TaintNodesByCondition would
# keep every node made by hand tainted not-ready, so that nothing is ever scheduled.
_ADMISSION = ("--enable-admission-plugins", "NodeRestriction")
_NO_ADMISSION = ("--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition")

# Histograms that grow with every kind in a run and that nobody here reads; ``webhook_calls`` fetches the rest.
_NO_METRICS = (
    "apiserver_request_body_size_bytes",
    "apiserver_request_duration_seconds",
    "apiserver_request_sli_duration_seconds",
    "apiserver_watch_cache_initialization_duration_seconds",
    "apiserver_watch_cache_read_wait_seconds",
    "apiserver_watch_events_dispatch_duration_seconds",
    "apiserver_watch_events_sizes",
    "apiserver_watch_list_duration_seconds",
    "etcd_request_duration_seconds",
)

_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class ControlPlane(ClusterContents):
    """One control plane with a folder, ports and tokens of its own, to be used in a ``with`` statement.

    Webhooks are registered by address (``clientConfig.url: https://127.0.0.1:PORT/...`` and its ``caBundle``).
    Every server dies with this process, whatever ends it; ``stop`` ends them in order and removes the folder.
    """

    def __init__(
        self,
        *,
        users: Mapping[str, Sequence[str]] | None = None,
        audit: bool = False,
        apiserver_flags: Sequence[str] = (),
    ) -> None:
        """Prepare a control plane; ``with`` (or start) starts it.

        Args:
            users: more users with tokens, name -> groups. Others are impersonated and need no mention.
            audit: write an audit log (Metadata level, one line a request, with webhook annotations): audit_events.
            apiserver_flags: more flags of kube-apiserver.
        """
        super().__init__(self.api)
        self.identities = Identities(users or {})
        self._audit, self._apiserver_flags = audit, tuple(apiserver_flags)
        self._servers: list[ServerProcess] = []
        self._schedulers: list[Scheduler] = []
        self._controller_manager: ServerProcess | None = None
        self._apis: dict[str, Api] = {}
        self.server = ""

    def __enter__(self) -> ControlPlane:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start etcd and kube-apiserver and wait until the API is ready (about 4 s)."""
        self.binaries = build.find_or_build()
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self.log_folder = self.folder / "logs"
        self.log_folder.mkdir()
        self.identities.write_token_file(self.folder / "tokens.csv")
        self._start_etcd()
        started_on_free_port(self._start_apiserver)
        wait_for(self._has_system_namespaces, message="the namespaces that every cluster has")

    def stop(self) -> None:
        """Stop everything, the API server after those that talk to it, and remove the folder."""
        for api in self._apis.values():
            api.client.close()
        self._apis.clear()
        for scheduler in self.running_schedulers():
            scheduler.kill()
        for server in reversed(self._servers):
            server.kill()  # nothing is kept, so nothing has to be put in order
        self._servers.clear()
        if hasattr(self, "folder") and os.environ.get(KEEP) != "1":
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def certificate_authority(self) -> Path:
        """What kube-apiserver's certificate is verified with."""
        return self.folder / "certificates" / "apiserver.crt"

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig file for a user; any name will do, see Identities.identity."""
        # KUBECONFIG is a list with colons between its files, so no name of a file may hold one.
        path = self.folder / f"kubeconfig-{quote(user, safe='')}.json"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(
                identities.kubeconfig_text(self.identities.identity(user), self.server, self.certificate_authority)
            )
        return path

    def client(self, user: str = ADMIN) -> kubernetes_client.ApiClient:
        """The official Python client as a user: ``kubernetes.client.CoreV1Api(plane.client())``."""
        return self.api(user).client

    def api(self, user: str = ADMIN) -> Api:
        """Plain requests as a user, with the whole answer."""
        if user not in self._apis:
            identity = self.identities.identity(user)
            self._apis[user] = Api(identities.api_client(identity, self.server, self.certificate_authority))
        return self._apis[user]

    def kubectl(
        self, *arguments: str | Path, user: str = ADMIN, stdin: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as a user; a failure is a return code and words on stderr, not an exception."""
        home = {"HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig(user))}
        return subprocess.run(
            [self.binaries["kubectl"], *arguments],
            input=stdin if stdin is not None else "",
            env={"PATH": os.environ.get("PATH", ""), **home},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def scheduler(self, config: Config | Path, *, name: str | None = None, user: str = SCHEDULER) -> Scheduler:
        """Start a kube-scheduler with a configuration; use it in ``with``, or call its stop.

        Args:
            config: a KubeSchedulerConfiguration or its file. What a test plane needs is added (completed_config).
            name: of the process in logs.
            user: who it is; the default has exactly the rights that Kubernetes gives its own scheduler.
        """
        name = name or f"kube-scheduler-{len(self._schedulers) + 1}"
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(completed_config(config, self.kubeconfig(user)), indent=2))
        scheduler = Scheduler(self.binaries["kube-scheduler"], path, name, self.log_folder)
        self._schedulers.append(scheduler)
        return scheduler

    def running_schedulers(self) -> list[Scheduler]:
        """The schedulers that have been started and not ended."""
        return [scheduler for scheduler in self._schedulers if scheduler.process.is_running]

    def controller_manager(self, controllers: Sequence[str] = CONTROLLERS) -> ServerProcess:
        """Start kube-controller-manager, once; Deployments, Jobs and their like have no pods without it."""
        if self._controller_manager is None:
            command: list[str | Path] = [
                self.binaries["kube-controller-manager"],
                *("--kubeconfig", self.kubeconfig(CONTROLLER_MANAGER)),
                *("--controllers", ",".join(controllers)),
                *("--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=false"),
                *("--kube-api-qps=500", "--kube-api-burst=1000"),
            ]
            self._controller_manager = self._run("kube-controller-manager", command)
        return self._controller_manager

    def check_running(self) -> None:
        """Raise ServerError if a server other than the schedulers, which tests stop, has ended."""
        for server in self._servers:
            server.check_running()

    def audit_events(self, containing: str = "") -> list[Object]:
        """The requests so far (the audit log) with their annotations; ``audit=True`` is needed.

        Args:
            containing: only those in whose JSON this stands, such as the name of the test's namespace.
        """
        with (self.folder / "audit.log").open() as lines:
            return [json.loads(line) for line in lines if containing in line]

    def log_tails(self, lines: int = 20, logs: int = 4) -> str:
        """The ends of the logs that were written to last."""
        written = sorted(self.log_folder.glob("*.log"), key=lambda log: log.stat().st_mtime)
        return "\n".join(f"----- {log.name}\n{tail(log, lines)}" for log in written[-logs:])

    def _run(self, name: str, command: Sequence[str | Path]) -> ServerProcess:
        process = ServerProcess(name, command, self.log_folder)
        self._servers.append(process)
        return process

    def _start_etcd(self) -> None:
        """Start etcd on sockets in our folder: no port can collide, and nobody else on this machine gets in."""
        client, peer = (f"unix://{self.folder / name}" for name in ("etcd.sock", "etcd-peer.sock"))
        command: list[str | Path] = [
            self.binaries["etcd"],
            *("--name", "test", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync", "--log-level", "warn"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"test={peer}"),
        ]
        self._run("etcd", command)

    def _start_apiserver(self) -> None:
        """Start kube-apiserver and wait until it is ready, etcd included."""
        self._apis.clear()
        port = free_port()
        self.server = f"https://127.0.0.1:{port}"
        process = ServerProcess("kube-apiserver", self._apiserver_command(port), self.log_folder)
        process.wait_ready(lambda: self.certificate_authority.exists() and self._is_ready())
        self._servers.append(process)

    def _is_ready(self) -> bool:
        """Whether *our* API server is ready: another plane's on the same port does not know our token."""
        try:
            return self.api().request("GET", "/readyz").accepted
        except (OSError, HTTPError):
            return False

    def _has_system_namespaces(self) -> bool:
        """The API server makes them shortly after it is ready."""
        found = {item["metadata"]["name"] for item in self.api().list("/api/v1/namespaces")}
        return {"default", "kube-system"} <= found

    def _apiserver_command(self, port: int) -> list[str | Path]:
        key = self.folder / "service-accounts.key"
        _write_key(key)
        audit: tuple[str | Path, ...] = ()
        if self._audit:
            (self.folder / "audit-policy.json").write_text(json.dumps(_AUDIT_POLICY))
            log = self.folder / "audit.log"
            audit = ("--audit-policy-file", self.folder / "audit-policy.json", "--audit-log-path", log)
        return [
            self.binaries["kube-apiserver"],
            *("--etcd-servers", f"unix://{self.folder / 'etcd.sock'}"),
            *("--bind-address", "127.0.0.1", "--secure-port", str(port)),
            *("--cert-dir", self.folder / "certificates"),
            *("--service-account-key-file", key, "--service-account-signing-key-file", key),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--service-cluster-ip-range", "10.0.0.0/24"),
            *("--token-auth-file", self.folder / "tokens.csv", "--authorization-mode", "Node,RBAC"),
            "--allow-privileged",
            *_ADMISSION,
            *_NO_ADMISSION,
            *("--disabled-metrics", ",".join(_NO_METRICS)),
            *audit,
            *self._apiserver_flags,
        ]


def _write_key(path: Path) -> None:
    """Write a private key that signs service account tokens; kube-apiserver reads no PKCS#8 as a public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
