"""Label keys that were probably meant to be the policy's."""

import pytest
from builders import GROUP, TYPE, gpu_type, pod, policy, preference, preferred, required, within

from gpupolicy.admission.label_keys import find_misspelt_keys
from gpupolicy.errors import Part
from gpupolicy.labels import LabelSelector
from gpupolicy.pod import PodView

PRODUCT = "nvidia.com/gpu.product"
POLICY = policy(types=(gpu_type("V100", node_selector=LabelSelector(match_labels={PRODUCT: "Tesla"})),))


def remarks(**spec):
    return list(find_misspelt_keys(POLICY, PodView(pod(1, **spec))))


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        pytest.param("my.gpu.cluster/gpu_type", TYPE, id="underscore"),
        pytest.param("my.gpu.cluster/gpuType", TYPE, id="camel-case"),
        pytest.param("my.gpu.cluster/gpu-types", TYPE, id="plural"),
        pytest.param("my.gpu.cluster/nodegroup", GROUP, id="no-dash"),
        pytest.param("nvidia.com/gpu-product", PRODUCT, id="dash-for-dot"),
    ],
)
def test_a_key_that_is_close_is_told_with_what_was_meant(key, meant):
    (remark,) = remarks(nodeSelector={key: "A100"})

    assert (remark.field, remark.hint, remark.part) == (
        ("spec", "nodeSelector", key),
        f"did you mean {meant}",
        Part.KEY,
    )


@pytest.mark.parametrize(
    "key",
    [
        TYPE,
        PRODUCT,
        "my.gpu.cluster/rack",
        "my.gpu.cluster/gpu-tier",
        "gpu-type",
        "nvidia.com/gpu.present",
        "nvidia.com/gpu.count",
        "team.example/gpu-types",
        "topology.kubernetes.io/zone",
    ],
)
def test_other_keys_are_the_authors_own(key):
    assert remarks(nodeSelector={key: "A100"}) == []


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param(required([within("zone", "a"), within("my.gpu.cluster/gpu_type", "V100")]), id="required"),
        pytest.param(
            preferred(preference(1, within("zone", "a"), within("my.gpu.cluster/gpu_type", "V100"))), id="preferred"
        ),
    ],
)
def test_expressions_are_looked_at_too(affinity):
    (remark,) = remarks(affinity=affinity)

    assert (remark.field[-3:], remark.part) == (("matchExpressions", 1, "key"), Part.VALUE)


def test_a_long_list_is_looked_at_in_part():
    keys = {f"my.gpu.cluster/gpu-type{number}": "x" for number in range(1000)}

    assert len(remarks(nodeSelector=keys)) <= 100
