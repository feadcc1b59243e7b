"""The fields of a KubeSchedulerConfiguration and of the arguments of its plugins, per version.

Source: k8s.io/kube-scheduler config/v1 of 0.34, 0.35, 0.36 and 0.37; component-base config/v1alpha1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpupolicy.linting.foreign.scheduler.plugins import MULTI_POINT, points_of
from gpupolicy.linting.foreign.shapes import (
    ANY,
    BASE64,
    DURATION,
    DURATION_OR_NULL,
    FLAG,
    INT32,
    INT64,
    NUMBER,
    TEXT,
    Fields,
    ListOf,
    Shape,
    TableOf,
)
from gpupolicy.linting.foreign.versions import is_at_least

_TYPE = {"apiVersion": TEXT, "kind": TEXT}

_LEADER_ELECTION = Fields(
    {
        "leaderElect": FLAG,
        "leaseDuration": DURATION,
        "renewDeadline": DURATION,
        "retryPeriod": DURATION,
        "resourceLock": TEXT,
        "resourceName": TEXT,
        "resourceNamespace": TEXT,
    },
    {
        "lockObjectName": "write resourceName",
        "lockObjectNamespace": "write resourceNamespace",
        "leaseName": "write resourceName",
        "leaseNamespace": "write resourceNamespace",
    },
)

_CLIENT_CONNECTION = Fields(
    {"kubeconfig": TEXT, "acceptContentTypes": TEXT, "contentType": TEXT, "qps": NUMBER, "burst": INT32}
)

_EXTENDER = Fields(
    {
        "urlPrefix": TEXT,
        "filterVerb": TEXT,
        "preemptVerb": TEXT,
        "prioritizeVerb": TEXT,
        "weight": INT64,
        "bindVerb": TEXT,
        "enableHTTPS": FLAG,
        "tlsConfig": Fields(
            {
                "insecure": FLAG,
                "serverName": TEXT,
                "certFile": TEXT,
                "keyFile": TEXT,
                "caFile": TEXT,
                "certData": BASE64,
                "keyData": BASE64,
                "caData": BASE64,
            }
        ),
        "httpTimeout": DURATION,
        "nodeCacheCapable": FLAG,
        "managedResources": ListOf(Fields({"name": TEXT, "ignoredByScheduler": FLAG})),
        "ignorable": FLAG,
    }
)

_RESOURCES = ListOf(Fields({"name": TEXT, "weight": INT64}))
_SHAPE_POINTS = ListOf(Fields({"utilization": INT32, "score": INT32}))
_SELECTOR = Fields(
    {
        "matchLabels": TableOf(TEXT),
        "matchExpressions": ListOf(Fields({"key": TEXT, "operator": TEXT, "values": ListOf(TEXT)})),
    }
)
_REQUIREMENTS = ListOf(Fields({"key": TEXT, "operator": TEXT, "values": ListOf(TEXT)}))
_TERM = Fields({"matchExpressions": _REQUIREMENTS, "matchFields": _REQUIREMENTS})

_ARGUMENTS: Mapping[str, Mapping[str, Shape]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": INT32, "minCandidateNodesAbsolute": INT32},
    "InterPodAffinity": {"hardPodAffinityWeight": INT32, "ignorePreferredTermsOfExistingPods": FLAG},
    "NodeAffinity": {
        "addedAffinity": Fields(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": Fields({"nodeSelectorTerms": ListOf(_TERM)}),
                "preferredDuringSchedulingIgnoredDuringExecution": ListOf(
                    Fields({"weight": INT32, "preference": _TERM})
                ),
            }
        )
    },
    "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
    "NodeResourcesFit": {
        "ignoredResources": ListOf(TEXT),
        "ignoredResourceGroups": ListOf(TEXT),
        "scoringStrategy": Fields(
            {
                "type": TEXT,
                "resources": _RESOURCES,
                "requestedToCapacityRatio": Fields(
                    {"shape": _SHAPE_POINTS}, {"resources": "write it beside requestedToCapacityRatio"}
                ),
            },
            {"shape": "write it below requestedToCapacityRatio"},
        ),
    },
    "PodTopologySpread": {
        "defaultConstraints": ListOf(
            Fields(
                {
                    "maxSkew": INT32,
                    "topologyKey": TEXT,
                    "whenUnsatisfiable": TEXT,
                    "labelSelector": _SELECTOR,
                    "minDomains": INT32,
                    "nodeAffinityPolicy": TEXT,
                    "nodeTaintsPolicy": TEXT,
                    "matchLabelKeys": ListOf(TEXT),
                }
            )
        ),
        "defaultingType": TEXT,
    },
    "VolumeBinding": {"bindTimeoutSeconds": INT64, "shape": _SHAPE_POINTS},
    "DynamicResources": {"filterTimeout": DURATION_OR_NULL, "bindingTimeout": DURATION_OR_NULL},
}
_LATER = {("DynamicResources", "bindingTimeout"): "1.35"}
_FIT_REMARKS = {
    "resources": "write it below scoringStrategy",
    "type": "write it below scoringStrategy",
    "shape": "write it below scoringStrategy.requestedToCapacityRatio",
}

PLUGINS_WITH_ARGUMENTS = tuple(sorted(_ARGUMENTS))


@cache
def configuration_shape(version: str) -> Fields:
    """Returns the shape of the whole document in a version of Kubernetes; plugin arguments are judged apart."""
    return Fields(
        {
            **_TYPE,
            "parallelism": INT32,
            "leaderElection": _LEADER_ELECTION,
            "clientConnection": _CLIENT_CONNECTION,
            "enableProfiling": FLAG,
            "enableContentionProfiling": FLAG,
            "percentageOfNodesToScore": INT32,
            "podInitialBackoffSeconds": INT64,
            "podMaxBackoffSeconds": INT64,
            "profiles": ListOf(_profile(version)),
            "extenders": ListOf(_EXTENDER),
            "delayCacheUntilActive": FLAG,
        },
        {
            "metadata": "it is a file for kube-scheduler's --config, not an API object: leave metadata out",
            "spec": "it has no spec: its fields stand at the top",
            "schedulerName": "write it below profiles",
            "plugins": "write it below profiles",
            "pluginConfig": "write it below profiles",
            "algorithmSource": "it is gone in v1",
            "hardPodAffinitySymmetricWeight": "write hardPodAffinityWeight in InterPodAffinityArgs",
            "healthzBindAddress": "it is gone in v1; use --secure-port",
            "metricsBindAddress": "it is gone in v1; use --secure-port",
            "disablePreemption": "it is gone; disable the plugin DefaultPreemption",
            "bindTimeoutSeconds": "write it in VolumeBindingArgs",
        },
    )


@cache
def argument_shape(plugin: str, version: str) -> Fields | None:
    """Returns the shape of a plugin's arguments in a version, None for a plugin that takes none."""
    fields = _ARGUMENTS.get(plugin)
    if fields is None:
        return None
    later = {name for (owner, name), since in _LATER.items() if owner == plugin and not is_at_least(version, since)}
    known = {name: shape for name, shape in fields.items() if name not in later}
    return Fields({**_TYPE, **known}, _FIT_REMARKS if plugin == "NodeResourcesFit" else None)


def _profile(version: str) -> Fields:
    plugin = Fields({"name": TEXT, "weight": INT32})
    plugin_set = Fields({"enabled": ListOf(plugin), "disabled": ListOf(plugin)})
    points = dict.fromkeys((*points_of(version), MULTI_POINT), plugin_set)
    return Fields(
        {
            "schedulerName": TEXT,
            "percentageOfNodesToScore": INT32,
            "plugins": Fields(points),
            "pluginConfig": ListOf(Fields({"name": TEXT, "args": ANY})),
        },
        {"scoringStrategy": "write it in the pluginConfig of NodeResourcesFit"},
    )
