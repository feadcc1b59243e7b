"""The environment of a program that pip installed: its modules are compiled, whatever this shell and folder say."""

from __future__ import annotations

import os


def environment(folder: str) -> dict[str, str]:
    """Returns the variables of this process, but for those that keep Python from using compiled modules.

    Args:
        folder: where they are kept; the first run, which nobody measures, fills it.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPYCACHEPREFIX": folder}
