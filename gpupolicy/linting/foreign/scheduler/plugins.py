"""The plugins of kube-scheduler as data: where each may be enabled, its default weight, its arguments, since when.

Source: kubernetes pkg/scheduler of 1.34.12, 1.35.4, 1.36.3 and 1.37.2; the points of the last three measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpupolicy.linting.foreign.versions import is_at_least

# extension points in the order in which kube-scheduler fills them, with the first version that has them
POINTS: Mapping[str, str] = {
    "preFilter": "1.34",
    "filter": "1.34",
    "postFilter": "1.34",
    "reserve": "1.34",
    "preScore": "1.34",
    "score": "1.34",
    "preBind": "1.34",
    "bind": "1.34",
    "postBind": "1.34",
    "permit": "1.34",
    "preEnqueue": "1.34",
    "queueSort": "1.34",
    "placementGenerate": "1.36",
    "placementScore": "1.36",
    "podGroupPostFilter": "1.37",
}
MULTI_POINT = "multiPoint"
WEIGHED_POINTS = ("score", "placementScore", MULTI_POINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class InTreePlugin:
    """A plugin that every kube-scheduler has. ``later`` and ``until`` name versions of single points."""

    name: str
    points: tuple[str, ...]
    since: str = "1.34"
    later: Mapping[str, str] = field(default_factory=dict)
    until: Mapping[str, str] = field(default_factory=dict)

    def extends(self, point: str, version: str) -> bool:
        """Returns whether the plugin may be enabled at a point in a version."""
        if point not in self.points or not is_at_least(version, self.later.get(point, self.since)):
            return False
        return point not in self.until or not is_at_least(version, self.until[point])


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPlugin:
    """A plugin that is on by default, with its score weight (None: it has none of its own)."""

    name: str
    weight: int | None = None
    since: str = "1.34"


_FILTER = ("preFilter", "filter")
_SCORE = ("preScore", "score")

_PLUGINS = (
    InTreePlugin(name="DefaultBinder", points=("bind",)),
    InTreePlugin(
        name="DefaultPreemption",
        points=("preEnqueue", "postFilter", "podGroupPostFilter"),
        later={"podGroupPostFilter": "1.37"},
    ),
    InTreePlugin(name="DeferredPodScheduling", points=(*_FILTER, "permit"), since="1.37"),
    InTreePlugin(
        name="DynamicResources",
        points=("preEnqueue", *_FILTER, "postFilter", "score", "reserve", "preBind", "podGroupPostFilter"),
        later={"score": "1.35", "podGroupPostFilter": "1.37"},
    ),
    InTreePlugin(
        name="GangScheduling", points=("preEnqueue", "permit", "reserve"), since="1.35", until={"reserve": "1.36"}
    ),
    InTreePlugin(name="ImageLocality", points=("score",)),
    InTreePlugin(name="InterPodAffinity", points=(*_FILTER, *_SCORE)),
    InTreePlugin(name="NodeAffinity", points=(*_FILTER, *_SCORE)),
    InTreePlugin(name="NodeDeclaredFeatures", points=_FILTER, since="1.35"),
    InTreePlugin(name="NodeName", points=_FILTER, later={"preFilter": "1.37"}),
    InTreePlugin(name="NodePorts", points=_FILTER),
    InTreePlugin(name="NodeResourcesBalancedAllocation", points=_SCORE),
    InTreePlugin(
        name="NodeResourcesFit", points=(*_FILTER, *_SCORE, "placementScore"), later={"placementScore": "1.36"}
    ),
    InTreePlugin(name="NodeUnschedulable", points=_FILTER, later={"preFilter": "1.37"}),
    InTreePlugin(name="NodeVolumeLimits", points=_FILTER),
    InTreePlugin(name="PodGroupPodsCount", points=("placementScore",), since="1.36"),
    InTreePlugin(name="PodTopologySpread", points=(*_FILTER, *_SCORE)),
    InTreePlugin(name="PrioritySort", points=("queueSort",)),
    InTreePlugin(name="SchedulingGates", points=("preEnqueue",)),
    InTreePlugin(name="TaintToleration", points=(*_FILTER, *_SCORE), later={"preFilter": "1.37"}),
    InTreePlugin(name="TopologyPlacementGenerator", points=("placementGenerate",), since="1.36"),
    InTreePlugin(name="VolumeBinding", points=(*_FILTER, *_SCORE, "reserve", "preBind")),
    InTreePlugin(name="VolumeRestrictions", points=_FILTER),
    InTreePlugin(name="VolumeZone", points=_FILTER),
)

_DEFAULTS = (
    DefaultPlugin(name="SchedulingGates"),
    DefaultPlugin(name="PrioritySort"),
    DefaultPlugin(name="NodeName"),
    DefaultPlugin(name="NodeUnschedulable"),
    DefaultPlugin(name="TaintToleration", weight=3),
    DefaultPlugin(name="NodeAffinity", weight=2),
    DefaultPlugin(name="NodePorts"),
    DefaultPlugin(name="NodeResourcesFit", weight=1),
    DefaultPlugin(name="VolumeRestrictions"),
    DefaultPlugin(name="NodeVolumeLimits"),
    DefaultPlugin(name="VolumeBinding"),
    DefaultPlugin(name="VolumeZone"),
    DefaultPlugin(name="PodTopologySpread", weight=2),
    DefaultPlugin(name="InterPodAffinity", weight=2),
    DefaultPlugin(name="DynamicResources", weight=2),
    DefaultPlugin(name="DefaultPreemption"),
    DefaultPlugin(name="NodeResourcesBalancedAllocation", weight=1),
    DefaultPlugin(name="ImageLocality", weight=1),
    DefaultPlugin(name="DefaultBinder"),
    DefaultPlugin(name="NodeDeclaredFeatures", since="1.36"),
)

# refused by name in v1, before anybody looks whether such a plugin exists
REFUSED_NAMES = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")

# plugins that older configurations name, and what stands in their place
REPLACED: Mapping[str, str] = {
    "AzureDiskLimits": "NodeVolumeLimits does its work",
    "CinderLimits": "NodeVolumeLimits does its work",
    "EBSLimits": "NodeVolumeLimits does its work",
    "GCEPDLimits": "NodeVolumeLimits does its work",
    "RequestedToCapacityRatio": "it is a scoringStrategy type of NodeResourcesFit, no plugin",
    "NodeResourcesMostAllocated": "write scoringStrategy type MostAllocated of NodeResourcesFit",
    "NodeResourcesLeastAllocated": "write scoringStrategy type LeastAllocated of NodeResourcesFit",
    "NodeResourceLimits": "it is gone, and nothing replaces it",
    "NodeLabel": "addedAffinity of NodeAffinity does its work",
    "NodePreferAvoidPods": "it is gone, and nothing replaces it",
    "ServiceAffinity": "it is gone; InterPodAffinity comes nearest",
    "SelectorSpread": "PodTopologySpread does its work",
    "DefaultPodTopologySpread": "PodTopologySpread does its work",
}


# plugins of kubernetes-sigs/scheduler-plugins, which many files name; their own images have them
OUT_OF_TREE = frozenset(
    (
        "CapacityScheduling",
        "Coscheduling",
        "CrossNodePreemption",
        "LoadVariationRiskBalancing",
        "LowRiskOverCommitment",
        "NetworkOverhead",
        "NodeResourceTopologyMatch",
        "NodeResourcesAllocatable",
        "Peaks",
        "PodState",
        "PreemptionToleration",
        "QOSSort",
        "SySched",
        "TargetLoadPacking",
        "TopologicalSort",
    )
)


def find_plugin(name: str, version: str) -> InTreePlugin | None:
    """Returns the plugin of a name in a version of Kubernetes, or None."""
    return next((p for p in _PLUGINS if p.name == name and is_at_least(version, p.since)), None)


def plugin_names(version: str) -> tuple[str, ...]:
    """Returns the names of all plugins of a version, sorted."""
    return tuple(plugin.name for plugin in _PLUGINS if is_at_least(version, plugin.since))


def default_plugins(version: str) -> tuple[DefaultPlugin, ...]:
    """Returns the plugins that are on by default in a version, in kube-scheduler's order."""
    return tuple(plugin for plugin in _DEFAULTS if is_at_least(version, plugin.since))


def points_of(version: str) -> tuple[str, ...]:
    """Returns the extension points of a version."""
    return tuple(point for point, since in POINTS.items() if is_at_least(version, since))
