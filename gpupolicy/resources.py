"""Reads the data files that ship with the package, wherever it is installed from."""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import get_data


def read_text(package: str, name: str) -> str:
    """Returns a shipped text: ``read_text("policies", "classic.yaml")``.

    By ``pkgutil``: importing ``importlib.resources`` costs as much as reading a policy.

    Raises:
        FileNotFoundError: there is none of that name.
    """
    data = get_data(f"gpupolicy.{package}", name)
    if data is None:
        raise FileNotFoundError(f"gpupolicy.{package} cannot be read from")
    return data.decode("utf-8")


def iter_names(package: str, suffix: str = ".yaml") -> Iterator[str]:
    """Yields the names of the files directly in a data package, sorted."""
    from importlib.resources import files

    yield from sorted(entry.name for entry in files(f"gpupolicy.{package}").iterdir() if entry.name.endswith(suffix))
