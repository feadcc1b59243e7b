"""The hook for objects that make pods: which kinds, which of them, and that it can be left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import policy

from gpupolicy.compiler.manifest import Order
from gpupolicy.compiler.registration import compile_registration
from gpupolicy.model import Admission, EarlyAction, FailurePolicy, Policy, Webhook, WorkloadKind

SWEEP = WorkloadKind(group="ml.example.org", kind="Sweep", templates=("spec.trials[*]", "spec.pod"))


def hooks(chosen: Policy) -> list[Any]:
    """The hooks of the validating configuration."""
    _, validating = compile_registration(Order(policy=chosen))
    return list(validating.document["webhooks"])  # type: ignore[call-overload]


def hook(chosen: Policy) -> Any:
    """The one for workloads."""
    return hooks(chosen)[1]


def condition(chosen: Policy, name: str) -> str:
    (found,) = [each["expression"] for each in hook(chosen)["matchConditions"] if each["name"] == name]
    return str(found)


def resources(chosen: Policy, group: str) -> list[str]:
    (found,) = [rule["resources"] for rule in hook(chosen)["rules"] if rule["apiGroups"] == [group]]
    return list(found)


def test_it_never_stands_in_the_way_of_anything() -> None:
    strict = replace(policy(), webhook=Webhook(failure_policy=FailurePolicy.FAIL))

    assert (hook(strict)["name"], hook(strict)["failurePolicy"]) == ("workloads.test.gpupolicy.dev", "Ignore")


def test_it_has_a_path_of_its_own_and_leaves_out_the_same_namespaces() -> None:
    pods, workloads = hooks(policy())

    assert workloads["clientConfig"]["service"]["path"] == "/validate/workloads"
    assert workloads["namespaceSelector"] == pods["namespaceSelector"]


@pytest.mark.parametrize(("action", "names"), [("warn", 2), ("deny", 2), ("off", 1)])
def test_it_is_there_unless_the_policy_waits_for_the_pods(action: str, names: int) -> None:
    assert len(hooks(policy(admission=Admission(workloads=EarlyAction(action))))) == names


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param("", ["podtemplates", "replicationcontrollers"], id="core-without-pods"),
        pytest.param("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], id="apps"),
        pytest.param("batch", ["cronjobs", "jobs"], id="batch"),
        pytest.param("ray.io", ["rayclusters", "raycronjobs", "rayjobs", "rayservices"], id="a-custom-group"),
        pytest.param(
            "trainer.kubeflow.org", ["optimizationjobs", "trainingruntimes", "trainjobs"], id="no-cluster-kinds"
        ),
        pytest.param("ml.example.org", ["sweeps"], id="of-the-policy"),
    ],
)
def test_the_kinds_of_the_table_and_of_the_policy_are_named_by_group(group: str, expected: list[str]) -> None:
    assert resources(policy(workloads=(SWEEP,)), group) == expected


def test_kinds_whose_pods_nobody_sees_are_not_asked_for() -> None:
    groups = [rule["apiGroups"][0] for rule in hook(policy())["rules"]]

    assert {"kubeai.org", "kubevirt.io"} & set(groups) == set()


def test_versions_are_named_where_they_are_kubernetes_own() -> None:
    versions = {rule["apiGroups"][0]: rule["apiVersions"] for rule in hook(policy())["rules"]}

    assert (versions["apps"], versions["ray.io"]) == (["v1"], ["*"])


def test_the_condition_follows_the_paths_of_the_policy() -> None:
    expression = condition(policy(workloads=(SWEEP,)), "makes-gpu-pods")

    assert "object.?spec.?pod.?spec," in expression
    assert "object.?spec.?trials.orValue([]).transformList(k, v, v.?spec)" in expression
    assert "object.?spec.?trials.orValue([]).transformList(k, v, optional.of(v))" in expression


def test_the_condition_names_what_is_counted() -> None:
    assert "['nvidia.com/gpu', 'nvidia.com/mig-', 'deviceclass.resource.kubernetes.io/'].exists(" in condition(
        policy(), "makes-gpu-pods"
    )


@pytest.mark.parametrize("name", ["data-loader", "namespace"], ids=["no-word", "reserved"])
def test_a_field_name_that_cel_does_not_take_is_quoted(name: str) -> None:
    odd = WorkloadKind(group="ml.example.org", kind="Sweep", templates=(f"spec.{name}",))

    assert f"object.?spec[?'{name}']" in condition(policy(workloads=(odd,)), "makes-gpu-pods")


def test_no_line_of_an_expression_ends_in_a_space() -> None:
    lines = [line for each in hook(policy())["matchConditions"] for line in each["expression"].splitlines()]

    assert [line for line in lines if line.endswith(" ")] == []
