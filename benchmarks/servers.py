"""The webhook and, on the same server, a Flask view that allows: each a process on loopback."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from e2e.processes import ServerProcess
from subjects import Server

ROOT = Path(__file__).resolve().parents[1]
MUTATE, VALIDATE, VIEW = "gpupolicy serve /mutate", "gpupolicy serve /validate", "Flask view: parses, allows"


@contextmanager
def webhook_and_view(policy: Path, pki: Path) -> Iterator[list[Server]]:
    """Runs both and gives what of them is asked; ends them afterwards.

    Args:
        policy: of the webhook.
        pki: the folder of their certificate and its authority, and for their logs.
    """
    authority, pair = pki / "ca.crt", (pki / "tls.crt", pki / "tls.key")
    serve = ["-m", "gpupolicy", "serve", policy, "--host", "127.0.0.1", "--port", "0", "--metrics-port", "0"]
    serve += ["--cert", pair[0], "--key", pair[1], "--drain-seconds", "0", "--log-format", "json"]
    script = ROOT / "benchmarks/review_server.py"
    with ExitStack() as stack:
        ours, url = _started(stack, "gpupolicy", serve, r"serving https://\S+?:(\d+) ", pki)
        view, other = _started(stack, "view", [script, policy, *pair], r"^(\d+)$", pki)
        yield [
            Server(name=MUTATE, pid=ours.pid, url=f"{url}/mutate", authority=authority),
            Server(name=VALIDATE, pid=ours.pid, url=f"{url}/validate", authority=authority),
            Server(name=VIEW, pid=view.pid, url=f"{other}/allow", authority=authority, judges=False),
        ]


def _started(
    stack: ExitStack, name: str, arguments: Sequence[str | Path], pattern: str, logs: Path
) -> tuple[ServerProcess, str]:
    """Returns a server that runs in Python, and the address of the port that its log tells first."""
    process = ServerProcess(name, [sys.executable, *arguments], logs)
    stack.callback(process.kill)
    port = re.compile(pattern, re.MULTILINE)
    process.wait_ready(lambda: bool(port.search(process.log.read_text())))
    found = port.search(process.log.read_text())
    assert found
    return process, f"https://127.0.0.1:{found[1]}"
