"""Which files are read: those named, those matched by a pattern, and every manifest below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path

from gpupolicy.errors import InputError, reason_of
from gpupolicy.manifests.ignoring import IGNORE_FILE, IgnorePattern, is_ignored, parse_ignore_file

SUFFIXES = (".yaml", ".yml", ".json")
_WILDCARDS = frozenset("*?[")


def find_files(paths: Iterable[str]) -> tuple[str, ...]:
    """Finds the manifests that arguments stand for.

    Args:
        paths: files (read whatever their suffix), folders (searched for .yaml, .yml and .json, hidden ones and those
            that a .gpupolicyignore names left out) and patterns such as ``apps/*/gpu.yaml``.

    Returns:
        Paths in the order of the arguments, each once; those of a folder sorted.

    Raises:
        InputError: an argument names nothing.
    """
    return tuple(dict.fromkeys(path for argument in paths for path in _expand(argument)))


def _expand(argument: str) -> Iterator[str]:
    if os.path.isdir(argument):
        yield from _walk(argument, set(), ())
    elif os.path.exists(argument) or not _WILDCARDS & set(argument):
        yield argument  # one that is not there is told when it is read, beside what is found in the others
    else:
        matches = _match(argument)
        if not matches:
            raise InputError("no file matches this pattern", file=argument)
        yield from (path for match in matches for path in _expand(match))


def _match(pattern: str) -> list[str]:
    """Returns what a pattern matches, by its shortest path: symbolic links lead to a folder in many ways."""
    shortest: dict[str, str] = {}
    for path in sorted(glob(pattern, recursive=True), key=lambda path: (len(path), path)):
        folder, name = os.path.split(path)
        real = os.path.realpath(path) if os.path.isdir(path) else os.path.join(os.path.realpath(folder), name)
        shortest.setdefault(real, path)
    return sorted(shortest.values())


def _walk(folder: str, seen: set[str], rules: tuple[tuple[str, tuple[IgnorePattern, ...]], ...]) -> Iterator[str]:
    """Yields the manifests below a folder; a folder reached twice, by a symbolic link, is read once."""
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    if patterns := _read_patterns(folder):
        rules = (*rules, (folder, patterns))
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"cannot read the folder: {reason_of(error)}", file=folder) from error
    for entry in entries:
        path = os.path.join(folder, entry.name)
        is_folder = entry.is_dir()
        if entry.name.startswith(".") or _is_ignored(rules, path, is_folder):
            continue
        if is_folder:
            yield from _walk(path, seen, rules)
        elif entry.name.endswith(SUFFIXES) and entry.is_file():
            yield path.removeprefix(f".{os.sep}")


def _read_patterns(folder: str) -> tuple[IgnorePattern, ...]:
    path = Path(folder, IGNORE_FILE)
    if not path.is_file():
        return ()
    try:
        return parse_ignore_file(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the ignore file: {error}", file=str(path)) from error


def _is_ignored(rules: tuple[tuple[str, tuple[IgnorePattern, ...]], ...], path: str, is_folder: bool) -> bool:
    return any(
        is_ignored(patterns, os.path.relpath(path, folder).replace(os.sep, "/"), is_folder=is_folder)
        for folder, patterns in rules
    )
