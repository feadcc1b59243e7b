"""Finds or builds programs that call our command line: kustomize and helm. Versions stand in go.mod beside this file.

One is built when the first test asks for it (about half a minute for kustomize, some minutes for helm on 2 cores), into
the cache beside the control plane's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from controlplane.build import UnavailableError, build_command, locked, module_version, say, system

HERE = Path(__file__).resolve().parent

COMMANDS: Mapping[str, tuple[str, str]] = {
    "kustomize": ("sigs.k8s.io/kustomize/kustomize/v5", ""),
    "helm": ("helm.sh/helm/v4", "/cmd/helm"),
}


def find_or_build(name: str) -> Path:
    """The path of a program, built into the cache where it is missing.

    Raises:
        UnavailableError: it is missing and there is no Go to build it.
        BuildError: the build failed.
    """
    module, package = COMMANDS[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpupolicy" / "tools"
    folder = cache / "-".join((name, module_version(module, HERE), *system()))
    target = folder / name
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(f"no Go to build {name}: install it from https://go.dev/dl/")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        if not target.exists():
            say(f"building {name} ...")
            build_command(go, module + package, target, module=HERE)
    return target
