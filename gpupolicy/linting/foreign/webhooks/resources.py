"""What webhooks can be asked about: resources with their groups, scopes and operations, and what is kept from them.

Source: kubernetes apiserver and pkg/registry; measured on Kubernetes 1.37.2.
"""

from __future__ import annotations

from collections.abc import Mapping

# what the cluster itself lives by: (group, resource) to the operations that must not be stopped
LIFELINES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "nodes"): ("CREATE", "UPDATE"),
    ("coordination.k8s.io", "leases"): ("CREATE", "UPDATE"),
    ("authentication.k8s.io", "tokenreviews"): ("CREATE",),
    ("authorization.k8s.io", "subjectaccessreviews"): ("CREATE",),
    ("certificates.k8s.io", "certificatesigningrequests"): ("CREATE", "UPDATE"),
}
# what the API server shows to no webhook, since which version
NEVER_SHOWN: Mapping[tuple[str, str], str] = {
    **{("admissionregistration.k8s.io", f"{kind}webhookconfigurations"): "1.34" for kind in ("mutating", "validating")},
    **{("admissionregistration.k8s.io", f"{kind}admissionpolicies"): "1.34" for kind in ("mutating", "validating")},
    ("authentication.k8s.io", "selfsubjectreviews"): "1.37",
    ("authentication.k8s.io", "tokenreviews"): "1.37",
    ("authorization.k8s.io", "localsubjectaccessreviews"): "1.37",
    ("authorization.k8s.io", "selfsubjectaccessreviews"): "1.37",
    ("authorization.k8s.io", "selfsubjectrulesreviews"): "1.37",
    ("authorization.k8s.io", "subjectaccessreviews"): "1.37",
}
CLUSTER_SCOPED = frozenset(
    {"nodes", "namespaces", "persistentvolumes", "certificatesigningrequests", "tokenreviews", "subjectaccessreviews"}
)
# the operations at which the API server asks webhooks about pods and their subresources
POD_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "pods": ("CREATE", "DELETE", "UPDATE"),
    "pods/attach": ("CONNECT",),
    "pods/binding": ("CREATE",),
    "pods/ephemeralcontainers": ("UPDATE",),
    "pods/eviction": ("CREATE",),
    "pods/exec": ("CONNECT",),
    "pods/portforward": ("CONNECT",),
    "pods/proxy": ("CONNECT",),
    "pods/resize": ("UPDATE",),
    "pods/status": ("UPDATE",),
}
OPERATIONS = ("CONNECT", "CREATE", "DELETE", "UPDATE")
SINGULAR = {
    "pod": "pods",
    "deployment": "deployments",
    "replicaset": "replicasets",
    "statefulset": "statefulsets",
    "daemonset": "daemonsets",
    "job": "jobs",
    "cronjob": "cronjobs",
    "node": "nodes",
    "namespace": "namespaces",
}
# the groups whose resources are all Kubernetes' own
RESOURCES: Mapping[str, tuple[str, ...]] = {
    "": (
        "bindings",
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
        "services",
    ),
    "apps": ("controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs", "jobs"),
}
# those that hooks are about, whose names people get wrong
_OFTEN_MEANT = ("pods", "nodes", "namespaces", "replicationcontrollers", *RESOURCES["apps"][1:], *RESOURCES["batch"])
GROUPS = {name: group for group, names in RESOURCES.items() for name in names if name in _OFTEN_MEANT}
