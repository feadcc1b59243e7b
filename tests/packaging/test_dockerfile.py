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
NOBODY = 65532
PROBES = re.compile(r"^probes and metrics http://127\.0\.0\.1:(\d+)$", re.MULTILINE)


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
        if line and not line.startswith("#") and any(_fits("/".join(parts[: i + 1]), pattern) for i in range(len(parts))):
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
            {"FROM": self._nothing, "WORKDIR": self._workdir, "COPY": self._copy, "RUN": self._shell}[each.word](each.rest)

    def inside(self, text: str) -> str:
        """A text with the image's paths of our making replaced by those in the folder."""
        return re.sub(r"(?<![\w/])/(opt|src)/", f"{self.root}/\\1/", text + " ").rstrip().replace(
            " /opt/gpupolicy ", f" {self.root}/opt/gpupolicy "
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
