"""Writes an output folder all or nothing, and never over somebody else's files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpupolicy.compiler.rendering import MARK, RenderedFile
from gpupolicy.errors import UsageError


def find_leftovers(folder: Path, files: Iterable[RenderedFile]) -> tuple[str, ...]:
    """Returns the paths of files that an earlier run of ours left in a folder and that are not written again."""
    folder = Path(os.path.realpath(folder))
    kept = {file.path for file in files}
    there = (path for path in sorted(folder.rglob("*")) if path.is_file() and _is_marked(path))
    return tuple(name for path in there if (name := path.relative_to(folder).as_posix()) not in kept)


def write_folder(folder: Path, files: Iterable[RenderedFile]) -> None:
    """Puts the files into a folder, in place of what an earlier run of ours left there.

    Everything is written beside the folder first and then takes its place by renaming, so a reader never sees half of
    it, and an error leaves the folder as it was.

    Args:
        folder: new, empty, or one in which every file has our mark on its first line.
        files: what it is to hold.

    Raises:
        UsageError: there is something else under that name.
        OSError: it cannot be written.
    """
    folder = Path(os.path.realpath(folder))
    _check_ours(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for file in files:
            path = fresh / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8", newline="")
        fresh.chmod(0o777 & ~_umask())
        _exchange(folder, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _check_ours(folder: Path) -> None:
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    foreign = next(_foreign_files(folder), None)
    if foreign is not None:
        raise UsageError(f"{foreign} was not written by gpupolicy compile: name an empty folder, or move the file away")


def _foreign_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or _is_marked(path)):
            yield path


def _is_marked(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(MARK)) == MARK.encode()


def _exchange(folder: Path, fresh: Path) -> None:
    """Renames ``fresh`` to ``folder``; the old one steps aside first and comes back if that fails."""
    if not folder.exists():
        fresh.rename(folder)
        return
    old = fresh.with_name(f"{fresh.name}.old")
    folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    """The process's mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
