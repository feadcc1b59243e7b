"""Finds or builds programs that call our command line or judge what we ship. Versions stand in go.mod beside this file.

One is built when the first test asks for it (about half a minute for kustomize, a minute for our own program, some
minutes for helm on 2 cores), into the cache beside the control plane's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from controlplane.build import cache, find_or_build_program, module_version, system

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
    folder = cache() / "tools" / "-".join((name, module_version(module, HERE), *system()))
    return find_or_build_program(folder / name, module + package, module=HERE)


def find_or_build_own(name: str) -> Path:
    """The path of a program of ours, whose source is the folder of that name beside this file.

    Raises:
        UnavailableError: it is missing and there is no Go to build it.
        BuildError: the build failed.
    """
    source = HERE / name
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(source.iterdir()))).hexdigest()[:12]
    return find_or_build_program(cache() / "tools" / f"{name}-{digest}" / name, ".", module=source)
