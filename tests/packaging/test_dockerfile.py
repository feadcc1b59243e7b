"""The Dockerfile's own steps, run in a folder instead of an image, and its entry point as Kubernetes would start it.

There is no container engine in this test: what a base image brings and how layers are made is not shown here.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import gpupolicy
from gpupolicy import compile, load
from gpupolicy.certificates import TRIAL_NAMES
from gpupolicy.policies import __file__ as policies_package

ROOT = Path(__file__).parents[2]
CLASSIC = Path(policies_package).with_name("classic.yaml")

pytestmark = pytest.mark.packaging
NOBODY = 65532
PROBES = re.compile(r"probes and metrics http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile: its word and the rest, continued lines joined."""

    word: str
    rest: str


def instructions() -> list[Instruction]:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, without what stands before the first FROM."""
    found: list[list[Instruction]] = []
    for each in instructions():
        if each.word == "FROM":
            found.append([])
        if found:
            found[-1].append(each)
    return found


def only(stage: list[Instruction], word: str) -> str:
    (found,) = [each.rest for each in stage if each.word == word]
    return found


def is_ignored(path: str) -> bool:
    """Whether .dockerignore leaves a file out: the last pattern that fits it, or a folder above it, decides."""
    ignored = False
    parts = path.split("/")
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if (
            line
            and not line.startswith("#")
            and any(_fits("/".join(parts[: i + 1]), pattern) for i in range(len(parts)))
        ):
            ignored = not line.startswith("!")
    return ignored


def _fits(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch(path.split("/")[-1], pattern[3:])
    return path.count("/") == pattern.count("/") and fnmatch(path, pattern)


@dataclass
class Folder:
    """A folder that stands for the root of the image under construction."""

    root: Path
    place: Path = field(init=False)

    def __post_init__(self) -> None:
        self.place = self.root
        subprocess.run([sys.executable, "-m", "venv", self.root / "usr" / "local"], check=True)

    def run(self, stage: list[Instruction]) -> None:
        """Do what a stage says; an instruction that is not known here fails."""
        for each in stage:
            {"FROM": self._nothing, "WORKDIR": self._workdir, "COPY": self._copy, "RUN": self._shell}[each.word](
                each.rest
            )

    def inside(self, text: str) -> str:
        """A text with the image's paths of our making replaced by those in the folder."""
        return (
            re.sub(r"(?<![\w/])/(opt|src)/", f"{self.root}/\\1/", text + " ")
            .rstrip()
            .replace(" /opt/gpupolicy ", f" {self.root}/opt/gpupolicy ")
        )

    def _nothing(self, rest: str) -> None:
        pass

    def _workdir(self, rest: str) -> None:
        self.place = self.root / rest.lstrip("/")
        self.place.mkdir(parents=True)

    def _copy(self, rest: str) -> None:
        *sources, target = shlex.split(rest)
        for source in sources:
            for file in sorted(p for p in [ROOT / source, *(ROOT / source).rglob("*")] if p.is_file()):
                name = file.relative_to(ROOT).as_posix()
                if not is_ignored(name):
                    inside = file.relative_to(ROOT / source) if file != ROOT / source else Path(file.name)
                    copy = self.place / target / inside
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, copy)

    def _shell(self, rest: str) -> None:
        environment = {"PATH": f"{self.root}/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root)}
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_PROXY")}
        done = subprocess.run(
            ["/bin/sh", "-c", self.inside(rest)],
            cwd=self.place,
            env={**kept, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{rest}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def image() -> Iterator[Folder]:
    """What the first stage leaves; below /tmp itself, so that another user can reach it."""
    root = Path(tempfile.mkdtemp(prefix="gpupolicy-image-"))
    root.chmod(0o755)
    try:
        folder = Folder(root)
        folder.run(stages()[0])
        yield folder
    finally:
        shutil.rmtree(root)


def final() -> list[Instruction]:
    return stages()[1]


def test_the_second_stage_takes_the_environment_alone_and_runs_nothing() -> None:
    words = [each.word for each in final()]

    assert only(final(), "COPY") == "--from=build /opt/gpupolicy /opt/gpupolicy"
    assert set(words) == {"FROM", "ARG", "LABEL", "COPY", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}


def test_user_and_ports_are_those_of_the_compiled_pods() -> None:
    pod = pod_spec()
    security = pod["securityContext"]
    (container,) = pod["containers"]

    assert only(final(), "USER") == f"{security['runAsUser']}:{security['runAsGroup']}"
    assert only(final(), "EXPOSE").split() == [str(port["containerPort"]) for port in container["ports"]]
    assert "command" not in container  # so the image's entry point runs, with the compiled arguments


def test_labels_tell_the_version_and_licence_of_the_package() -> None:
    labels = dict(each.split("=", 1) for each in shlex.split(only(final(), "LABEL")))

    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert next(each.rest for each in final() if each.word == "ARG") == f"VERSION={gpupolicy.__version__}"


def test_only_what_is_built_from_goes_to_the_engine() -> None:
    kept = {path.name for path in ROOT.iterdir() if not is_ignored(path.name)}

    assert kept == {
        "pyproject.toml",
        "setup.cfg",
        "README.md",
        "LICENSE",
        "gpupolicy",
        "policies",
        "templates",
        "webhook",
    }
    assert is_ignored("gpupolicy/cli/__pycache__/x.pyc")
    assert not is_ignored("gpupolicy/cli/__init__.py")


def test_the_environment_holds_the_package_its_extras_and_no_installer(image: Folder) -> None:
    (site,) = (image.root / "opt" / "gpupolicy" / "lib").glob("python3*/site-packages")
    there = {path.name for path in site.iterdir()}

    assert {"gpupolicy", "flask", "cryptography", "uvicorn", "httptools", "prometheus_client", "kubernetes"} <= there
    assert not {"pip", "setuptools"} & there
    assert (site / "gpupolicy" / "cli" / "__pycache__").is_dir()  # compiled, as a read-only root keeps nothing


def test_the_sbom_names_what_is_installed_with_its_versions(image: Folder) -> None:
    sbom = json.loads((image.root / "opt" / "gpupolicy" / "sbom.cdx.json").read_text())
    (site,) = (image.root / "opt" / "gpupolicy" / "lib").glob("python3*/site-packages")
    installed = {
        name.rsplit("-", 1)[0].lower().replace("_", "-") for name in (p.stem for p in site.glob("*.dist-info"))
    }
    named = {each["name"].lower().replace("_", "-").replace(".", "-"): each["version"] for each in sbom["components"]}

    assert sbom["bomFormat"] == "CycloneDX"
    assert set(named) == {name.replace(".", "-") for name in installed}
    assert named["gpupolicy"] == gpupolicy.__version__


def pod_spec() -> Any:
    (deployment,) = [
        each for each in compile(load(CLASSIC), ("webhook",), ca_bundle=b"x") if each["kind"] == "Deployment"
    ]
    template: Any = deployment["spec"]
    return template["template"]["spec"]


@pytest.fixture
def mounted() -> Iterator[Path]:
    """What Kubernetes mounts: the policy and the certificate."""
    folder = Path(tempfile.mkdtemp(prefix="gpupolicy-mounts-"))
    shutil.copyfile(CLASSIC, folder / "policy.yaml")
    names = [word for name in TRIAL_NAMES for word in ("--dns", name)]
    subprocess.run([sys.executable, "-m", "gpupolicy", "certs", *names, "-o", folder / "tls"], check=True)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield folder
    shutil.rmtree(folder)


def command(image: Folder, mounts: Path) -> list[str]:
    """The entry point with the compiled arguments, on loopback and on free ports."""
    arguments = " ".join(pod_spec()["containers"][0]["args"])
    here = {
        "/etc/gpupolicy-tls": str(mounts / "tls"),
        "/etc/gpupolicy": str(mounts),
        "--host ::": "--host 127.0.0.1",
        "--port 8443": "--port 0",
        "--metrics-port 8080": "--metrics-port 0",
    }
    for old, new in here.items():
        assert old in arguments
        arguments = arguments.replace(old, new)
    (entry,) = json.loads(only(final(), "ENTRYPOINT"))
    return [image.inside(entry), *arguments.split()]


def test_the_entry_point_serves_as_nobody_on_a_read_only_root(image: Folder, mounted: Path, tmp_path: Path) -> None:
    """Read-only for everybody where this test may make a mount namespace, else for its user alone."""
    log = tmp_path / "log"
    environment = dict(each.split("=", 1) for each in only(final(), "ENV").split())
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*confined(), *command(image, mounted)],
            env={**environment, "PATH": "/nonexistent", "HOME": "/nonexistent"},
            cwd="/",
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            port = wait_for_port(log, process)
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"http://127.0.0.1:{port}/readyz", timeout=10
            ) as answer:
                assert answer.status == 200
            users = re.search(r"^Uid:\s+(.*)$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
            assert users
            assert "0" not in users[1].split()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, log.read_text()


def confined() -> list[str]:
    """Makes the root read-only and gives up the rights of root, if this test has them.

    Nobody may still look into every folder: the interpreter of this test may lie below another user's home.
    """
    if os.getuid() != 0:
        return []
    looks = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    drop = ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", *looks]
    may = subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
    read_only = '/bin/mount --make-rprivate / && /bin/mount -o remount,ro,bind / && exec "$@"'
    return ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", read_only, "sh", *drop] if may else drop


def wait_for_port(log: Path, process: subprocess.Popen[bytes]) -> int:
    """The port of the probes, once the log tells it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := PROBES.search(log.read_text()):
            return int(found[1])
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(log.read_text())
