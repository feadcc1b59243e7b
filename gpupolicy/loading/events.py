"""YAML events to plain values: one pass, no recursion, with limits; what is odd on the way becomes findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from yaml.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpupolicy.errors import FieldPath, Finding, Part, Severity
from gpupolicy.loading.scalars import FILE_MODES, HINTS, Surprise, read_plain
from gpupolicy.loading.unreadable import MAX_DEPTH, too_deep
from gpupolicy.loading.unreadable import UnreadableError as UnreadableError

MAX_ALIAS_NODES = 100_000
MAX_ODDITIES = 100  # of one document; who has more will look again

Event = Any  # of yaml.events; its type stubs let every attribute be None

_TAGS = "tag:yaml.org,2002:"
_SCALAR_TAGS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
_NO_KEY = object()
_MERGE = "<<"
_MERGE_KEY = object()
_OPEN = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """Something odd and where it stands, counted from 1."""

    finding: Finding
    line: int
    column: int


class _Frame:
    """An open collection: the key that waits for a value, and the anchor by which aliases may call it."""

    __slots__ = ("anchor", "container", "key")

    def __init__(self, container: Any, anchor: str | None = None) -> None:
        self.container = container  # dict[str, object] or list[object]
        self.key: Any = _NO_KEY
        self.anchor = anchor


class Builder:
    """Builds the value of one document. Aliases share what they name, so the value must not be changed.

    Attributes:
        oddities: what was odd on the way.
    """

    def __init__(self, next_event: Callable[[], Event]) -> None:
        self.oddities: list[Oddity] = []
        self._next_event = next_event
        self._frames: list[_Frame] = []
        self._anchors: dict[str, object] = {}
        self._sizes: dict[int, tuple[int, int]] = {}
        self._merged: dict[int, set[str]] = {}
        self._alias_nodes = 0

    def build(self, event: Event) -> object:
        """Returns the value whose first event is given; reads on to its last.

        Raises:
            UnreadableError: a limit is passed, or the text means nothing to the cluster.
            yaml.YAMLError: the text is no YAML.
        """
        root: list[object] = []
        frame = _Frame(root)
        next_event = self._next_event
        while True:
            kind = type(event)
            if kind is ScalarEvent:
                value: Any = event.value
                if event.implicit[0]:
                    if not value or value[0] in HINTS:
                        value = self._plain(frame, event)
                elif event.tag is not None:
                    value = self._tagged(frame, event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = value
                container = frame.container
                if type(container) is list:
                    container.append(value)
                elif frame.key is _NO_KEY and type(value) is str and value not in container and value != _MERGE:
                    frame.key = value  # nearly every key is such; a call for each costs 5% of the reading
                elif frame.key is _NO_KEY or frame.key is _MERGE_KEY:
                    self._put_in_mapping(frame, value, event)
                else:
                    container[frame.key] = value
                    frame.key = _NO_KEY
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                frame = self._open(frame, event)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                frame = self._close(frame, event)
            else:
                self._put(frame, self._alias(event), event)
            if frame.container is root:
                return root[0]
            event = next_event()

    def _open(self, parent: _Frame, event: Event) -> _Frame:
        frame = _Frame({} if type(event) is MappingStartEvent else [], anchor=event.anchor)
        self._frames.append(parent)
        if len(self._frames) > MAX_DEPTH:
            raise too_deep(*_place(event))
        if event.tag is not None and event.tag not in (_TAGS + "map", _TAGS + "seq", "!"):
            self._report_tag(parent, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = _OPEN
        container = parent.container
        if type(container) is list:
            container.append(frame.container)
        elif parent.key is _NO_KEY:
            raise _unreadable(event, "a mapping or a list stands where a key is expected")
        elif parent.key is not _MERGE_KEY:
            container[parent.key] = frame.container
        return frame

    def _close(self, frame: _Frame, event: Event) -> _Frame:
        parent = self._frames.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = frame.container
        if type(parent.container) is dict:
            if parent.key is _MERGE_KEY:
                self._merge(parent, frame.container, event)
            parent.key = _NO_KEY
        return parent

    def _put(self, frame: _Frame, value: object, event: Event) -> None:
        container = frame.container
        if type(container) is list:
            container.append(value)
        elif frame.key is _NO_KEY or frame.key is _MERGE_KEY:
            self._put_in_mapping(frame, value, event)
        else:
            container[frame.key] = value
            frame.key = _NO_KEY

    def _put_in_mapping(self, frame: _Frame, value: object, event: Event) -> None:
        """Takes a key, or the value of a merge key."""
        if frame.key is _MERGE_KEY:
            self._merge(frame, value, event)
            frame.key = _NO_KEY
        elif value == _MERGE and type(event) is ScalarEvent and event.implicit[0]:
            frame.key = _MERGE_KEY
        else:
            frame.key = key = _to_key(value, event)
            if key in frame.container and key not in self._merged.get(id(frame.container), ()):
                self._report(frame, event, "duplicate-key", Severity.ERROR, f"key {key} stands twice", part=Part.KEY)

    def _merge(self, frame: _Frame, value: object, event: Event) -> None:
        """Adds the keys of another mapping as the cluster does: over those before it, under those after it."""
        container = frame.container
        sources = value if type(value) is list else [value]
        for source in reversed(sources):
            if type(source) is not dict:
                raise _unreadable(event, "<< takes a mapping or a list of mappings")
            merged = self._merged.setdefault(id(container), set())
            for key in sorted(source.keys() & (container.keys() - merged)):
                message = f"<< overrides the key {key} before it in the cluster, and does not in other YAML tools"
                frame.key = _NO_KEY
                self._report(frame, event, "yaml-merge-overrides", Severity.WARNING, message, "put << first", Part.KEY)
            container.update(source)
            merged.update(source)

    def _alias(self, event: Event) -> object:
        value = self._anchors.get(event.anchor, _NO_KEY)
        if value is _NO_KEY:
            message = f"alias *{event.anchor} has no anchor &{event.anchor} before it"
            raise _unreadable(event, message, f'write "*{event.anchor}" for the text')
        if value is _OPEN:
            raise _unreadable(event, f"alias *{event.anchor} stands inside of what it names")
        nodes, height = self._measure(value)
        self._alias_nodes += nodes
        if self._alias_nodes > MAX_ALIAS_NODES:
            message = f"aliases expand to more than {MAX_ALIAS_NODES} nodes"
            raise UnreadableError("yaml-alias-bomb", message, *_place(event))
        if len(self._frames) + height > MAX_DEPTH:
            raise too_deep(*_place(event))
        return value

    def _measure(self, value: object) -> tuple[int, int]:
        """Returns how many nodes a value has when its aliases are expanded, and how deep it is."""
        if type(value) is not dict and type(value) is not list:
            return 1, 0
        if (known := self._sizes.get(id(value))) is not None:
            return known
        children = [self._measure(child) for child in (value.values() if type(value) is dict else value)]
        size = 1 + sum(nodes for nodes, _ in children), 1 + max((height for _, height in children), default=0)
        self._sizes[id(value)] = size
        return size

    def _plain(self, frame: _Frame, event: Event) -> object:
        if event.tag is not None:  # "! 12" is text
            return event.value
        value, surprise = read_plain(event.value)
        if surprise is not None and not (surprise.rule == "yaml-octal" and frame.key in FILE_MODES):
            self._report_surprise(frame, event, surprise)
        return value

    def _report_surprise(self, frame: _Frame, event: Event, surprise: Surprise) -> None:
        is_key = type(frame.container) is dict and frame.key is _NO_KEY
        part = Part.KEY if is_key else Part.VALUE
        self._report(frame, event, surprise.rule, surprise.severity, surprise.message, surprise.hint, part)

    def _tagged(self, frame: _Frame, event: Event) -> object:
        """Returns a scalar with a tag; tags outside of JSON's types are reported and the text is kept."""
        tag = event.tag.removeprefix(_TAGS)
        if tag in ("str", "!", "timestamp"):
            return event.value
        if tag not in _SCALAR_TAGS:
            self._report_tag(frame, event)
            return event.value
        value = read_plain(event.value)[0]
        if type(value) not in _SCALAR_TAGS[tag]:
            raise _unreadable(event, f'"{event.value[:60]}" is tagged !!{tag}, but is none')
        return value

    def _report_tag(self, frame: _Frame, event: Event) -> None:
        tag = event.tag.replace(_TAGS, "!!")
        message = f"tag {tag} means nothing to the cluster; only plain mappings, lists, texts, numbers and booleans do"
        self._report(frame, event, "yaml-unknown-tag", Severity.ERROR, message, "remove the tag")

    def _report(
        self,
        frame: _Frame,
        event: Event,
        rule: str,
        severity: Severity,
        message: str,
        hint: str | None = None,
        part: Part = Part.VALUE,
    ) -> None:
        finding = Finding(rule=rule, severity=severity, field=self._path(frame), message=message, part=part, hint=hint)
        if len(self.oddities) >= MAX_ODDITIES:
            return
        line, column = _place(event)
        self.oddities.append(Oddity(finding=finding, line=line, column=column))

    def _path(self, frame: _Frame) -> FieldPath:
        """Returns the path of what is read now inside a frame."""
        inner = [_step(parent, behind=True) for parent in self._frames[1:]]
        return tuple(step for step in (*inner, _step(frame, behind=False)) if step is not None)


def _step(frame: _Frame, *, behind: bool) -> str | int | None:
    if type(frame.container) is list:
        return len(frame.container) - (1 if behind else 0)
    if frame.key is _MERGE_KEY:
        return _MERGE
    return frame.key if type(frame.key) is str else None


def _to_key(value: object, event: Event) -> str:
    """Returns a key as the JSON key that the cluster makes of it."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise _unreadable(event, "a key is neither text nor a number")


def _place(event: Event) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _unreadable(event: Event, message: str, hint: str | None = None) -> UnreadableError:
    return UnreadableError("yaml-unreadable", message, *_place(event), hint)
