"""Names of resources: extended ones, and slips of known ones."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.resource_names import KNOWN_GPUS, find_extended_name_problem, find_misspelt, is_extended


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "example.com/a.b-c", "k8s.io/x", "nvidia.com/mig-1g.5gb"])
def test_a_qualified_name_of_a_foreign_domain_is_extended(name: str) -> None:
    assert is_extended(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("cpu", "has no domain before a slash", id="native"),
        pytest.param("kubernetes.io/gpu", "lies in a domain of Kubernetes itself", id="kubernetes-domain"),
        pytest.param("x.kubernetes.io/gpu", "lies in a domain of Kubernetes itself", id="below-it"),
        pytest.param("mykubernetes.io/gpu", "lies in a domain of Kubernetes itself", id="ends-alike"),
        pytest.param("requests.a.com/x", "does not fit the names of resource quotas", id="quota-prefix"),
    ],
)
def test_a_name_that_is_not_extended_has_a_reason(name: str, problem: str) -> None:
    assert find_extended_name_problem(name) == problem


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("nvidia.com/gpus", "nvidia.com/gpu", id="plural"),
        pytest.param("nvidia.com/GPU", "nvidia.com/gpu", id="case"),
        pytest.param("nvidia/gpu", "nvidia.com/gpu", id="domain-cut"),
        pytest.param("gpu", "nvidia.com/gpu", id="domain-missing"),
        pytest.param("habana.ai/gaudi2", "habana.ai/gaudi", id="other-vendor"),
    ],
)
def test_a_slip_is_recognised(name: str, meant: str) -> None:
    assert find_misspelt(name, KNOWN_GPUS) == meant


@pytest.mark.parametrize(
    "name",
    [
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "intel.com/gpu",
        "example.com/gpu",
        "rdma/hca",
    ],
)
def test_a_name_of_its_own_is_no_slip(name: str) -> None:
    assert find_misspelt(name, KNOWN_GPUS) is None
