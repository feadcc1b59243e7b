"""How machine formats name a file: relative to the folder that the run was made in, with slashes."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from urllib.parse import quote


def relative_path(file: str, root: PurePath) -> str | None:
    """Returns a file's path as seen from a folder; None where the file lies outside of it."""
    normal = os.path.normpath(file)
    path = PurePath(os.path.relpath(normal, root) if os.path.isabs(normal) else normal)
    return None if path.is_absolute() or path.parts[:1] == ("..",) else path.as_posix()


def to_uri(file: str, root: PurePath) -> str:
    """Returns a relative reference for a file below the folder, an absolute file: URI for any other."""
    relative = relative_path(file, root)
    if relative is not None:
        return quote(os.fsencode(relative))
    return Path(os.path.normpath(os.path.join(root, file))).as_uri()
