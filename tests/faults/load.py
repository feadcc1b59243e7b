"""A load of reviews beside a test: the client of benchmarks/load as a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from starting import start

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60

# Variables of the environment: how long each load lasts, and that of the soak; see the Makefile.
SECONDS, SOAK_SECONDS = "GPUPOLICY_FAULTS_SECONDS", "GPUPOLICY_SOAK_SECONDS"

# The short form shares the machine with other tests: so many reviews a second, not as many as there can be.
PACE: Mapping[str, object] = {} if SECONDS in os.environ else {"rate": 150}


def _builder() -> ModuleType:
    """benchmarks/load/build.py; benchmarks is no package of the tests."""
    spec = importlib.util.spec_from_file_location("load_build", ROOT / "benchmarks/load/build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _builder()


def find_or_build() -> Path:
    """The client's binary; raises ``BUILD.UnavailableError`` where there is no Go."""
    return Path(BUILD.find_or_build())


def reviews() -> list[Path]:
    """Captured reviews of pods at CREATE."""
    files = sorted((ROOT / "tests/data/reviews").glob("*-create-pods-*.json"))
    return [file for file in files if "binding" not in file.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a load says when it ends; times in milliseconds."""

    reviews: int
    failed: int
    failures: Mapping[str, int]
    rate: float
    p50: float
    p99: float
    connections: int
    retried: int
    allowed: int
    denied: int


class Load:
    """Reviews that are asked for until ``finish``."""

    def __init__(self, port: int, authority: Path, options: Mapping[str, object], files: Sequence[Path]) -> None:
        chosen = {"url": f"https://127.0.0.1:{port}/mutate", "ca": authority, "seconds": 3600, **options}
        command = [str(find_or_build()), *(f"-{name}={value}" for name, value in chosen.items()), *map(str, files)]
        self._process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr
        if (line := self._process.stderr.readline()) != "started\n":
            raise AssertionError(line + self._process.stderr.read())

    def finish(self) -> Report:
        """Ends it, after the reviews that are under way, and returns what it saw."""
        self._process.send_signal(signal.SIGTERM)
        out, err = self._process.communicate(timeout=PATIENCE_SECONDS)
        assert self._process.returncode == 0, err
        said: dict[str, Any] = json.loads(out)
        return Report(**{name: said[name] for name in Report.__slots__})

    def kill(self) -> None:
        """Ends it without a word."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def loading(
    port: int, authority: Path, *, workers: int = 8, files: Sequence[Path] = (), **options: object
) -> Iterator[Load]:
    """Asks for reviews meanwhile.

    Args:
        port: on loopback.
        authority: what the client trusts.
        workers: how many ask at once.
        files: bodies of reviews; default: the captured ones.
        options: more of the client: rate (0: as many as there can be; default: PACE), reconnect, timeout.
    """
    load = Load(port, authority, {"workers": workers, **PACE, **options}, files or reviews())
    try:
        yield load
    finally:
        load.kill()
