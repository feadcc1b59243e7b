"""Objects that are not what the API prints are refused by every call that takes nodes or pods, never read wrongly."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from builders import gpu_type, group, node, pod, policy

import gpupolicy

POLICY = policy(group("ALL", 1, 2, 4, 8, types=("V100",)), types=(gpu_type("V100"),))


class V1Pod:
    """Stands for an object of the Python client: fields as attributes."""

    def to_dict(self) -> dict[str, object]:
        """Its fields as Python calls them."""
        return {"api_version": "v1", "metadata": {"name": "p"}, "spec": {"node_name": None, "containers": []}}


def calls(nodes: object, pods: object) -> dict[str, Callable[[], object]]:
    """The calls of the library that take nodes or pods."""
    return {
        "assign": lambda: gpupolicy.assign(POLICY, nodes),  # type: ignore[arg-type]
        "capacity": lambda: gpupolicy.capacity(POLICY, nodes, pods),  # type: ignore[arg-type]
        "audit": lambda: gpupolicy.audit(POLICY, pods, nodes),  # type: ignore[arg-type]
    }


@pytest.mark.parametrize("name", ["assign", "capacity", "audit"])
@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        pytest.param([V1Pod()], "Node 1 is of type V1Pod; it is wanted as the API prints it: .*sanitize", id="object"),
        pytest.param(["gpu-1"], "Node 1 is of type str; ", id="text"),
        pytest.param([{"api_version": "v1", "metadata": {"name": "a"}}], "Node 1 has api_version in the", id="to_dict"),
        pytest.param({"kind": "List", "items": []}, "the Nodes are one mapping.*pass the items of a List", id="list"),
    ],
)
def test_nodes_that_are_not_as_the_api_prints_them(name: str, nodes: object, told: str) -> None:
    with pytest.raises(gpupolicy.GPUPolicyError, match=told):
        calls(nodes, ())[name]()


@pytest.mark.parametrize("name", ["capacity", "audit"])
@pytest.mark.parametrize(
    ("second", "told"),
    [
        pytest.param(V1Pod(), "Pod 2 is of type V1Pod; ", id="object"),
        pytest.param(
            {"api_version": None, "metadata": {"name": "a"}, "spec": {"node_name": "gpu-1", "containers": []}},
            "Pod 2 has api_version in the place of apiVersion; ",
            id="to_dict",
        ),
        pytest.param(7, "Pod 2 is of type int; ", id="number"),
    ],
)
def test_pods_that_are_not_as_the_api_prints_them(name: str, second: object, told: str) -> None:
    with pytest.raises(gpupolicy.GPUPolicyError, match=told):
        calls([node("gpu-1")], [pod(1), second])[name]()


@pytest.mark.parametrize("name", ["assign", "capacity", "audit"])
@pytest.mark.parametrize("series", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_nodes_and_pods_may_come_in_any_series(name: str, series: Callable[[object], object]) -> None:
    assert calls(series([node("gpu-1")]), series([pod(1)]))[name]() is not None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(V1Pod(), "the pod is of type V1Pod; it is wanted as the API prints it: .*sanitize", id="object"),
        pytest.param(V1Pod().to_dict(), "the pod has api_version in the place of apiVersion; ", id="to_dict"),
        pytest.param(
            {"metadata": {}, "spec": {"node_name": "gpu-1", "containers": []}},
            "the pod has spec.node_name in the place of spec.nodeName; ",
            id="template",
        ),
        pytest.param({"metadata": {}, "spec": V1Pod()}, "the spec of the pod is of type V1Pod; ", id="spec"),
    ],
)
def test_a_decision_is_refused_about_objects_of_the_python_client(given: object, told: str) -> None:
    """With ``node_selector`` and ``scheduler_name`` unread, the decision would be about another pod."""
    with pytest.raises(gpupolicy.GPUPolicyError, match=told):
        gpupolicy.admit(POLICY, given)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [V1Pod(), V1Pod().to_dict()], ids=["object", "to_dict"])
def test_a_decision_is_refused_about_an_old_pod_of_the_python_client(given: object) -> None:
    with pytest.raises(gpupolicy.GPUPolicyError, match="the old pod "):
        gpupolicy.admit(POLICY, pod(1), operation="UPDATE", old=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 7, "pod", [], {"spec": []}, {"spec": None}], ids=repr)
def test_a_pod_of_the_wrong_shape_is_denied_as_ever(given: object) -> None:
    (violation,) = gpupolicy.admit(POLICY, given).violations  # type: ignore[arg-type]

    assert violation.rule == "pod-not-readable"
