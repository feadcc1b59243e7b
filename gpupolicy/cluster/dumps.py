"""Dumps as a source: what ``kubectl get -o json|yaml`` prints, in files or on standard input, read object by object."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from glob import glob
from typing import Any, BinaryIO

from gpupolicy.cluster.dump import KINDS, Dump
from gpupolicy.cluster.elements import HOW_TO_DUMP
from gpupolicy.cluster.opening import STANDARD_INPUT, DumpFile
from gpupolicy.cluster.source import OnNote, OnRead, ignore_note, ignore_reading
from gpupolicy.errors import InputError, shown
from gpupolicy.node import JSONMap

SUFFIXES = tuple(suffix + packed for suffix in (".json", ".yaml", ".yml") for packed in ("", ".gz"))
_WILDCARDS = frozenset("*?[")


class Dumps:
    """Nodes, pods and namespaces in files: lists, streams, JSON lines, single objects, each also as ``.gz``.

    A pass holds one object at a time and the names of those before it. The first pass reads every file, as nobody
    knows yet what they hold; later ones read the files that have the kind.
    """

    def __init__(
        self,
        files: Sequence[str],
        standard_input: bytes | BinaryIO = b"",
        *,
        also: Collection[str] = (),
        on_read: OnRead = ignore_reading,
        on_note: OnNote = ignore_note,
    ) -> None:
        """Reads nothing yet.

        Args:
            files: paths, folders (all .json, .yaml, .yml and .gz of these below) and patterns; ``-`` is standard input.
                What can be read only once, such as a pipe, is kept in a temporary file.
            standard_input: its bytes, or the stream.
            also: kinds beside Node, Pod and Namespace that ``objects`` will be asked for.
            on_read: is told how far a pass is.
            on_note: is told once what was passed over.

        Raises:
            InputError: a folder or a pattern stands for no file.
        """
        named = {path: path in files for argument in files for path in _expand(argument)}
        self._dumps = tuple(
            Dump(DumpFile(path, standard_input), KINDS.union(also), on_read, on_note, is_named=is_named)
            for path, is_named in named.items()
        )
        self.name = ", ".join("<stdin>" if file == STANDARD_INPUT else shown(file, 300) for file in files)

    def nodes(self) -> Iterator[JSONMap]:
        """Yields every Node.

        Raises:
            InputError: a file cannot be read, is cut, or holds nothing of use; an object stands twice.
        """
        return self.objects(("Node",))

    def pods(self, *, namespace: str | None = None) -> Iterator[JSONMap]:
        """Yields every Pod, or those of a namespace.

        Raises:
            InputError: as ``nodes``.
        """
        for pod in self.objects(("Pod",)):
            if namespace is None or _metadata(pod).get("namespace", "default") == namespace:
                yield pod

    def namespaces(self) -> Iterator[JSONMap]:
        """Yields every Namespace.

        Raises:
            InputError: as ``nodes``.
        """
        return self.objects(("Namespace",))

    def objects(self, kinds: Collection[str]) -> Iterator[JSONMap]:
        """Yields every object of some kinds, in one pass.

        Raises:
            InputError: as ``nodes``.
        """
        seen: dict[str, tuple[str, str]] = {}
        for dump in self._dumps:
            for item in dump.of_kinds(kinds):
                name = _full_name(item)
                place = dump.name, str(_metadata(item).get("resourceVersion", ""))
                known = seen.setdefault(name, place)
                if known is place:
                    yield item
                elif not place[1] or known[1] != place[1]:
                    raise InputError(_twice(shown(name), known, place), file=dump.name)
        if all(dump.is_useless for dump in self._dumps):
            raise InputError(f"no Node, Pod or Namespace in {self.name}; {HOW_TO_DUMP}")


def _expand(argument: str) -> Iterator[str]:
    """Yields the files that an argument stands for; one that is not there is told when it is read."""
    if argument == STANDARD_INPUT:
        yield argument
    elif os.path.isdir(argument):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(argument) for name in names]
        dumps = sorted(path for path in found if path.endswith(SUFFIXES))
        if not dumps:
            raise InputError(f"no {', '.join(SUFFIXES)} file is in this folder", file=argument)
        yield from dumps
    elif _WILDCARDS & set(argument) and not os.path.exists(argument):
        matches = sorted(glob(argument, recursive=True))
        if not matches:
            raise InputError("no file matches this pattern", file=argument)
        yield from (path for match in matches for path in _expand(match))
    else:
        yield argument


def _full_name(item: JSONMap) -> str:
    """Returns a name that no other object has: two groups may have a kind Job."""
    metadata, version = _metadata(item), str(item.get("apiVersion", ""))
    kind = f"{item['kind']}.{version.partition('/')[0]}" if "/" in version else item["kind"]
    return (
        f"{kind} {metadata['namespace']}/{metadata['name']}"
        if "namespace" in metadata
        else f"{kind} {metadata['name']}"
    )


def _metadata(item: JSONMap) -> dict[str, Any]:
    """Returns the metadata of an object that has a name."""
    metadata: dict[str, Any] = item["metadata"]  # type: ignore[assignment]  # the dump has looked at it
    return metadata


def _twice(what: str, first: tuple[str, str], second: tuple[str, str]) -> str:
    told = [f"{file} (resourceVersion {version})" if version else file for file, version in (first, second)]
    where = f"in {told[0]} and in {told[1]}" if told[0] != told[1] else f"in {told[0]}"
    return f"{what} stands twice, {where}; dumps of different moments or clusters cannot be counted together"
