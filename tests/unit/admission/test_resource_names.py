"""Names that look like GPUs and are not counted are said aloud, never taken for GPUs."""

import pytest
from builders import GPU, container, gpu_type, pod, policy

from gpupolicy.admission.counting import count_gpus
from gpupolicy.admission.resource_names import MOST_NAMES
from gpupolicy.pod import PodView

POLICY = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)),))
MIG = policy(types=(gpu_type("A100-1g", gpus=56, resource_name="nvidia.com/mig-1g.10gb"),))


def remarks(limits, found=POLICY):
    document = pod() | {"spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]}}
    return [(remark.rule, remark.message) for remark in count_gpus(found, PodView(document)).remarks]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("nvidia.com/gpus", "nvidia.com/gpus is no counted resource; no node may offer it", id="plural"),
        pytest.param("nvidia.com/GPU", "nvidia.com/GPU is no counted resource; no node may offer it", id="upper-case"),
        pytest.param(
            "nvida.com/gpu", "nvida.com/gpu is no counted resource; no node may offer it", id="letter-missing"
        ),
    ],
)
def test_a_name_close_to_a_counted_one_is_misspelt(name, message):
    assert remarks({name: 4}) == [("resource-name-misspelt", message)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("gpu", "it has no domain, as in nvidia.com/gpu", id="bare"),
        pytest.param("nvidia.com.gpu", "it has no domain, as in nvidia.com/gpu", id="dot-for-slash"),
        pytest.param("nvidia.com/", "it has an empty name", id="no-name"),
        pytest.param(
            "requests.nvidia.com/gpu",
            "names that start with requests. are kept for quotas",
            id="of-a-quota",
        ),
        pytest.param(
            "NVIDIA.com/gpu",
            "its prefix may hold lower case letters, digits, '-' and '.', and starts and ends with a letter or digit",
            id="upper-case-domain",
        ),
    ],
)
def test_a_gpu_s_name_that_the_api_server_refuses_is_told(name, problem):
    message = f"{name} is no name of a resource ({problem}), so the API server refuses it"

    assert remarks({name: 4}) == [("gpu-name-not-valid", message)]


@pytest.mark.parametrize(
    "name",
    [
        "amd.com/gpu",
        "gpu.intel.com/i915",
        "habana.ai/gaudi",
        "kubernetes.io/gpu",
        "foo.kubernetes.io/gpu",
        "example.com/GPU",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/gpu.shared",
        "alpha.kubernetes.io/nvidia-gpu",
        "nvidia.com/gpucores",
        "aliyun.com/gpu-core.percentage",
        "volcano.sh/vgpu-number",
        "koordinator.sh/gpu-memory-ratio",
        "tencent.com/vcuda-memory",
        "gpu.intel.com/i915_monitoring",
        "amd.com/cpx_nps4",
        "nvidia.com/v100",
    ],
)
def test_a_gpu_that_the_policy_does_not_count_is_told(name):
    message = f"{name} is a GPU resource that the policy does not count"

    assert remarks({name: 1}) == [("gpu-resource-not-counted", message)]


def test_a_mig_profile_beside_the_counted_one_is_not_misspelt():
    message = "nvidia.com/mig-1g.5gb is a GPU resource that the policy does not count"

    assert remarks({"nvidia.com/mig-1g.5gb": 1}, MIG) == [("gpu-resource-not-counted", message)]


def test_a_counted_mig_profile_in_another_case_is_misspelt():
    message = "nvidia.com/mig-1g.10GB is no counted resource; no node may offer it"

    assert remarks({"nvidia.com/mig-1g.10GB": 1}, MIG) == [("resource-name-misspelt", message)]


def test_a_mig_profile_beside_a_counted_one_in_one_container_is_told():
    found = remarks({"nvidia.com/mig-1g.10gb": 1, "nvidia.com/mig-2g.20gb": 1}, MIG)

    assert [rule for rule, _ in found] == ["gpu-resource-not-counted", "mig-profiles-several"]


@pytest.mark.parametrize("amount", [2, "many"])
def test_several_shares_of_a_gpu_are_told(amount):
    message = f"{amount} shares of nvidia.com/gpu.shared give no more than one; a container may be refused them"

    assert remarks({"nvidia.com/gpu.shared": amount})[-1] == ("gpu-shares-several", message)


def test_several_mig_profiles_in_one_container_are_told():
    found = remarks({"nvidia.com/mig-1g.10gb": 1, "nvidia.com/mig-1g.20gb": 2})
    message = (
        "one container asks for 2 MIG profiles (nvidia.com/mig-1g.10gb, nvidia.com/mig-1g.20gb); "
        "it can use one device of one profile"
    )

    assert found[-1] == ("mig-profiles-several", message)


def test_a_mig_profile_beside_none_of_another_is_one_profile():
    message = "nvidia.com/mig-1g.20gb is a GPU resource that the policy does not count"

    assert remarks({"nvidia.com/mig-1g.10gb": 0, "nvidia.com/mig-1g.20gb": 2}) == [
        ("gpu-resource-not-counted", message)
    ]


