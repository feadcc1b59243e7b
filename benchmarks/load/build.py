"""Builds the load client from the Go file beside this one, and prints where it is.

Only Go's standard library is needed: some seconds, no network. The binary is kept outside of the repository, under a
name that tells its source.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOW_TO_GET_IT = "no Go to build the load client (benchmarks/load): install it from https://go.dev/dl/"


class UnavailableError(RuntimeError):
    """There is neither the binary nor Go to build it; the message says how to get it."""


def find_or_build() -> Path:
    """Returns the binary, built where it is missing; it appears under its name only when it is complete.

    Raises:
        UnavailableError: there is no Go.
        subprocess.CalledProcessError: the build failed.
    """
    digest = hashlib.sha256((HERE / "main.go").read_bytes()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = cache / "gpupolicy" / "load" / f"load-{digest}"
    if path.exists():
        return path
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(HOW_TO_GET_IT)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
        command = [go, "build", "-buildvcs=false", "-trimpath", "-o", str(temporary), "."]
        subprocess.run(command, cwd=HERE, env=environment, check=True)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def main() -> int:
    """Prints the path of the binary."""
    try:
        print(find_or_build())
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
