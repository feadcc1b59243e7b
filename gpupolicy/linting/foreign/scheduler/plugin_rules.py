"""Rules about the plugins that a profile enables, disables and weighs."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.linting.foreign.findings import did_you_mean, error, listed, warning
from gpupolicy.linting.foreign.reading import child, objects
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.plugins import (
    MULTI_POINT,
    OUT_OF_TREE,
    REFUSED_NAMES,
    REPLACED,
    WEIGHED_POINTS,
    find_plugin,
    plugin_names,
    points_of,
)
from gpupolicy.linting.foreign.scheduler.profiles import Enabled, Profile


def plugin_unknown(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """An enabled plugin that kube-scheduler does not have.

    Why: kube-scheduler ends at its start. A scheduler image of one's own may have more plugins; this rule speaks of
    the one that Kubernetes ships.
    Bad:  score: {enabled: [{name: NodeResourceFit}]}
    Good: score: {enabled: [{name: NodeResourcesFit}]}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go; measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        for refused in profile.registration[1]:
            if refused.reason == "unknown" and refused.name not in REPLACED:
                yield error(
                    "plugin-unknown",
                    (*refused.path, "name"),
                    f"kube-scheduler {profile.version} has no plugin {refused.name or 'without a name'}",
                    _hint_known(refused.name, profile.version)
                    or "only a scheduler image that has it built in can start with it",
                )


