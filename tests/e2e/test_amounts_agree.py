"""What admission denies in the API server's place, the API server refuses; what it lets pass, the API server takes."""

import pytest
from builders import GPU, gpu_type, pod, policy

from gpupolicy.admission import admit

CLASS = "deviceclass.resource.kubernetes.io/gpu.example.com"
SHARED = "nvidia.com/gpu.shared"
POLICY = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)),))


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({"limits": {GPU: "4"}}, id="limit"),
        pytest.param({"limits": {GPU: "4\n"}}, id="line-break"),
        pytest.param({"limits": {GPU: "\t4"}}, id="tab"),
        pytest.param({"limits": {GPU: True}, "requests": {GPU: 1}}, id="truth-value-beside-one"),
        pytest.param({"limits": {CLASS: 4}, "requests": {CLASS: 2}}, id="class-below-its-limit"),
        pytest.param({"limits": {CLASS: 2}, "requests": {CLASS: 4}}, id="class-above-its-limit"),
        pytest.param({"limits": {CLASS: -1}, "requests": {CLASS: 1}}, id="class-with-a-negative-limit"),
        pytest.param({"requests": {CLASS: 2}}, id="class-without-a-limit"),
        pytest.param({"requests": {GPU: 2}}, id="gpu-without-a-limit"),
        pytest.param({"limits": {SHARED: "0.5"}}, id="half-a-share"),
        pytest.param({"requests": {SHARED: 1}}, id="share-without-a-limit"),
        pytest.param({"requests": {"kubernetes.io/gpu": "0.5"}}, id="half-of-a-name-of-kubernetes"),
        pytest.param({"limits": {"gpu": 1}}, id="no-domain"),
        pytest.param({"limits": {"nvidia/gpu": 1}}, id="short-domain"),
        pytest.param({"limits": {"NVIDIA.com/gpu": 1}}, id="upper-case-domain"),
        pytest.param({"limits": {"nvidia.com/GPU": 1}}, id="upper-case-name"),
        pytest.param({"limits": {"requests.nvidia.com/gpu": 1}}, id="name-of-a-quota"),
        pytest.param({"limits": {"requests.kubernetes.io/gpu": 1}}, id="name-of-no-quota"),
    ],
)
def test_admission_and_the_api_server_refuse_the_same(control_plane, namespace, resources):
    document = pod() | {"spec": {"containers": [{"name": "c", "image": "example/train:1", "resources": resources}]}}
    document["metadata"] = {"name": "job-a", "namespace": namespace}
    answer = control_plane.api().post(document, namespace=namespace, dry_run=True)

    assert answer.accepted == admit(POLICY, document).allowed, answer.message
