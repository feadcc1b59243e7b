"""One dump: its objects with their kinds, and what a pass has told about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from gpupolicy.cluster.elements import HOW_TO_DUMP, CutError, Element, ListEnd, Reader
from gpupolicy.cluster.json_reader import JsonReader, looks_like_json
from gpupolicy.cluster.opening import DumpFile, decoded
from gpupolicy.cluster.source import OnNote, OnRead, Reading
from gpupolicy.cluster.yaml_reader import YamlReader
from gpupolicy.errors import InputError, shown
from gpupolicy.node import JSONMap

KINDS = frozenset({"Node", "Pod", "Namespace"})
_LIST = "List"
_LISTED = 5


class Dump:
    """A file with objects. Files without the kind that is asked for are not read a second time."""

    def __init__(
        self, file: DumpFile, kinds: Collection[str], on_read: OnRead, on_note: OnNote, *, is_named: bool
    ) -> None:
        """Reads nothing yet.

        Args:
            file: what to read.
            kinds: those that will be asked for in some pass.
            on_read: is told how far a pass is.
            on_note: is told by the first pass what it passed over.
            is_named: it was asked for by its own name, so it has to hold something of use; not found in a folder.
        """
        self.name = file.name
        self._file, self._kinds, self._is_named = file, frozenset((*kinds, _LIST)), is_named
        self._on_read, self._on_note = on_read, on_note
        self._counts: Counter[str] | None = None
        self._list_kinds: dict[int, str] = {}

    @property
    def is_useless(self) -> bool:
        """Whether a pass has found nothing of use in it."""
        return self._counts is not None and self._kinds.isdisjoint(self._counts)

    def of_kinds(self, kinds: Collection[str]) -> Iterator[JSONMap]:
        """Yields the objects of some kinds; each has a name.

        Raises:
            InputError: the file cannot be read, is cut, or holds nothing of use.
        """
        if self._counts is not None and not any(kind in self._counts for kind in kinds):
            return
        counts: Counter[str] = Counter()
        for item, line in self._objects(counts):
            if item["kind"] in kinds:
                self._check_name(item, line)
                yield item
        is_first, self._counts = self._counts is None, counts
        if is_first:
            self._remark(counts)

    def _objects(self, counts: Counter[str]) -> Iterator[tuple[JSONMap, int]]:
        """Yields each object with its line, and counts kinds; lists count too, so that an empty one is of use."""
        reader: Reader | None = None
        try:
            with self._file.chunks(self._tell) as chunks:
                reader = self._reader(chunks)
                for element in reader.elements():
                    if isinstance(element, ListEnd):
                        counts[_LIST] += 1
                        self._remark_page(element)
                        continue
                    for item in self._flat(element, counts[_LIST], reader.line):
                        counts[str(item["kind"])] += 1
                        yield item, reader.line
        except CutError as error:
            objects = counts.total() - counts[_LIST]
            told = f"{error.message}; objects read before: {objects}"
            line = error.line or (reader.line if reader else None)
            raise InputError(told, file=self.name, line=line, column=error.column) from None
        finally:
            self._on_read(Reading(what=self.name, unit="bytes", done=0, total=0, is_over=True))

    def _reader(self, chunks: Iterator[bytes]) -> Reader:
        pieces, start = decoded(chunks, self.name), ""
        for piece in pieces:
            start += piece
            if (is_json := looks_like_json(start)) is not None:
                text = chain((start,), pieces)
                return JsonReader(text, self.name) if is_json else YamlReader(text, self.name)
        if start.strip():
            raise CutError("the text ends in the middle of an object: it was cut")
        raise InputError(f"the file is empty; {HOW_TO_DUMP}", file=self.name)

    def _flat(self, element: Element, lists: int, line: int) -> Iterator[JSONMap]:
        """Yields an object, or those of a list inside a list, with the kind that their list has for them."""
        value, header = element.value, element.header
        if not isinstance(value, dict):
            raise InputError(f"an object is expected here; {HOW_TO_DUMP}", file=self.name, line=line)
        kind = value.get("kind") or (self._kind_by_list(header, lists) if header is not None else None)
        if not isinstance(kind, str):
            raise InputError("an object without a kind stands here", file=self.name, line=line)
        items = value.get("items") if kind.endswith(_LIST) else None
        if isinstance(items, list):
            for item in items:
                yield from self._flat(Element(item, value), lists, line)
        elif items is not None:
            raise InputError(f"the items of a {kind} are no list", file=self.name, line=line)
        elif "kind" in value:
            yield value
        else:
            yield {"apiVersion": "v1", "kind": kind, **value}

    def _kind_by_list(self, header: Mapping[str, object], lists: int) -> str | None:
        """Returns the kind of items that have none, as in a NodeList; it may stand behind the items."""
        kind = header.get("kind") or self._find_list_kind(lists)
        named = isinstance(kind, str) and kind.endswith(_LIST) and kind != _LIST
        return str(kind).removesuffix(_LIST) if named else None

    def _find_list_kind(self, wanted: int) -> str:
        """Looks for the kind of the list so many in the file, once."""
        if wanted not in self._list_kinds:
            with self._file.chunks(_ignore) as chunks:
                ends = (end for end in self._reader(chunks).elements() if isinstance(end, ListEnd))
                kinds = (str(end.header.get("kind", "")) for end in ends)
                self._list_kinds[wanted] = next((kind for number, kind in enumerate(kinds) if number == wanted), "")
        return self._list_kinds[wanted]

    def _check_name(self, item: JSONMap, line: int) -> None:
        metadata = item.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(name, str) or not name:
            raise InputError(f"a {item['kind']} without metadata.name stands here", file=self.name, line=line)

    def _tell(self, done: int) -> None:
        self._on_read(Reading(what=self.name, unit="bytes", done=done, total=self._file.size))

    def _remark_page(self, end: ListEnd) -> None:
        metadata = end.header.get("metadata")
        if self._counts is None and isinstance(metadata, dict) and metadata.get("continue"):
            self._on_note(f"{self.name}: the list goes on elsewhere: this is one page of it (metadata.continue is set)")

    def _remark(self, counts: Counter[str]) -> None:
        """Tells what was passed over.

        Raises:
            InputError: that is all there is in a file that was asked for.
        """
        others = sorted((kind, count) for kind, count in counts.items() if kind not in self._kinds)
        named = ", ".join(f"{count} {shown(kind, 60)}" for kind, count in others[:_LISTED])
        more = f" and {len(others) - _LISTED} more kinds" if len(others) > _LISTED else ""
        if self.is_useless and self._is_named:
            held = f", but {named}{more}" if others else ""
            raise InputError(f"holds no Node, Pod or Namespace{held}; {HOW_TO_DUMP}", file=self.name)
        if others:
            self._on_note(f"{self.name}: passed over what is no Node, Pod or Namespace: {named}{more}")


def _ignore(done: int) -> None:
    """Tells nobody."""
