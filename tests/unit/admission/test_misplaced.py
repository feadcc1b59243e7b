"""A GPU under a field that a pod does not have is told, because the cluster may drop it in silence."""

import pytest
from builders import GPU, gpu_type, pod, policy, preference, preferred, required, within

from gpupolicy.admission.misplaced import find_misplaced
from gpupolicy.pod import PodView

CLASS = "deviceclass.resource.kubernetes.io/gpu.example.com"
POLICY = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)),))
CONTAINER = ("spec", "containers", 0)


def places(document):
    return [remark.field for remark in find_misplaced(POLICY, PodView(document))]


def of_container(**fields):
    return pod() | {"spec": {"containers": [{"name": "c", **fields}]}}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        pytest.param(of_container(resources={GPU: 4}), (*CONTAINER, "resources", GPU), id="no-limits"),
        pytest.param(
            of_container(resources={"limit": {GPU: 4}}), (*CONTAINER, "resources", "limit", GPU), id="one-limit"
        ),
        pytest.param(
            of_container(resources={"Limits": {CLASS: 4}}), (*CONTAINER, "resources", "Limits", CLASS), id="upper-case"
        ),
        pytest.param(of_container(limits={GPU: 4}), (*CONTAINER, "limits", GPU), id="no-resources"),
        pytest.param(
            of_container(resource={"limits": {GPU: 4}}), (*CONTAINER, "resource", "limits", GPU), id="one-resource"
        ),
        pytest.param(of_container(**{GPU: 4}), (*CONTAINER, GPU), id="in-the-container"),
        pytest.param(pod(None, limits={GPU: 4}), ("spec", "limits", GPU), id="in-the-pod"),
        pytest.param(pod(None, resources={GPU: 4}), ("spec", "resources", GPU), id="in-the-pod-without-limits"),
        pytest.param(
            pod(None, init=({"name": "i", "limits": {GPU: 1}},)),
            ("spec", "initContainers", 0, "limits", GPU),
            id="in-an-init-container",
        ),
        pytest.param(
            pod(1, ephemeralContainers=[{"name": "e", "resources": {"limits": {GPU: 1}}}]),
            ("spec", "ephemeralContainers", 0, "resources", "limits", GPU),
            id="in-an-ephemeral-container",
        ),
    ],
)
def test_a_gpu_under_an_unknown_field_is_told(document, place):
    assert places(document) == [place]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod(4, overhead={GPU: 1}), id="where-they-belong"),
        pytest.param(pod(None, resources={"limits": {GPU: 4}}), id="at-pod-level-which-another-rule-tells"),
        pytest.param(pod(1, nodeSelector={GPU: "true"}), id="label-in-the-node-selector"),
        pytest.param(pod(1, affinity=required([within(GPU, "true")])), id="label-in-required-affinity"),
        pytest.param(pod(1, affinity=preferred(preference(1, within(GPU, "true")))), id="label-in-preferred-affinity"),
        pytest.param(pod(1, tolerations=[{"key": GPU, "operator": "Exists"}]), id="taint"),
        pytest.param(
            pod(1, topologySpreadConstraints=[{"labelSelector": {"matchLabels": {GPU: "true"}}}]), id="label-of-pods"
        ),
        pytest.param(of_container(limits={"cpu": 4}), id="no-gpu"),
    ],
)
def test_a_gpu_or_a_label_where_it_may_stand_is_not_told(document):
    assert places(document) == []


def test_what_is_nested_without_end_is_not_followed():
    nested = {}
    nested["more"] = nested

    assert places(of_container(extra=nested)) == []
