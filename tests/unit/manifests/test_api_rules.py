"""What the API server would refuse by itself."""

from __future__ import annotations

import pytest

from gpupolicy.errors import Severity, format_field
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.api_rules import find_object_problems, find_pod_problems
from gpupolicy.manifests.objects import read_content


def problems(text: str, *, makes_pods: bool = True) -> list[tuple[str, str, str]]:
    (document,) = read_documents(text, "m.yaml")
    (item,) = read_content(document).objects
    found = find_object_problems(item, makes_pods=makes_pods)
    return [(finding.rule, format_field(finding.field), finding.message) for finding in found]


def labelled(value: str) -> str:
    return f"{{apiVersion: v1, kind: Pod, metadata: {{labels: {{team: {value}}}}}}}"


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("NO", "false"),
        ("yes", "true"),
        ("3.10", "the number 3.1"),
        ("7", "the number 7"),
        ("[]", "a list"),
    ],
    ids=["no", "yes", "float", "integer", "list"],
)
def test_a_label_value_that_is_no_text_is_refused(value: str, shape: str) -> None:
    assert problems(labelled(value)) == [
        ("label-value-not-string", "metadata.labels.team", f"the value of label team is {shape}, a text is expected")
    ]


def test_null_is_an_empty_text_for_the_api_server() -> None:
    """Measured on 1.37.2: the pod is created, with an empty label."""
    (document,) = read_documents(labelled("~"), "m.yaml")
    (item,) = read_content(document).objects

    (finding,) = find_object_problems(item, makes_pods=True)

    assert (finding.rule, finding.severity, finding.message) == (
        "label-value-not-string",
        Severity.WARNING,
        "the value of label team is null, which Kubernetes reads as an empty text",
    )


@pytest.mark.parametrize("value", ['"3.56136738e+08"', '"="', '"-a"', '"a b"'], ids=["plus", "equals", "dash", "space"])
def test_a_label_value_with_forbidden_characters_is_refused_and_quoted(value: str) -> None:
    assert problems(labelled(value)) == [
        (
            "label-value-refused",
            "metadata.labels.team",
            f"the value {value} of label team may hold letters, digits, '-', '_' and '.', "
            "and starts and ends with a letter or digit",
        )
    ]


@pytest.mark.parametrize("value", ["NOx", '"NO"', '""', "v1.2-rc_3"], ids=["text", "quoted", "empty", "punctuation"])
def test_a_good_label_value_passes(value: str) -> None:
    assert problems(labelled(value)) == []


def test_a_label_key_is_judged_at_the_key() -> None:
    assert problems("{apiVersion: v1, kind: Pod, metadata: {labels: {a/b/c: x}}}")[0][:2] == (
        "label-key-refused",
        "metadata.labels[a/b/c]",
    )


def test_annotations_may_hold_any_text_but_only_text() -> None:
    text = '{apiVersion: v1, kind: Pod, metadata: {annotations: {a: "x y = z", b: 1}}}'

    assert problems(text) == [
        (
            "annotation-value-not-string",
            "metadata.annotations.b",
            "the value of annotation b is the number 1, a text is expected",
        )
    ]


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: []}",
            "metadata",
            "metadata is a list, a mapping is expected",
            id="metadata",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, spec: x}", "spec", "spec is a text, a mapping is expected", id="spec"
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {labels: [a]}}",
            "metadata.labels",
            "labels is a list, a mapping is expected",
            id="labels",
        ),
        pytest.param(
            "{apiVersion: 1, kind: Pod}", "apiVersion", "apiVersion is the number 1, a text is expected", id="v"
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {name: 5}}",
            "metadata.name",
            "name is the number 5, a text is expected",
            id="name",
        ),
    ],
)
def test_a_field_of_the_wrong_type_is_refused(text: str, field: str, message: str) -> None:
    assert problems(text) == [("field-of-wrong-type", field, message)]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{apiVersion: v1, spec: {}}", "kind"),
        ("{kind: Pod}", "apiVersion"),
        ("{kind: Pod, apiVersion: ''}", "apiVersion"),
    ],
    ids=["kind", "version", "empty"],
)
def test_an_object_says_what_it_is(text: str, key: str) -> None:
    assert problems(text) == [("kind-missing", "", f"{key} is missing, so nobody can tell what this object is")]


def test_the_name_of_a_workload_is_a_dns_name() -> None:
    assert problems("{apiVersion: v1, kind: Pod, metadata: {name: Job_A}}") == [
        (
            "name-refused",
            "metadata.name",
            "name \"Job_A\" may hold lower case letters, digits, '-' and '.', "
            "and starts and ends with a letter or digit",
        )
    ]


def test_other_kinds_are_named_more_freely() -> None:
    text = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: 'a:b'}}"

    assert problems(text, makes_pods=False) == []


def test_a_configuration_file_of_a_program_is_no_api_object() -> None:
    text = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}"

    assert problems(text) == [
        (
            "not-an-api-object",
            "kind",
            "KubeSchedulerConfiguration is no API object (kube-scheduler reads it by --config), so applying it fails",
        )
    ]


def test_a_node_selector_maps_texts_to_texts() -> None:
    (finding,) = find_pod_problems({"spec": {"nodeSelector": {"nvidia.com/gpu.present": True}}})

    assert (finding.severity, finding.message) == (
        Severity.ERROR,
        "the value of node selector nvidia.com/gpu.present is true, a text is expected",
    )
