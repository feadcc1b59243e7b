"""kube-scheduler: one process for each configuration, and the offline check of a configuration."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from controlplane import build
from e2e.processes import ServerProcess, answers_ok, free_port, started_on_free_port

Config = Mapping[str, Any]

_ERROR = re.compile(r'"command failed" err="((?:[^"\\]|\\.)*)"')
_ENABLED = re.compile(r'"the scheduler starts to work with those plugins" Plugins=(\{.*\})$', re.MULTILINE)


class Scheduler:
    """A kube-scheduler with one configuration; it can be stopped, killed and started again."""

    def __init__(self, binary: Path, config: Path, name: str, log_folder: Path) -> None:
        self.name = name
        self._binary, self._config, self._log_folder = binary, config, log_folder
        self.process = self._start()

    def _start(self) -> ServerProcess:
        """Start it and wait until it has read the cluster; a leader's stand-by is ready too."""

        def start() -> ServerProcess:
            port = free_port()
            serving = ["--bind-address", "127.0.0.1", "--secure-port", str(port)]
            process = ServerProcess(self.name, [self._binary, "--config", self._config, *serving], self._log_folder)
            process.wait_ready(lambda: answers_ok(f"https://127.0.0.1:{port}/readyz"))
            return process

        return started_on_free_port(start)

    def check_running(self) -> None:
        """Raise ServerError with the end of its log if it has ended."""
        self.process.check_running()

    def stop(self) -> None:
        """End it in order: a leader gives its lease back."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a crash would: a leader's lease has to run out."""
        self.process.kill()

    def restart(self) -> None:
        """Stop it if it runs, and start it again with an empty memory."""
        self.stop()
        self.process = self._start()

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def completed_config(config: Config | Path, kubeconfig: Path) -> dict[str, Any]:
    """A configuration made fit for the test plane, everything else kept.

    Added: the kubeconfig; qps and burst, without which bindings crawl; no leader election unless it is asked for.
    """
    read = yaml.safe_load(config.read_text()) if isinstance(config, Path) else config
    found = copy.deepcopy(dict(read))
    found["clientConnection"] = {
        "qps": 1000,
        "burst": 2000,
        **(found.get("clientConnection") or {}),
        "kubeconfig": str(kubeconfig),
    }
    found["leaderElection"] = {"leaderElect": False, **(found.get("leaderElection") or {})}
    return found


def check_scheduler_config(config: Config | Path) -> tuple[int, str, dict[str, Any] | None]:
    """Let kube-scheduler itself judge a configuration, in about 0.1 s and without a cluster.

    It decodes, validates, builds every profile and plugin, writes the defaulted configuration and exits.

    Args:
        config: the configuration, or a file that is given to it as it is.

    Returns:
        The exit status, the error message ("" if none), the defaulted configuration (None on error).
    """
    done, defaulted = _judge(config)
    return done.returncode, _error(done) if done.returncode else "", defaulted


def extension_points(plugins: Sequence[str]) -> dict[str, set[str]]:
    """The extension points at which kube-scheduler itself calls each plugin, by their names in a configuration.

    Enabled at ``multiPoint``, a plugin is enabled wherever it can be, and the log tells where.
    """
    everywhere = {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}}
    profile = {"schedulerName": "everywhere", "plugins": everywhere}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    done, _ = _judge({**kind, "profiles": [profile]}, "-v=2")
    match = _ENABLED.search(done.stderr)
    assert match, done.stderr
    found: dict[str, set[str]] = {plugin: set() for plugin in plugins}
    for point, enabled in json.loads(match.group(1)).items():
        for each in enabled["Enabled"] or ():
            found.setdefault(each["Name"], set()).add(point[0].lower() + point[1:])
    return found


def _judge(config: Config | Path, *flags: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any] | None]:
    """Run kube-scheduler until it has written the defaulted configuration, None where it refuses."""
    binary = build.find_or_build(["kube-scheduler"])["kube-scheduler"]
    with tempfile.TemporaryDirectory() as folder:
        given = config if isinstance(config, Path) else Path(folder, "config.json")
        if not isinstance(config, Path):
            given.write_text(json.dumps(config))
        written = Path(folder, "defaulted.yaml")
        nowhere = ["--secure-port", "0", "--master", "https://127.0.0.1:9"]
        command: list[str | Path] = [binary, "--config", given, *nowhere, "--write-config-to", written, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done, yaml.safe_load(written.read_text()) if done.returncode == 0 else None


def _error(done: subprocess.CompletedProcess[str]) -> str:
    """The error among the log lines of a failed check; all of them when it is not there."""
    match = _ERROR.search(done.stderr)
    return str(json.loads(f'"{match.group(1)}"')) if match else done.stderr
