"""Finds or builds conftest, with which benchmarks/check.py compares, and prints where it is.

The version stands in go.mod beside this file and nowhere else; the binary is kept outside of the repository.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE = "github.com/open-policy-agent/conftest"
HOW_TO_GET_IT = "install Go (https://go.dev/dl/) and run: python benchmarks/peers/build.py (about 5 minutes once)"


class UnavailableError(RuntimeError):
    """Neither the binary nor Go to build it is here; the message says how to get them."""


def version() -> str:
    """Returns the version that go.mod requires."""
    matched = re.search(rf"{re.escape(MODULE)} (v\S+)", (HERE / "go.mod").read_text())
    if matched is None:
        raise RuntimeError(f"go.mod does not require {MODULE}")
    return matched.group(1)


def binary() -> Path:
    """Returns where the binary is kept, built or not."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "gpupolicy" / "peers" / f"{version()}-{sys.platform}-{platform.machine().lower()}" / "conftest"


def find_or_build() -> Path:
    """Returns the binary, built where it is missing; it appears under its name only when it is complete.

    Raises:
        UnavailableError: there is no Go.
        subprocess.CalledProcessError: the build failed.
    """
    path = binary()
    if path.exists():
        return path
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(f"no conftest and no Go to build it: {HOW_TO_GET_IT}")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".conftest.{os.getpid()}")
    print(f"building conftest {version()} ...", file=sys.stderr, flush=True)
    try:
        flags = ("-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", str(temporary))
        environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
        subprocess.run([go, "build", *flags, MODULE], cwd=HERE, env=environment, check=True)
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
