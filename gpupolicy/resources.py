"""Reads the data files that ship with the package, wherever it is installed from."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files


def read_text(package: str, name: str) -> str:
    """Returns a shipped text: ``read_text("policies", "classic.yaml")``."""
    return files(f"gpupolicy.{package}").joinpath(*name.split("/")).read_text(encoding="utf-8")


def iter_names(package: str, suffix: str = ".yaml") -> Iterator[str]:
    """Yields the names of the files directly in a data package, sorted."""
    yield from sorted(entry.name for entry in files(f"gpupolicy.{package}").iterdir() if entry.name.endswith(suffix))
