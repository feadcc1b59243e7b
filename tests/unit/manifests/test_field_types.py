"""Types that the API server cannot decode, and resources that it does not read. Each was tried on 1.37.2."""

from __future__ import annotations

from typing import Any

import pytest
from commands import POLICY

from gpupolicy.errors import format_field
from gpupolicy.loading import load
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.checking import check_documents
from gpupolicy.manifests.field_types import find_type_problems


def problems(spec: str) -> list[tuple[str, str, str]]:
    """What is wrong with a spec, written as YAML."""
    (document,) = read_documents(spec, "m.yaml")
    value: Any = document.value
    return [(f.rule, format_field(f.field), f.message) for f in find_type_problems(value, ("spec",))]


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        pytest.param(
            "{containers: [{env: [{name: A, value: 1}]}]}",
            "spec.containers[0].env[0].value",
            "value is the number 1, a text is expected",
            id="env-number",
        ),
        pytest.param(
            "{containers: [{env: [{name: A, value: yes}]}]}",
            "spec.containers[0].env[0].value",
            "value is true, a text is expected",
            id="env-yes",
        ),
        pytest.param(
            "{containers: [{env: {A: b}}]}",
            "spec.containers[0].env",
            "env is a mapping, a list is expected",
            id="env-mapping",
        ),
        pytest.param(
            "{containers: [{env: [A=b]}]}",
            "spec.containers[0].env[0]",
            "an entry of env is a text, a mapping is expected",
            id="env-as-in-docker",
        ),
        pytest.param(
            "{initContainers: [{args: [--lr, 0.1]}]}",
            "spec.initContainers[0].args[1]",
            "an entry of args is the number 0.1, a text is expected",
            id="args-number",
        ),
        pytest.param(
            "{containers: [{command: python train.py}]}",
            "spec.containers[0].command",
            "command is a text, a list is expected",
            id="command-text",
        ),
        pytest.param(
            "{containers: [{image: 1.10}]}",
            "spec.containers[0].image",
            "image is the number 1.1, a text is expected",
            id="image-number",
        ),
        pytest.param(
            "{containers: [{ports: [{containerPort: '80'}]}]}",
            "spec.containers[0].ports[0].containerPort",
            "containerPort is a text, a whole number is expected",
            id="port-text",
        ),
        pytest.param(
            "{tolerations: [{key: nvidia.com/gpu, value: true}]}",
            "spec.tolerations[0].value",
            "value is true, a text is expected",
            id="toleration-true",
        ),
        pytest.param(
            "{restartPolicy: no}", "spec.restartPolicy", "restartPolicy is false, a text is expected", id="restart-no"
        ),
        pytest.param(
            "{hostNetwork: 'true'}", "spec.hostNetwork", "hostNetwork is a text, true or false is expected", id="host"
        ),
    ],
)
def test_what_the_api_server_cannot_decode_is_told(spec: str, field: str, message: str) -> None:
    assert problems(spec) == [("field-of-wrong-type", field, message)]


@pytest.mark.parametrize(
    "spec",
    [
        "{containers: [{env: [{name: A, value: }, {name: B, valueFrom: {}}], args: [~], command: , ports: }]}",
        "{tolerations: {key: a}, containers: {name: c}}",
        "{containers: [x], initContainers: }",
        "{containers: [{resources: {limits: {}, requests: {}, claims: []}, livenessProbe: {}, resizePolicy: []}]}",
    ],
    ids=["null", "read-by-admission", "no-mapping", "right"],
)
def test_what_is_right_or_told_elsewhere_is_left_alone(spec: str) -> None:
    assert problems(spec) == []


@pytest.mark.parametrize(
    ("container", "field", "told"),
    [
        ("resources: {limit: {nvidia.com/gpu: 4}}", "resources.limit", "resources has no field limit"),
        ("resources: {Limits: {nvidia.com/gpu: 4}}", "resources.Limits", "resources has no field Limits"),
        ("resources: {nvidia.com/gpu: 4}", "resources[nvidia.com/gpu]", "resources has no field nvidia.com/gpu"),
        ("Resources: {limits: {}}", "Resources", "a container has no field Resources"),
        ("resource: {limits: {}}", "resource", "a container has no field resource"),
        ("limits: {nvidia.com/gpu: 4}", "limits", "limits stands outside of resources"),
    ],
    ids=["limit", "capital", "no-limits", "capital-resources", "singular", "outside"],
)
def test_resources_that_nobody_reads_are_told(container: str, field: str, told: str) -> None:
    assert problems(f"{{containers: [{{{container}}}]}}") == [
        (
            "resources-not-read",
            f"spec.containers[0].{field}",
            f"{told}: kubectl refuses it, and others drop it with the GPUs in it",
        )
    ]


def test_a_check_says_how_to_write_the_text() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{env: [{name: A, value: yes}]}]}}"

    report = check_documents(load(POLICY), read_documents(text, "m.yaml"), files=1)

    (finding,) = [f for entry in report.objects for f in entry.findings if f.rule == "field-of-wrong-type"]
    assert finding.hint == 'write "yes"'
