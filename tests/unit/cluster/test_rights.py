"""Which RBAC rule a request needs."""

from __future__ import annotations

import pytest

from gpupolicy.cluster.rights import find_right


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/nodes", ("list", "", "nodes", "")),
        ("GET", "/api/v1/nodes/a", ("get", "", "nodes", "")),
        ("PATCH", "/api/v1/nodes/a", ("patch", "", "nodes", "")),
        ("PATCH", "/api/v1/nodes/a/status", ("patch", "", "nodes/status", "")),
        ("GET", "/api/v1/namespaces", ("list", "", "namespaces", "")),
        ("WATCH", "/api/v1/namespaces", ("watch", "", "namespaces", "")),
        ("GET", "/api/v1/namespaces/a", ("get", "", "namespaces", "")),
        ("GET", "/api/v1/namespaces/a/pods", ("list", "", "pods", "a")),
        ("POST", "/api/v1/namespaces/a/pods/p/eviction", ("create", "", "pods/eviction", "a")),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/d", ("update", "apps", "deployments", "a")),
        (
            "DELETE",
            "/apis/policy/v1/namespaces/a/poddisruptionbudgets/d",
            ("delete", "policy", "poddisruptionbudgets", "a"),
        ),
    ],
)
def test_the_path_tells_what_is_asked_for(method, path, expected):
    right = find_right(method, path)

    assert right is not None
    assert (right.verb, right.group, right.resource, right.namespace) == expected


@pytest.mark.parametrize("path", ["/version", "/api", "/api/v1", "/apis", "/apis/apps/v1", "/"])
def test_what_is_no_resource_needs_no_rule(path):
    assert find_right("GET", path) is None
