"""Replaces files all or nothing: every new content is on the disk before the first old one goes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress


def replace_files(contents: Mapping[str, bytes]) -> None:
    """Gives files new contents; their permissions stay, and symbolic links keep pointing at them.

    Args:
        contents: new content by path.

    Raises:
        OSError: a file cannot be written; then none has changed, unless a rename itself failed.
    """
    written: list[tuple[str, str]] = []
    try:
        for path, data in contents.items():
            target = os.path.realpath(path)
            written.append((_write_beside(target, data), target))
        for new, target in written:
            os.replace(new, target)
    finally:
        for new, _ in written:
            with suppress(FileNotFoundError):
                os.unlink(new)


def _write_beside(target: str, data: bytes) -> str:
    """Writes a temporary file in the target's folder, so that renaming it is one step."""
    handle, path = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".gpupolicy-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copymode(target, path)
    except OSError:
        os.unlink(path)
        raise
    return path
