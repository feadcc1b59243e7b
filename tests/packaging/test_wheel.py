"""The wheel, as users get it: complete, importable, and able to run the demo in an empty environment."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAPPED = {"policies": "gpupolicy.policies", "templates": "gpupolicy.templates", "webhook": "gpupolicy.webhook"}

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build in the checkout leaves a folder there that another build would take things from."""
    folder, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source") / "gpupolicy"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def packages_on_disk() -> set[str]:
    found = {".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / "gpupolicy").rglob("__init__.py")}
    mapped = {
        ".".join((MAPPED[top], *p.parent.relative_to(ROOT / top).parts))
        for top in MAPPED
        for p in (ROOT / top).rglob("__init__.py")
    }
    return found | mapped


def modules_on_disk() -> list[str]:
    own = [p.relative_to(ROOT).with_suffix("") for p in (ROOT / "gpupolicy").rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in own]
    for top, package in MAPPED.items():
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT / top).with_suffix("").parts
            names.append(".".join((package, *parts)).removesuffix(".__init__"))
    return sorted(name for name in names if not name.endswith("__main__"))


def data_on_disk() -> set[str]:
    texts = {p for top in MAPPED for p in (ROOT / top).rglob("*.yaml")} | set((ROOT / "gpupolicy").rglob("*.json"))
    return {f"gpupolicy/{p.relative_to(ROOT).as_posix()}".replace("gpupolicy/gpupolicy/", "gpupolicy/") for p in texts}


def test_setup_cfg_lists_every_package() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")

    assert set(config["options"]["packages"].split()) == packages_on_disk()


def test_the_wheel_holds_every_data_file(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    assert data_on_disk() - names == set()


def test_every_module_is_importable_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom importlib import import_module\n"
    code += f"for name in {modules_on_disk()!r}: import_module(name)\n"
    code += f"import gpupolicy; assert gpupolicy.__file__.startswith({str(tmp_path)!r}), gpupolicy.__file__"

    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path)

    assert run.stderr == ""


@pytest.mark.parametrize("extra", [pytest.param("", id="base"), pytest.param("[webhook]", id="webhook")])
def test_an_empty_environment_with_the_wheel_runs_the_demo(wheel: Path, tmp_path: Path, extra: str) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / "bin"
    subprocess.run(
        [binaries / "python", "-m", "pip", "install", "--quiet", "--no-compile", f"{wheel}{extra}"], check=True
    )

    run = subprocess.run([binaries / "gpupolicy", "demo"], capture_output=True, text=True, cwd=tmp_path)

    assert (run.returncode, run.stderr) == (0, "")
    assert "3 GPUs" in run.stdout