@pytest.mark.parametrize(
    ("name", "amount", "rule"),
    [
        pytest.param("amd.com/gpu", None, "gpu-amount-empty", id="empty"),
        pytest.param("nvidia.com/gpu.shared", "0.5", "gpu-amount-fractional", id="half-a-share"),
        pytest.param("nvidia.com/mig-1g.5gb", "500m", "gpu-amount-fractional", id="half-a-slice"),
        pytest.param("amd.com/gpu", -1, "gpu-amount-negative", id="negative"),
        pytest.param("nvidia.com/gpumem", "8GB", "gpu-amount-unreadable", id="memory-in-gigabytes"),
    ],
)
def test_an_odd_amount_of_an_uncounted_gpu_is_told_beside_it(name, amount, rule):
    """The API server judges the amounts of every extended resource."""
    assert [found for found, _ in remarks({name: amount})] == [rule, "gpu-resource-not-counted"]


def test_a_request_of_an_uncounted_gpu_needs_a_limit():
    document = pod() | {"spec": {"containers": [{"name": "c", "resources": {"requests": {"amd.com/gpu": 3}}}]}}
    found = [remark.rule for remark in count_gpus(POLICY, PodView(document)).remarks]

    assert found == ["gpu-limit-missing", "gpu-resource-not-counted"]


@pytest.mark.parametrize("name", ["kubernetes.io/gpu", "deviceclass.resource.kubernetes.io/gpu"])
def test_amounts_of_names_of_kubernetes_itself_are_not_judged(name):
    assert {rule for rule, _ in remarks({name: "0.5"})} <= {"gpu-resource-not-counted", "device-class-not-known"}


def test_none_of_a_gpu_under_a_name_that_is_refused_is_refused_too():
    assert [rule for rule, _ in remarks({"gpu": 0})] == ["gpu-name-not-valid"]


def test_mig_profiles_in_different_containers_are_fine():
    document = pod() | {
        "spec": {
            "containers": [
                container(1, resource="nvidia.com/mig-1g.10gb"),
                container(1, resource="nvidia.com/mig-2g.20gb"),
            ]
        }
    }
    rules = {remark.rule for remark in count_gpus(POLICY, PodView(document)).remarks}

    assert rules == {"gpu-resource-not-counted"}


def test_a_device_class_that_no_type_names_is_told():
    message = "devices of class nic.example.com are not counted: no GPU type names the class"

    assert remarks({"deviceclass.resource.kubernetes.io/nic.example.com": 1}) == [("device-class-not-known", message)]


def test_a_class_of_several_types_is_named_once_in_the_hint():
    found = policy(types=tuple(gpu_type(name, device_classes=("gpu.example.com",)) for name in ("V100", "A100")))
    document = pod() | {"spec": {"containers": [container(1, resource="deviceclass.resource.kubernetes.io/nic")]}}
    (remark,) = count_gpus(found, PodView(document)).remarks

    assert remark.hint == "deviceClasses of the GPU types: gpu.example.com"


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"cpu": 1, "memory": "1Gi", "ephemeral-storage": "1Gi"}, id="standard"),
        pytest.param({"hugepages-1Gi": "2Gi"}, id="hugepages"),
        pytest.param({"rdma/hca": 1, "vpc.amazonaws.com/efa": 1, "nvidia.com/hostdev": 1}, id="other-devices"),
        pytest.param({"gpu-cloud.example.com/licence": 1}, id="of-a-domain-with-the-word"),
        pytest.param({"nvidia.com/gpu_rdma_vf": 1, "networking.gke.io.networks/gpu-0.IP": 1}, id="cards-beside-a-gpu"),
        pytest.param({"google.com/tpu": 4, "aws.amazon.com/neuron": 1}, id="accelerators-that-are-no-gpus"),
        pytest.param({"amd.com/gpu": 0, "nvidia.com/gpus": "0", "nvidia.com/gpu.shared": "0"}, id="none-of-them"),
        pytest.param({"nvidia.com/mig-1g.5gb": "0", "nvidia.com/mig-2g.10gb": "0"}, id="no-slices"),
        pytest.param({"deviceclass.resource.kubernetes.io/gpu.example.com": 1}, id="known-device-class"),
    ],
)
def test_other_resources_are_not_remarked(limits):
    assert remarks(limits) == []


def test_a_gpu_at_pod_level_is_told():
    (remark,) = count_gpus(POLICY, PodView(pod(None, resources={"limits": {GPU: "4", "cpu": 4}}))).remarks
    message = f"{GPU} stands in the pod's own resources, where Kubernetes takes cpu, memory and hugepages only"

    assert (remark.rule, remark.field, remark.message) == (
        "gpu-at-pod-level",
        ("spec", "resources", "limits", GPU),
        message,
    )


def test_a_long_list_of_names_is_remarked_up_to_a_limit():
    """Every look costs a comparison with the counted names, so a pod gets a limited number of them."""
    names = {f"example{index}.com/gpu": 1 for index in range(10 * MOST_NAMES)}

    assert len(remarks(names)) == MOST_NAMES


def test_amounts_of_a_long_list_of_names_are_judged_up_to_the_same_limit():
    limits = {f"example.com/gpu-{number}": 0.5 for number in range(MOST_NAMES + 50)}

    assert [rule for rule, _ in remarks(limits)].count("gpu-amount-fractional") == MOST_NAMES
