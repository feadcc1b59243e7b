"""The rooms of the house: arrows between modules point down, and nothing heavy is opened early."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "quantity", "labels", "resources", "suggestions", "admission_rules"),
    ("model", "pod", "node", "patch"),
    ("workloads", "scoring"),
    ("admission", "assignment", "rules"),
    ("simulation", "loading", "inventory"),
    ("compiler", "linting", "rollout", "auditing"),
    ("manifests", "certificates", "discovery"),
    ("policytests", "cluster"),
    ("webhook",),
    ("reporting",),
    ("demo",),
    ("cli",),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
CORE = frozenset(room for rooms in FLOORS[:4] for room in rooms)
FORBIDDEN_IN_CORE = frozenset(
    {
        "flask",
        "kubernetes",
        "yaml",
        "ruamel",
        "jsonschema",
        "cryptography",
        "os",
        "pathlib",
        "logging",
        "time",
        "random",
    }
)


def modules() -> Iterator[tuple[str, Path]]:
    """Yields each module's room and file."""
    for path in sorted((ROOT / "gpupolicy").rglob("*.py")):
        yield path.relative_to(ROOT / "gpupolicy").parts[0].removesuffix(".py"), path
    for path in sorted((ROOT / "webhook").rglob("*.py")):
        yield "webhook", path


def imports(path: Path) -> Iterator[str]:
    """Yields the dotted names that a file imports, whole file, type checking blocks too."""
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            yield statement.module or ""
            if statement.module == "gpupolicy":
                yield from (f"gpupolicy.{alias.name}" for alias in statement.names)


def room_of(name: str) -> str | None:
    """Returns the room that a dotted name of ours is in."""
    parts = name.split(".")
    return parts[1] if parts[0] == "gpupolicy" and len(parts) > 1 and parts[1] in LEVEL else None


ARROWS = sorted(
    {
        (room, target, path.relative_to(ROOT).as_posix())
        for room, path in modules()
        if room != "__init__"
        for name in imports(path)
        if (target := room_of(name)) and target != room
    }
)


@pytest.mark.parametrize(("room", "target", "file"), ARROWS, ids=[f"{file}->{target}" for _, target, file in ARROWS])
def test_an_arrow_points_down(room: str, target: str, file: str) -> None:
    assert LEVEL[target] < LEVEL[room], f"{file} imports {target}, which is no floor below {room}"


def dotted(path: Path) -> str:
    """Returns the name under which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] == "gpupolicy" else ("gpupolicy", *parts))
    return name.removesuffix(".__init__")


def targets(path: Path, known: set[str]) -> Iterator[str]:
    """Yields the modules of ours that a file imports; a submodule by its own name, not by its package's."""
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and statement.level == 0:
            whole = statement.module or ""
            yield from (
                f"{whole}.{alias.name}" if f"{whole}.{alias.name}" in known else whole for alias in statement.names
            )


def test_no_module_reaches_itself() -> None:
    """Inside a room, too, arrows have one direction."""
    names = {dotted(path) for _, path in modules()}
    graph = {dotted(path): {name for name in targets(path, names) if name in names} for _, path in modules()}

    assert list(TopologicalSorter(graph).static_order())


def test_every_room_has_a_floor() -> None:
    assert {room for room, _ in modules()} - {"__init__"} <= set(LEVEL)


CORE_IMPORTS = sorted(
    {(path.relative_to(ROOT).as_posix(), name) for room, path in modules() if room in CORE for name in imports(path)}
)


@pytest.mark.parametrize(("file", "name"), CORE_IMPORTS, ids=[f"{file}:{name}" for file, name in CORE_IMPORTS])
def test_the_core_knows_no_files_clock_yaml_or_servers(file: str, name: str) -> None:
    assert name.split(".")[0] not in FORBIDDEN_IN_CORE or file == "gpupolicy/resources.py"


def test_no_module_takes_the_name_of_a_public_function() -> None:
    """A submodule of that name would take the function's place at its first import."""
    import gpupolicy

    submodules = {path.stem for path in (ROOT / "gpupolicy").iterdir()}

    assert submodules & set(gpupolicy.__all__) == set()


def test_import_gpupolicy_opens_no_heavy_package() -> None:
    code = "import sys, gpupolicy; print(*sorted(m.split('.')[0] for m in sys.modules))"

    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )

    assert loaded & {"flask", "kubernetes", "ruamel", "yaml", "jsonschema", "cryptography", "uvicorn"} == set()


def test_the_webhook_refuses_its_bare_name() -> None:
    run = subprocess.run([sys.executable, "-c", "import webhook"], cwd=ROOT, capture_output=True, text=True)

    assert "import gpupolicy.webhook, not webhook" in run.stderr
