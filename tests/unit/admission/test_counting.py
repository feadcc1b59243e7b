"""The effective request: Kubernetes' formula over containers, init containers, sidecars and overhead."""

import pytest
from builders import GPU, container, gpu_type, pod, policy

from gpupolicy.admission.counting import count_gpus
from gpupolicy.errors import PodShapeError
from gpupolicy.pod import PodView

CLASS = "deviceclass.resource.kubernetes.io/gpu.example.com"
POLICY = policy(
    types=(gpu_type("V100", device_classes=("gpu.example.com",)), gpu_type("MI300", resource_name="amd.com/gpu"))
)
MAX = 9223372036854775807


def init(gpus, **fields):
    return container(gpus, name="i", **fields)


def sidecar(gpus):
    return init(gpus, restartPolicy="Always")


def counted(document):
    return count_gpus(POLICY, PodView(document))


def asking(*, requests=None, limits=None):
    return pod() | {"spec": {"containers": [{"name": "c", "resources": {"requests": requests, "limits": limits}}]}}


def remarks(document):
    return [(remark.rule, remark.message) for remark in counted(document).remarks]


@pytest.mark.parametrize(
    ("document", "gpus"),
    [
        pytest.param(pod(1), 1, id="one"),
        pytest.param(pod(2, 2), 4, id="containers-add-up"),
        pytest.param(pod(None, 4, None), 4, id="not-the-first-container"),
        pytest.param(pod(2, init=(init(8),)), 8, id="init-alone-is-larger"),
        pytest.param(pod(8, init=(init(2),)), 8, id="init-alone-is-smaller"),
        pytest.param(pod(2, init=(init(8), init(4))), 8, id="inits-run-one-after-the-other"),
        pytest.param(pod(1, init=(sidecar(1),)), 2, id="sidecar-and-container"),
        pytest.param(pod(1, init=(sidecar(4), init(4))), 8, id="init-after-a-sidecar"),
        pytest.param(pod(1, init=(init(4), sidecar(4))), 5, id="init-before-a-sidecar"),
        pytest.param(pod(1, init=(sidecar(1), init(3))), 4, id="sidecar-then-init"),
        pytest.param(pod(1, init=(init(3), sidecar(1))), 3, id="init-then-sidecar"),
        pytest.param(pod(1, init=(sidecar(1), sidecar(1), init(1), sidecar(5))), 8, id="sidecars-in-between"),
        pytest.param(pod(1, overhead={GPU: 1}), 2, id="overhead"),
        pytest.param(pod(1, init=(init(3),), overhead={GPU: 1}), 4, id="overhead-on-the-larger-phase"),
        pytest.param(pod("4000m"), 4, id="thousandths"),
        pytest.param(pod("8e0"), 8, id="exponent"),
        pytest.param(pod(MAX, MAX), 2 * MAX, id="two-of-the-largest-are-no-minus-two"),
    ],
)
def test_the_effective_request(document, gpus):
    assert counted(document).gpus == {GPU: gpus}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod(None), id="no-resources"),
        pytest.param(pod(0), id="zero"),
        pytest.param(pod("0"), id="zero-as-text"),
        pytest.param(pod(init=(init("0"),)), id="zero-in-init"),
        pytest.param(pod("0.5"), id="unreadable-counts-as-none"),
        pytest.param(pod(-1), id="negative-counts-as-none"),
        pytest.param(pod(resources={"limits": {GPU: 4}}), id="pod-level-is-not-counted"),
    ],
)
def test_a_pod_that_needs_none_counts_nothing(document):
    assert counted(document).gpus == {}


def test_names_are_counted_apart():
    document = asking(limits={GPU: 2, "amd.com/gpu": 1, "cpu": 4, "hugepages-2Mi": "4Mi"})

    assert counted(document).gpus == {GPU: 2, "amd.com/gpu": 1}


def test_phases_are_compared_for_each_name():
    document = pod(4, init=(init(2, resource=CLASS), init(8)))

    assert counted(document).gpus == {GPU: 8, CLASS: 2}


def test_what_runs_on_is_told_beside_the_whole_request():
    count = counted(pod(2, init=(init(8),), overhead={GPU: 1}))

    assert (count.gpus, count.running) == ({GPU: 9}, {GPU: 3})


@pytest.mark.parametrize(
    ("requests", "limits", "gpus"),
    [
        pytest.param({CLASS: 3}, None, 3, id="request-alone"),
        pytest.param(None, {CLASS: 2}, 2, id="limit-alone"),
        pytest.param({CLASS: 1}, {CLASS: 3}, 1, id="the-scheduler-allocates-by-the-request"),
    ],
)
def test_implicit_device_class_names_count_by_request(requests, limits, gpus):
    assert counted(asking(requests=requests, limits=limits)).gpus == {CLASS: gpus}


