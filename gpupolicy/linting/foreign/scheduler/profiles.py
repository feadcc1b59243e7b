"""Profiles as kube-scheduler builds them: defaults merged in, plugins registered at their extension points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from gpupolicy.errors import FieldPath
from gpupolicy.linting.foreign.reading import Object, child, mapping, objects, text, whole
from gpupolicy.linting.foreign.scheduler.plugins import (
    MULTI_POINT,
    default_plugins,
    find_plugin,
    points_of,
)

DEFAULT_SCHEDULER = "default-scheduler"

Refusal = Literal["unknown", "wrong-point", "twice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """A plugin that is on at a point. ``path`` is where the file says so, None for a default."""

    name: str
    weight: int | None = None
    path: FieldPath | None = None

    @property
    def effective_weight(self) -> int:
        """The weight that counts: none and 0 mean 1."""
        return self.weight or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A plugin that kube-scheduler will not register at a point."""

    reason: Refusal
    name: str
    point: str
    path: FieldPath


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One entry of profiles, read for one version of Kubernetes. ``name`` is after defaulting; "" where none."""

    value: Object
    index: int
    name: str
    version: str

    @property
    def path(self) -> FieldPath:
        """Where the profile stands."""
        return ("profiles", self.index)

    def written(self, point: str) -> tuple[Enabled, ...]:
        """Returns the plugins that the file enables at a point (or at multiPoint), in its order."""
        entries = objects(child(self.value, "plugins", point, "enabled"))
        return tuple(
            Enabled(
                name=text(entry.get("name")),
                weight=whole(entry.get("weight")),
                path=(*self.path, "plugins", point, "enabled", index),
            )
            for index, entry in entries
        )

    def disabled(self, point: str) -> tuple[tuple[str, FieldPath], ...]:
        """Returns names and places of the plugins that the file disables at a point."""
        entries = objects(child(self.value, "plugins", point, "disabled"))
        return tuple(
            (text(entry.get("name")), (*self.path, "plugins", point, "disabled", index)) for index, entry in entries
        )

    def plugin_configs(self) -> Iterator[tuple[FieldPath, str, Any]]:
        """Yields place, plugin name and arguments of every pluginConfig entry."""
        for index, entry in objects(self.value.get("pluginConfig")):
            yield (*self.path, "pluginConfig", index), text(entry.get("name")), entry.get("args")

    def arguments(self, plugin: str) -> tuple[FieldPath, Object] | None:
        """Returns place and value of a plugin's arguments, None where the file gives none."""
        for path, name, value in self.plugin_configs():
            if name == plugin and isinstance(value, dict):
                return (*path, "args"), mapping(value)
        return None

    @cached_property
    def multi_point(self) -> tuple[Enabled, ...]:
        """The plugins of multiPoint after the defaults: an entry of a default's name replaces it in its place.

        Source: kubernetes pkg/scheduler/apis/config/v1/default_plugins.go, mergePluginSet.
        """
        off = {name for name, _ in self.disabled(MULTI_POINT)}
        written = self.written(MULTI_POINT)
        last = {entry.name: entry for entry in written}
        kept = [d for d in default_plugins(self.version) if "*" not in off and d.name not in off]
        merged = [last.get(d.name) or Enabled(name=d.name, weight=d.weight) for d in kept]
        return (*merged, *(entry for entry in written if entry not in merged))

    @cached_property
    def registration(self) -> tuple[dict[str, tuple[Enabled, ...]], tuple[Refused, ...]]:
        """The plugins of each point, and those that are refused.

        Source: kubernetes pkg/scheduler/framework/runtime/framework.go, updatePluginList, expandMultiPointPlugins.
        """
        plugins: dict[str, tuple[Enabled, ...]] = {}
        refused: list[Refused] = []
        for point in points_of(self.version):
            own, refused_here = self._register_written(point)
            spread, refused_there = self._expand(point)
            plugins[point] = (*own, *spread)
            refused += [*refused_here, *refused_there]
        return plugins, tuple(dict.fromkeys(refused))

    def enabled(self, point: str) -> tuple[Enabled, ...]:
        """Returns every plugin that is on at a point."""
        return self.registration[0].get(point, ())

    def find_enabled(self, point: str, name: str) -> Enabled | None:
        """Returns a plugin that is on at a point, or None."""
        return next((plugin for plugin in self.enabled(point) if plugin.name == name), None)

    def find_overflow(self, point: str) -> Enabled | None:
        """Returns the plugin at which kube-scheduler's sum of all weights at score or placementScore breaks, or None.

        The sum is kept in 64 bits and breaks where it has become negative before the next plugin is added. Weights
        count even for plugins that are disabled at the point.
        Source: kubernetes pkg/scheduler/framework/runtime/framework.go, getValidScoreWeights; measured on 1.37.2.
        """
        total, seen = 0, set[str]()
        negative: Enabled | None = None
        for entry in (*self.written(point), *self.multi_point):
            plugin = find_plugin(entry.name, self.version)
            if plugin is None or entry.name in seen or not plugin.extends(point, self.version):
                continue
            if total < 0:
                return negative
            seen.add(entry.name)
            total += 100 * entry.effective_weight
            negative = entry if entry.effective_weight < 0 else negative
        return None

    def is_needed(self, name: str) -> bool:
        """Returns whether the plugin is built at all: named as enabled anywhere, even where no point takes it."""
        points = (*(self.written(point) for point in points_of(self.version)), self.multi_point)
        return any(plugin.name == name for plugins in points for plugin in plugins)

    def _register_written(self, point: str) -> tuple[tuple[Enabled, ...], list[Refused]]:
        taken: dict[str, Enabled] = {}
        refused: list[Refused] = []
        for entry in self.written(point):
            reason = self._refusal(entry.name, point) or ("twice" if entry.name in taken else None)
            if reason is None:
                taken[entry.name] = entry
            elif entry.path is not None:
                refused.append(Refused(reason=reason, name=entry.name, point=point, path=entry.path))
        return tuple(taken.values()), refused

    def _expand(self, point: str) -> tuple[tuple[Enabled, ...], list[Refused]]:
        """What multiPoint adds to a point; the point's own entries and its disabled ones come first."""
        off = {name for name, _ in self.disabled(point)}
        own = {entry.name for entry in self.written(point)}
        taken: dict[str, Enabled] = {}
        refused: list[Refused] = []
        for entry in () if "*" in off else self.multi_point:
            plugin = find_plugin(entry.name, self.version)
            if plugin is None:
                refused.append(Refused(reason="unknown", name=entry.name, point=MULTI_POINT, path=entry.path or ()))
            elif not plugin.extends(point, self.version) or entry.name in off or entry.name in own:
                continue
            elif entry.name in taken:
                path = max(entry.path or (), taken[entry.name].path or (), key=str)
                refused.append(Refused(reason="twice", name=entry.name, point=MULTI_POINT, path=path))
            else:
                taken[entry.name] = entry
        return tuple(taken.values()), refused

    def _refusal(self, name: str, point: str) -> Refusal | None:
        plugin = find_plugin(name, self.version)
        if plugin is None:
            return "unknown"
        return None if plugin.extends(point, self.version) else "wrong-point"


def read_profiles(value: Object, version: str) -> tuple[Profile, ...]:
    """Returns the profiles of a configuration; none written means one that is called default-scheduler.

    Source: kubernetes pkg/scheduler/apis/config/v1/defaults.go.
    """
    entries = [entry for _, entry in objects(value.get("profiles"))]
    if not entries:
        return (Profile(value={}, index=0, name=DEFAULT_SCHEDULER, version=version),)
    return tuple(
        Profile(value=entry, index=index, name=_name_of(entry, alone=len(entries) == 1), version=version)
        for index, entry in enumerate(entries)
    )


def _name_of(entry: Object, *, alone: bool) -> str:
    name = entry.get("schedulerName")
    return DEFAULT_SCHEDULER if name is None and alone else text(name)
