"""Finds or builds the servers of a real Kubernetes control plane for the end-to-end tests.

``python tests/controlplane/build.py`` prints the folder that holds them. Nothing but the standard
library is used here. The versions stand in go.mod beside this file and nowhere else.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent

COMMANDS: Mapping[str, str] = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}

HOW_TO_GET_IT = (
    "install Go (https://go.dev/dl/) and run: python tests/controlplane/build.py (about 7 minutes once on 2 cores, "
    "5 GB of Go caches), or let KUBEBUILDER_ASSETS name a folder that holds " + ", ".join(COMMANDS)
)

_BUILD_FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class UnavailableError(RuntimeError):
    """The servers are not on this machine and cannot be built here; the message says how to get them."""


class BuildError(RuntimeError):
    """Go is here but a build went wrong; this is a defect or a missing network, never a reason to skip."""


def module_version(module: str, folder: Path = HERE) -> str:
    """The version that go.mod of a folder requires of a module, such as ``v1.37.2``."""
    match = re.search(rf"^\s*(?:require\s+)?{re.escape(module)} (v\S+)", (folder / "go.mod").read_text(), re.MULTILINE)
    if match is None:
        raise BuildError(f"go.mod does not require {module}")
    return match.group(1)


def kubernetes_version() -> str:
    """The version of every Kubernetes server, such as ``v1.37.2``."""
    return module_version("k8s.io/kubernetes")


def system() -> tuple[str, str]:
    """GOOS and GOARCH of this machine, known without Go."""
    machine = platform.machine().lower()
    return sys.platform, _ARCHITECTURES.get(machine, machine)


def cache() -> Path:
    """Where everything is kept that is built for tests and benchmarks."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpupolicy"


def cache_folder() -> Path:
    """Where the binaries that we build are kept: outside the repository, one folder for each set of versions."""
    versions = (kubernetes_version(), module_version("go.etcd.io/etcd/server/v3"), *system())
    return cache() / "controlplane" / "-".join(versions)


def find_or_build(names: Sequence[str] = tuple(COMMANDS)) -> dict[str, Path]:
    """Paths of the binaries: from KUBEBUILDER_ASSETS, else from the cache, else built into the cache.

    Args:
        names: keys of COMMANDS.

    Returns:
        A path for every name.

    Raises:
        UnavailableError: one is missing and there is no Go to build it.
        BuildError: the build of one failed.
    """
    folder = cache_folder()
    found = {name: path for name in names if (path := _provided(name))}
    wanted = [name for name in names if name not in found]
    if missing := [name for name in wanted if not (folder / name).exists()]:
        _build_missing(missing, folder)
    return {name: found.get(name, folder / name) for name in names}


def find_or_build_program(target: Path, package: str, *, module: Path) -> Path:
    """One program of another module, built where it is missing.

    Args:
        target: where it is kept; its folder is its own and tells the version.
        package: of the program.
        module: the folder of the go.mod that names the package.

    Returns:
        The target.

    Raises:
        UnavailableError: it is missing and there is no Go to build it.
        BuildError: the build failed.
    """
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(f"no Go to build {target.name}: install it from https://go.dev/dl/")
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / ".lock"):
        if not target.exists():
            say(f"building {target.name} ...")
            build_command(go, package, target, module=module)
    return target


def assets_folder() -> Path:
    """One folder that holds every binary, built where missing; of links when they come from two places."""
    binaries = find_or_build()
    folders = {path.parent for path in binaries.values()}
    if len(folders) == 1:
        return folders.pop()
    return _folder_of_links(binaries)


def _provided(name: str) -> Path | None:
    """The binary that KUBEBUILDER_ASSETS offers."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    path = Path(assets, name).absolute() if assets else None
    return path if path and os.access(path, os.X_OK) and path.is_file() else None


def _folder_of_links(binaries: Mapping[str, Path]) -> Path:
    """A folder of links, named by what it links to, so that it never changes under a reader."""
    digest = hashlib.sha256(repr(sorted(binaries.items())).encode()).hexdigest()[:12]
    folder = cache_folder().with_name(f"links-{digest}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in binaries.items():
        temporary = folder / f".{name}.{os.getpid()}"
        temporary.symlink_to(path)
        temporary.replace(folder / name)
    return folder


def _build_missing(missing: Sequence[str], folder: Path) -> None:
    """Build what is missing, one run at a time; a run that waited finds the work of the other."""
    go = shutil.which("go")
    if go is None:
        raise UnavailableError(f"no {', '.join(missing)} and no Go to build them: {HOW_TO_GET_IT}")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        _remove_half_built(folder)
        for number, name in enumerate(missing, 1):
            if not (folder / name).exists():
                say(f"building {name} ({number} of {len(missing)}) ...")
                _build(go, name, folder)


def _remove_half_built(folder: Path) -> None:
    """Remove what a run left that was killed in the middle; only the holder of the lock may do so."""
    for name in COMMANDS:
        for path in folder.glob(f".{name}.*"):
            path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel releases when the holder dies."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is building; waiting for it ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(go: str, name: str, folder: Path) -> None:
    build_command(go, COMMANDS[name], folder / name, linker_flags=_linker_flags())


def build_command(go: str, package: str, target: Path, *, module: Path = HERE, linker_flags: str = "-s -w") -> None:
    """Build one binary; it appears under its name only when it is complete.

    Args:
        go: the go command.
        package: of the binary.
        target: where it will be.
        module: the folder of the go.mod that names the package.
        linker_flags: as ``-ldflags`` takes them.

    Raises:
        BuildError: the build failed.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        done = subprocess.run(
            [go, "build", *_BUILD_FLAGS, "-ldflags", linker_flags, "-o", str(temporary), package],
            cwd=module,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            raise BuildError(f"go build {package} failed:\n{done.stdout[-4000:]}")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _linker_flags() -> str:
    """Flags that name the version: without them the servers call themselves v0.0.0 and judge features by that."""
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".", 2)
    names = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in names.items())])


def _environment() -> dict[str, str]:
    """Build for this machine whatever the caller's Go settings aim at."""
    goos, goarch = system()
    return {**os.environ, "CGO_ENABLED": "0", "GOOS": goos, "GOARCH": goarch, "GOWORK": "off"}


def say(message: str) -> None:
    """Write a line of progress."""
    print(message, file=sys.stderr, flush=True)


def main() -> int:
    """Print the folder that holds every binary."""
    try:
        print(assets_folder())
    except (UnavailableError, BuildError) as error:
        say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
