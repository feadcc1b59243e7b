"""``gpupolicy serve`` as it is deployed: mounted files, ports that are known before, and a process to look at."""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO

from e2e.processes import free_port, wait_for
from serving import Endpoint
from starting import start

from gpupolicy.certificates import TRIAL_NAMES, issue, renew
from gpupolicy.certificates.authority import KeyPair

POLICY = Path(__file__).resolve().parents[2] / "policies/classic.yaml"


class Mount:
    """A folder as kubelet mounts a ConfigMap or a Secret: links through ``..data``, swapped as one."""

    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self.folder = folder
        folder.mkdir()
        self.swap(files)
        for name in files:
            (folder / name).symlink_to(f"..data/{name}")

    def swap(self, files: Mapping[str, bytes]) -> None:
        """Puts new contents in place of all old ones, at once, and removes the old ones."""
        data, fresh = self.folder / "..data", self.folder / f"..{secrets.token_hex(4)}"
        old = data.resolve() if data.is_symlink() else None
        fresh.mkdir()
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        (self.folder / "..tmp").symlink_to(fresh.name)
        os.replace(self.folder / "..tmp", data)
        if old:
            shutil.rmtree(old)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


class Installation:
    """A policy and certificates of one authority, mounted; what all replicas share."""

    def __init__(self, folder: Path, policy: str | None = None) -> None:
        self.folder = folder
        pki = folder / "pki"
        pki.mkdir()
        renew(pki, TRIAL_NAMES, now=datetime.now(UTC))
        self.authority = pki / "ca.crt"
        self._signer = KeyPair(certificate=self.authority.read_bytes(), key=(pki / "ca.key").read_bytes())
        self.text = policy if policy is not None else POLICY.read_text()
        self.tls = Mount(folder / "tls", self.certificate())
        self.policy = Mount(folder / "policy", {"policy.yaml": self.text.encode()})

    def certificate(self) -> dict[str, bytes]:
        """A new certificate and its key, as the files of a Secret."""
        pair = issue(self._signer, TRIAL_NAMES, now=datetime.now(UTC))
        return {"tls.crt": pair.certificate, "tls.key": pair.key}

    def replica(
        self, *options: str, stderr: Path | IO[bytes] | None = None, port: int = 0, environment: Mapping[str, str] = {}
    ) -> Replica:
        """A process that serves them."""
        return Replica(self, options, stderr, port, environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a process holds: resident and virtual bytes, threads, open descriptors."""

    rss: int
    virtual: int
    threads: int
    descriptors: int


class Replica:
    """One process; to be used in a ``with`` statement, which starts it, waits until it is ready, and kills it."""

    def __init__(
        self,
        installation: Installation,
        options: tuple[str, ...],
        stderr: Path | IO[bytes] | None,
        port: int,
        environment: Mapping[str, str],
    ) -> None:
        self.installation = installation
        self.port, self.probe_port = port or free_port(), free_port()
        self.log = installation.folder / f"replica-{self.port}-{secrets.token_hex(2)}.log"
        self._options, self._stderr, self._environment = options, stderr, environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Replica:
        shared = self.installation
        command = [
            *(sys.executable, "-m", "gpupolicy", "serve", str(shared.policy / "policy.yaml")),
            *("--cert", str(shared.tls / "tls.crt"), "--key", str(shared.tls / "tls.key"), "--host", "127.0.0.1"),
            *("--port", str(self.port), "--metrics-port", str(self.probe_port), *self._options),
        ]
        self.log.touch()
        stderr = self._stderr if self._stderr is not None else self.log
        with open(stderr, "ab") if isinstance(stderr, Path) else _borrowed(stderr) as file:
            self._process = start(
                command, stderr=file, stdout=subprocess.DEVNULL, env={**os.environ, **self._environment}
            )
        try:
            wait_for(self._is_ready_or_ended, message=lambda: f"ready; its log:\n{self.log.read_text()}")
            assert self.process.poll() is None, self.log.read_text()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.kill()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process, once started."""
        assert self._process
        return self._process

    @property
    def endpoint(self) -> Endpoint:
        """Its port for reviews."""
        return Endpoint(self.port, self.installation.authority)

    def _is_ready_or_ended(self) -> bool:
        return self.process.poll() is not None or self.is_ready()

    def is_ready(self) -> bool:
        """Whether it says so."""
        return (self.probe("/readyz") or (0, ""))[0] == 200

    def probe(self, path: str) -> tuple[int, str] | None:
        """Status and body of a path on the plain port; None where nobody answers."""
        connection = HTTPConnection("127.0.0.1", self.probe_port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()

    def count(self, sample: str) -> float:
        """The value of a metric's sample, written as in the text format; 0 where there is none yet."""
        _, text = self.probe("/metrics") or (0, "")
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.rpartition(" ")[0] == sample)

    def wait_for_log(self, text: str) -> None:
        """Waits for something on standard error."""
        wait_for(lambda: text in self.log.read_text(), message=lambda: f"{text!r} in\n{self.log.read_text()}")

    def size(self) -> Size:
        """What the process holds now."""
        folder = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return Size(
            rss=int(status["VmRSS"].split()[0]) * 1024,
            virtual=int(status["VmSize"].split()[0]) * 1024,
            threads=int(status["Threads"]),
            descriptors=len(list((folder / "fd").iterdir())),
        )

    def forget_peak(self) -> None:
        """Begins anew with the most that it held."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def peak(self) -> int:
        """The most resident bytes that it ever held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024

    def limit(self, what: int, value: int) -> None:
        """Sets a resource limit of the running process (``resource.RLIMIT_...``)."""
        _, hard = resource.prlimit(self.process.pid, what)
        resource.prlimit(self.process.pid, what, (value, hard))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal that ends it, and returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()


@contextmanager
def _borrowed(file: IO[bytes]) -> Iterator[IO[bytes]]:
    yield file