def plugin_removed(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A plugin of older configurations that is gone.

    Why: enabled, it keeps kube-scheduler from starting; disabled or configured it is passed over in silence, and what
    the author wanted does not happen. Four names are refused wherever they are configured.
    Bad:  score: {enabled: [{name: RequestedToCapacityRatio}]}
    Good: scoringStrategy: {type: RequestedToCapacityRatio, ...} in the pluginConfig of NodeResourcesFit
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        enabled = [(r.path, r.name) for r in profile.registration[1] if r.reason == "unknown"]
        configured = [(path, name) for path, name, _ in profile.plugin_configs()]
        disabled = [(path, name) for point in _all_points(profile) for name, path in profile.disabled(point)]
        for path, name in (*enabled, *configured, *disabled):
            if name in REPLACED:
                refused = (path, name) in enabled or ((path, name) in configured and name in REFUSED_NAMES)
                say, effect = (error, "kube-scheduler ends with it") if refused else (warning, "this has no effect")
                message = f"the plugin {name} is gone; {effect}"
                yield say("plugin-removed", (*path, "name"), message, REPLACED[name])


def plugin_name_without_effect(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A configured or disabled plugin that kube-scheduler does not have.

    Why: kube-scheduler passes such names over in silence: a slip in the name of NodeResourcesFit leaves the profile
    spreading pods.
    Bad:  pluginConfig: [{name: NodeResourceFit, args: {scoringStrategy: {type: MostAllocated}}}]
    Good: pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
    Source: measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        known = plugin_names(profile.version)
        named = [("pluginConfig", path, name) for path, name, _ in profile.plugin_configs()]
        named += [("disabled", path, name) for p in _all_points(profile) for name, path in profile.disabled(p)]
        for where, path, name in named:
            if name in known or name in REPLACED or (where == "disabled" and name == "*"):
                continue
            yield warning(
                "plugin-name-without-effect",
                (*path, "name") if name else path,
                f"kube-scheduler {profile.version} has no plugin {name or 'without a name'} and passes the entry over",
                _hint_known(name, profile.version),
            )


def _hint_known(name: str, version: str) -> str | None:
    """The nearest name, but for plugins that others have built: theirs only look alike."""
    if name in OUT_OF_TREE:
        return "it is one of kubernetes-sigs/scheduler-plugins, which only their image has built in"
    return did_you_mean(name, plugin_names(version))


def plugin_at_wrong_point(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A plugin enabled at an extension point that it does not have.

    Why: kube-scheduler ends at its start.
    Bad:  filter: {enabled: [{name: ImageLocality}]}
    Good: score: {enabled: [{name: ImageLocality}]}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go; each plugin and point measured on 1.37.2.
    """
    for profile in configuration.profiles:
        for refused in profile.registration[1]:
            if refused.reason == "wrong-point":
                yield error(
                    "plugin-at-wrong-point",
                    (*refused.path, "name"),
                    f"{refused.name} has no {refused.point} in kube-scheduler {profile.version}",
                    f"it has {listed(_points_of_plugin(refused.name, profile.version))}",
                )


def plugin_enabled_twice(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A plugin named twice at one extension point.

    Why: kube-scheduler ends at its start, saying that the plugin is already registered.
    Bad:  score: {enabled: [{name: NodeResourcesFit, weight: 5}, {name: NodeResourcesFit, weight: 10}]}
    Good: score: {enabled: [{name: NodeResourcesFit, weight: 10}]}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go; measured on kube-scheduler 1.37.2.
    """
    for profile in configuration.profiles:
        for refused in profile.registration[1]:
            if refused.reason == "twice":
                message = f"{refused.name} is enabled at {refused.point} already"
                yield error("plugin-enabled-twice", (*refused.path, "name"), message)


def plugin_weight_negative(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A plugin with a weight below zero.

    Why: it turns the plugin's wish round. kube-scheduler ends at its start where such a weight makes the running sum
    of all weights negative, and takes it in silence otherwise.
    Bad:  score: {enabled: [{name: PodTopologySpread, weight: -1}]}
    Good: score: {disabled: [{name: PodTopologySpread}]}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go, getValidScoreWeights; measured on 1.37.2.
    """
    for profile in configuration.profiles:
        overflows = [found.path for p in ("score", "placementScore") if (found := profile.find_overflow(p))]
        for entry in _weighed(profile):
            if entry.weight is not None and entry.weight < 0 and entry.path:
                refused = entry.path in overflows
                effect = "kube-scheduler ends with it" if refused else "it turns its wish round"
                yield (error if refused else warning)(
                    "plugin-weight-negative",
                    (*entry.path, "weight"),
                    f"the weight of {entry.name} is {entry.weight}; {effect}",
                    "disable the plugin instead",
                )


def plugin_weight_zero(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A plugin with the weight 0, which is meant to switch it off.

    Why: kube-scheduler reads 0 as 1.
    Bad:  score: {enabled: [{name: ImageLocality, weight: 0}]}
    Good: score: {disabled: [{name: ImageLocality}]}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go, getValidScoreWeights; measured on 1.37.2.
    """
    for profile in configuration.profiles:
        for entry in _weighed(profile):
            if entry.weight == 0 and entry.path:
                yield warning(
                    "plugin-weight-zero",
                    (*entry.path, "weight"),
                    f"the weight of {entry.name} is 0, which kube-scheduler reads as 1",
                    f"to switch it off write disabled: [{{name: {entry.name}}}]",
                )


def plugin_weight_without_effect(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A weight where kube-scheduler looks for none.

    Why: only the weight at score counts, or at multiPoint where score does not name the plugin; at other points and on
    disabled plugins it is passed over, and so is any weight of a plugin that does not score.
    Bad:  filter: {enabled: [{name: NodeResourcesFit, weight: 25}]}
    Good: score: {enabled: [{name: NodeResourcesFit, weight: 25}]}
    Source: kubernetes pkg/scheduler/framework/runtime/framework.go, getValidScoreWeights; measured on 1.37.2.
    """
    for profile in configuration.profiles:
        at_score = {entry.name: entry for entry in profile.written("score")}
        for point in _all_points(profile):
            for entry in profile.written(point):
                other = at_score.get(entry.name)
                if not entry.weight or not entry.path:
                    continue
                if point not in WEIGHED_POINTS:
                    yield _no_effect(entry.path, f"a weight at {point} has no effect", "write it at score")
                elif not _scores(entry.name, profile.version):
                    yield _no_effect(entry.path, f"{entry.name} gives no scores, its weight has no effect", None)
                elif point == MULTI_POINT and other and other.effective_weight != entry.weight:
                    counts = f"score gives {entry.name} the weight {other.effective_weight}"
                    yield _no_effect(entry.path, f"{counts}, which counts instead of this {entry.weight}", None)
                elif point == MULTI_POINT and not other and _is_off_wherever_it_scores(profile, entry.name):
                    yield _no_effect(entry.path, f"{entry.name} is disabled at score, this weight has no effect", None)
            for index, disabled in objects(child(profile.value, "plugins", point, "disabled")):
                if disabled.get("weight"):
                    path = (*profile.path, "plugins", point, "disabled", index)
                    yield _no_effect(path, "a weight of a disabled plugin has no effect", "leave it out")


def _is_off_wherever_it_scores(profile: Profile, name: str) -> bool:
    plugin = find_plugin(name, profile.version)
    scores = [point for point in ("score", "placementScore") if plugin and plugin.extends(point, profile.version)]
    return bool(scores) and all(profile.find_enabled(point, name) is None for point in scores)


def _no_effect(path: FieldPath, message: str, hint: str | None) -> Finding:
    return warning("plugin-weight-without-effect", (*path, "weight"), message, hint)


def _weighed(profile: Profile) -> Iterator[Enabled]:
    for point in WEIGHED_POINTS:
        yield from profile.written(point)


def _all_points(profile: Profile) -> tuple[str, ...]:
    return (*points_of(profile.version), MULTI_POINT)


def _points_of_plugin(name: str, version: str) -> tuple[str, ...]:
    plugin = find_plugin(name, version)
    return tuple(point for point in points_of(version) if plugin and plugin.extends(point, version))


def _scores(name: str, version: str) -> bool:
    plugin = find_plugin(name, version)
    return plugin is None or plugin.extends("score", version) or plugin.extends("placementScore", version)
