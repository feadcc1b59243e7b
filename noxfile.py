"""The wheel's own checks, and the unit tests on other Pythons: the newest by default, each with ``nox -s unit``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13")
nox.options.error_on_missing_interpreters = False


def find_python(version: str) -> str | None:
    """Returns an interpreter of a version that really starts: from PATH, else from pyenv's folder."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"), reverse=True)
    for candidate in (shutil.which(f"python{version}"), *map(str, pyenv)):
        if candidate and subprocess.run([candidate, "--version"], capture_output=True).returncode == 0:
            return candidate
    return None


FOUND = {version: path for version in PYTHONS if (path := find_python(version))}
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"  # .venv's own, on which `make test` runs them
OTHERS = [path for version, path in FOUND.items() if version != HERE]
nox.options.sessions = ["types_of_wheel", *(f"unit-{path}" for path in OTHERS[-1:])]


def build_wheel(session: nox.Session) -> Path:
    """Builds the wheel into the session's own folder."""
    folder = Path(session.create_tmp())
    session.install("build")
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder), silent=True)
    return max(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)


@nox.session
def types_of_wheel(session: nox.Session) -> None:
    """Checks the types of the package as users get it, where no folder mapping hides a module."""
    wheel = build_wheel(session)
    session.install(f"{wheel}[webhook,cluster]", "mypy", "types-PyYAML", "types-jsonschema")
    with session.chdir(session.create_tmp()):
        session.run("mypy", "--strict", "--config-file", str(Path(__file__).with_name("setup.cfg")), "-p", "gpupolicy")


@nox.session(python=OTHERS)
def unit(session: nox.Session) -> None:
    """Runs the unit tests on the Pythons that `make test` does not, with fewer examples of each law."""
    missing = [version for version in PYTHONS if version not in FOUND]
    session.log(f"found Python {', '.join(FOUND)}; not found: {', '.join(missing) or 'none'}")
    session.install("-e", ".[webhook,cluster]", "pytest", "hypothesis")
    tests = ("tests/unit", "tests/property", "tests/rules")
    session.run("pytest", "-q", "-m", "not e2e and not packaging", *tests, env={"HYPOTHESIS_PROFILE": "brief"})


@nox.session
def audit(session: nox.Session) -> None:
    """Asks OSV for known vulnerabilities of what an installation holds. What was not looked at is a failure too."""
    wheel = build_wheel(session)
    folder = Path(session.create_tmp(), "installed")
    shutil.rmtree(folder, ignore_errors=True)
    session.install("pip-audit")
    session.run("python", "-m", "pip", "install", "--quiet", "--target", str(folder), f"{wheel}[webhook,cluster]")
    session.run("pip-audit", "--strict", "--vulnerability-service", "osv", "--path", str(folder), *session.posargs)
