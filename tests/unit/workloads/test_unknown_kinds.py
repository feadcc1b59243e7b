"""Kinds that the table lacks are searched for the shape of a pod."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GPU, container

from gpupolicy.errors import format_field
from gpupolicy.workloads import Found, find_pod_templates, group_of

SPEC = {"containers": [container(5)]}


def find(spec: Any, api_version: str = "ml.example.org/v1", **more: Any) -> Found:
    return find_pod_templates({"apiVersion": api_version, "kind": "Sweep", "spec": spec, **more}, counted=(GPU,))


def test_a_template_is_found_by_its_shape_and_marked_as_guessed() -> None:
    found = find({"trial": {"podTemplate": {"metadata": {"labels": {}}, "spec": SPEC}}})

    assert [format_field(t.path) for t in found.templates] == ["spec.trial.podTemplate.spec"]
    assert not found.is_known
    assert not found.templates[0].is_known


def test_a_pod_spec_under_another_key_is_found() -> None:
    found = find({"worker": SPEC})

    assert [format_field(t.path) for t in found.templates] == ["spec.worker"]


def test_the_spec_itself_may_be_the_pod() -> None:
    assert [format_field(t.path) for t in find(SPEC).templates] == ["spec"]


def test_the_kind_itself_is_taken_for_the_owner() -> None:
    assert find(SPEC).templates[0].owner_kind == "Sweep"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"containers": [{"image": "x"}]}, id="no-name"),
        pytest.param({"containers": [{"name": "x", "port": 1}]}, id="neither-image-nor-resources"),
        pytest.param({"containers": {"type": "array"}}, id="a-schema"),
        pytest.param({"limits": {"cpu": 1000, GPU: 64}}, id="limits-of-an-autoscaler"),
        pytest.param({"hard": {f"requests.{GPU}": 8}}, id="a-quota"),
        pytest.param(None, id="nothing"),
    ],
)
def test_what_is_no_pod_is_left_alone(value: Any) -> None:
    assert find({"a": value}) == Found()


def test_the_status_is_not_searched() -> None:
    assert find({}, status={"pod": SPEC}) == Found()


@pytest.mark.parametrize("group", ["apiextensions.k8s.io/v1", "kyverno.io/v1", "templates.gatekeeper.sh/v1"])
def test_groups_that_only_quote_pods_are_not_searched(group: str) -> None:
    assert find({"pattern": {"spec": SPEC}}, api_version=group) == Found()


def test_resources_without_a_pod_are_told() -> None:
    found = find({"values": {"resources": {"limits": {GPU: 3}}}})

    assert [unseen.reason for unseen in found.unseen] == [f"spec.values.resources asks for {GPU}, but stands in no pod"]


def test_resources_beside_a_pod_without_gpus_are_told() -> None:
    """Many operators have the main container's resources in a field, and a pod template for what goes around it."""
    found = find({"resources": {"limits": {GPU: 3}}, "podTemplate": {"spec": {"containers": [container()]}}})

    assert [format_field(t.path) for t in found.templates] == ["spec.podTemplate.spec"]
    assert [unseen.reason for unseen in found.unseen] == [f"spec.resources asks for {GPU}, but stands in no pod"]


def test_a_number_that_repeats_what_a_pod_asks_for_is_not_told() -> None:
    assert find({"gpusPerWorker": 5, "worker": SPEC}).unseen == ()


def test_the_resources_inside_of_a_pod_are_no_others() -> None:
    assert find({"worker": {"containers": [container()], "resources": {"limits": {GPU: 3}}}}).unseen == ()


JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"namespace": "team-a"},
    "spec": {"jobTemplate": {"spec": {"template": {"spec": SPEC}}}},
}


def test_an_object_inside_of_an_unknown_one_is_read_as_its_own_kind() -> None:
    (template,) = find({"forProvider": {"manifest": JOB}}).templates

    assert format_field(template.path) == "spec.forProvider.manifest.spec.jobTemplate.spec.template.spec"
    assert (template.owner_kind, template.namespace, template.is_known) == ("Job", "team-a", False)


def test_an_object_inside_of_an_unknown_one_may_keep_its_pods_in_a_form_of_its_own() -> None:
    step = {"name": "a", "container": {"image": "x", "resources": {"limits": {GPU: 3}}}}
    workflow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": {"templates": [step]}}

    found = find({"objects": [workflow]})

    assert [format_field(t.path) for t in found.templates] == ["spec.objects[0].spec.templates[0]"]
    assert found.unseen == ()


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param({"apiVersion": "v1", "kind": "Pod", "name": "a", "namespace": "b"}, id="event"),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "selector": {"matchLabels": {"a": "b"}}}, id="target"),
    ],
)
def test_a_reference_inside_of_an_unknown_object_is_no_object(reference: dict[str, object]) -> None:
    assert find({"involvedObject": reference}) == Found()


def test_a_schema_inside_of_an_unknown_object_is_not_searched() -> None:
    quoting = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"worker": SPEC}}

    assert find({"manifests": [quoting]}) == Found()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"resources:\n  limits:\n    {GPU}: 3\n", id="values"),
        pytest.param(f'{{"limits": {{"{GPU}": "3"}}}}', id="json"),
        pytest.param("resources.limits.nvidia\\.com/gpu=3", id="set"),
    ],
)
def test_a_text_that_gives_gpus_is_told(text: str) -> None:
    """Argo CD and K3s take the values of a chart as one text."""
    found = find({"helm": {"values": text}})

    assert [unseen.reason for unseen in found.unseen] == [f"spec.helm.values gives {GPU} in a text"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"Nodes with {GPU}: see the handbook", id="prose"),
        pytest.param(f"- name: {GPU}\n  replicas: 4\n", id="a-name"),
        pytest.param(f"{GPU}: 0", id="none"),
        pytest.param(f"x{GPU}: 3", id="another-name"),
    ],
)
def test_a_text_that_only_names_a_resource_is_left_alone(text: str) -> None:
    assert find({"helm": {"values": text}}) == Found()


def test_a_number_of_gpus_that_stands_in_no_pod_is_told() -> None:
    found = find({"worker": {"gpusPerWorker": 4}})

    assert [unseen.reason for unseen in found.unseen] == ["it counts GPUs by its own field spec.worker.gpusPerWorker"]


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", "resource.k8s.io/v1"], ids=["core", "apps", "k8s.io"])
def test_kubernetes_own_kinds_count_gpus_in_resources_alone(api_version: str) -> None:
    assert find({"gpus": 4}, api_version=api_version) == Found()


def test_the_search_ends_at_a_depth() -> None:
    deep: Any = {"spec": SPEC}
    for _ in range(200):
        deep = {"a": deep}

    assert find(deep) == Found()


@pytest.mark.parametrize(
    ("api_version", "group"),
    [("v1", ""), ("apps/v1", "apps"), ("", ""), (None, ""), (1, "")],
    ids=["core", "apps", "empty", "none", "number"],
)
def test_the_group_of_an_api_version(api_version: object, group: str) -> None:
    assert group_of(api_version) == group
