"""Finds or builds what the benchmarks compare with, and prints where it is: conftest, Gatekeeper, Kyverno.

The version of each stands in the go.mod of its folder beside this file and nowhere else; the binaries are kept outside
of the repository. A build takes five to ten minutes on two processors, once.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from controlplane.build import BuildError, UnavailableError, cache, find_or_build_program, module_version, system

HERE = Path(__file__).resolve().parent

# name -> module, and the program's folder in it
COMMANDS: Mapping[str, tuple[str, str]] = {
    "conftest": ("github.com/open-policy-agent/conftest", ""),
    "gatekeeper": ("github.com/open-policy-agent/gatekeeper/v3", ""),
    "kyverno": ("github.com/kyverno/kyverno", "/cmd/kyverno"),
}


def version(name: str) -> str:
    """Returns the version that the program's go.mod requires."""
    return module_version(COMMANDS[name][0], HERE / name)


def find_or_build(name: str) -> Path:
    """Returns a binary, built where it is missing; it appears under its name only when it is complete.

    Raises:
        UnavailableError: there is no Go.
        BuildError: the build failed.
    """
    module, package = COMMANDS[name]
    folder = cache() / "peers" / "-".join((name, version(name), *system()))
    return find_or_build_program(folder / name, module + package, module=HERE / name)


def find_or_download(name: str) -> Path:
    """Returns the folder of the program's sources in Go's cache, which hold its manifests too.

    Raises:
        UnavailableError: there is no Go.
        BuildError: they could not be downloaded.
    """
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(f"no Go to find the manifests of {name}: install it from https://go.dev/dl/")
    command, environment = [go, "mod", "download", "-json", COMMANDS[name][0]], {**os.environ, "GOWORK": "off"}
    done = subprocess.run(command, cwd=HERE / name, env=environment, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout or "{}")
    if done.returncode or "Dir" not in answer:
        raise BuildError(f"{' '.join(command)} failed: {answer.get('Error') or done.stderr}")
    return Path(answer["Dir"])


def main() -> int:
    """Prints the paths of the binaries."""
    try:
        for name in COMMANDS:
            print(find_or_build(name))
    except (UnavailableError, BuildError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