def test_implicit_device_class_names_need_no_limit():
    assert remarks(asking(requests={CLASS: 1}, limits={CLASS: 3})) == []


@pytest.mark.parametrize(
    ("document", "first"),
    [
        pytest.param(pod(None, 0, 3), ("spec", "containers", 2, "resources", "limits", GPU), id="container"),
        pytest.param(pod(init=(init(3),)), ("spec", "initContainers", 0, "resources", "limits", GPU), id="init"),
        pytest.param(pod(overhead={GPU: 1}), ("spec", "overhead", GPU), id="overhead"),
        pytest.param(pod(None), ("spec", "containers"), id="none"),
    ],
)
def test_the_first_field_that_asks_for_gpus_is_told(document, first):
    assert counted(document).first == first


@pytest.mark.parametrize(
    ("document", "rule", "message"),
    [
        pytest.param(
            pod("0.5"),
            "gpu-amount-fractional",
            "0.5 GPUs are no whole number; Kubernetes takes whole GPUs only",
            id="fraction",
        ),
        pytest.param(
            asking(requests={CLASS: "1500m"}),
            "gpu-amount-fractional",
            "1500m GPUs are no whole number; Kubernetes takes whole GPUs only",
            id="fraction-of-a-device-class",
        ),
        pytest.param(pod(-1), "gpu-amount-negative", "-1 GPUs are less than none", id="negative"),
        pytest.param(pod("2K"), "gpu-amount-unreadable", '"2K" is not a quantity', id="unreadable"),
        pytest.param(
            pod() | {"spec": {"containers": [{"name": "c", "resources": {"limits": {GPU: None}}}]}},
            "gpu-amount-empty",
            "the amount is empty, which Kubernetes reads as 0",
            id="null",
        ),
        pytest.param(
            asking(requests={GPU: 2}),
            "gpu-limit-missing",
            "nvidia.com/gpu is requested without a limit; Kubernetes wants a limit that equals the request",
            id="request-alone",
        ),
        pytest.param(
            asking(requests={GPU: 1}, limits={GPU: 2}),
            "gpu-request-not-limit",
            "1 of nvidia.com/gpu are requested, the limit is 2; Kubernetes wants them equal",
            id="request-below-limit",
        ),
        pytest.param(
            asking(requests={CLASS: 4}, limits={CLASS: 2}),
            "gpu-request-not-limit",
            f"4 of {CLASS} are requested, the limit is 2; Kubernetes wants a limit that is no less",
            id="request-of-a-device-class-above-its-limit",
        ),
        pytest.param(
            asking(requests={CLASS: 1}, limits={CLASS: "-1"}),
            "gpu-amount-negative",
            "-1 GPUs are less than none",
            id="negative-limit-of-a-device-class",
        ),
        pytest.param(
            asking(requests={GPU: 1}, limits={GPU: True}),
            "gpu-amount-unreadable",
            "true is not a quantity",
            id="limit-that-equals-the-request-in-python-alone",
        ),
        pytest.param(
            pod(1, resourceClaims=[{"name": "h100"}]),
            "device-claim-not-counted",
            "the devices of resource claim h100 are counted in another object; they are not judged",
            id="claim",
        ),
    ],
)
def test_an_odd_amount_is_remarked(document, rule, message):
    assert remarks(document) == [(rule, message)]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod(4), id="limit-alone"),
        pytest.param(asking(requests={GPU: "2000m"}, limits={GPU: 2}), id="the-same-in-another-form"),
        pytest.param(pod(0), id="zero"),
        pytest.param(pod(1, resourceClaims=[]), id="no-claims"),
    ],
)
def test_an_ordinary_amount_is_not_remarked(document):
    assert remarks(document) == []


def test_a_remark_points_at_the_amount():
    (remark,) = counted(pod(1, "0.5")).remarks

    assert remark.field == ("spec", "containers", 1, "resources", "limits", GPU)


@pytest.mark.parametrize("name", [GPU, CLASS])
def test_a_limit_that_cannot_be_read_is_remarked_beside_its_request(name):
    document = asking(requests={name: 1}, limits={name: "one"})

    assert remarks(document) == [("gpu-amount-unreadable", '"one" is not a quantity')]


def test_an_amount_of_the_overhead_is_remarked_there():
    (remark,) = counted(pod(1, overhead={GPU: "0.5"})).remarks

    assert (remark.rule, remark.field) == ("gpu-amount-fractional", ("spec", "overhead", GPU))


def test_a_resource_name_that_is_no_text_is_refused():
    with pytest.raises(PodShapeError) as caught:
        counted(asking(limits={1: 2}))

    assert str(caught.value) == "spec.containers[0].resources.limits has a key that is no string"
