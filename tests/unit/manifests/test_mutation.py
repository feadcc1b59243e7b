"""Manifests as the webhook would leave them."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import yaml
from builders import GPU, policy

from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.mutation import Mutated, mutate_manifest

POLICY = policy()

POD = dedent(
    """\
    # a training job
    apiVersion: v1
    kind: Pod
    metadata:
      name: a  # its name
    spec:
      containers:
        - name: 'c'
          image: "x"
          resources:
            limits:
              nvidia.com/gpu: 4  # four

    # the end
    """
)
ROUTED = dedent(
    """\
    # a training job
    apiVersion: v1
    kind: Pod
    metadata:
      name: a  # its name
      annotations:
        gpupolicy.dev/routed-to: SLOT-4
    spec:
      containers:
        - name: 'c'
          image: "x"
          resources:
            limits:
              nvidia.com/gpu: 4  # four
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - key: my.gpu.cluster/node-group
                operator: In
                values:
                - SLOT-4
      schedulerName: gpu-binpack

    # the end
    """
)


def mutate(text: str, **options: Any) -> Mutated:
    return mutate_manifest(POLICY, text.encode(), "m.yaml", surroundings=Surroundings(), **options)


def text_of(text: str, **options: Any) -> str:
    return mutate(text, **options).data.decode()


def deployment(gpus: int) -> str:
    limits = f"{{limits: {{{GPU}: {gpus}}}}}"
    spec = f"{{containers: [{{name: c, image: x, resources: {limits}}}]}}"
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  template:\n    spec: {spec}\n"


def test_a_pod_is_routed_and_its_text_stays() -> None:
    assert text_of(POD) == ROUTED


def test_a_second_run_changes_nothing() -> None:
    assert mutate(ROUTED).changed_pods == 0


def test_a_denied_pod_stays_as_it_is() -> None:
    denied = POD.replace("gpu: 4", "gpu: 3")

    assert text_of(denied) == denied


def test_a_pod_that_the_api_server_refuses_stays_as_it_is() -> None:
    refused = POD.replace("name: a ", "labels: {b: NO} ")

    assert text_of(refused) == refused


def test_a_denied_pod_does_not_keep_others_from_being_routed() -> None:
    denied = POD.replace("gpu: 4", "gpu: 3")

    assert text_of(f"{denied}---\n{POD}") == f"{denied}---\n{ROUTED}"


def test_workloads_are_left_alone() -> None:
    """The webhook changes pods; a changed template would differ from git for ever."""
    assert text_of(deployment(4)) == deployment(4)


def test_templates_are_routed_on_request() -> None:
    (changed,) = yaml.safe_load_all(text_of(deployment(4), with_templates=True))

    template = changed["spec"]["template"]
    assert (template["metadata"], template["spec"]["schedulerName"]) == (
        {"annotations": {"gpupolicy.dev/routed-to": "SLOT-4"}},
        "gpu-binpack",
    )


@pytest.mark.parametrize("kind", ["InferenceService", "Sweep"])
def test_templates_of_custom_resources_are_never_changed(kind: str) -> None:
    text = deployment(4).replace("apps/v1", "serving.kserve.io/v1beta1").replace("Deployment", kind)

    assert text_of(text, with_templates=True) == text


def test_the_items_of_a_list_are_routed_where_they_stand() -> None:
    limits = f"{{limits: {{{GPU}: 1}}}}"
    item = f"{{apiVersion: v1, kind: Pod, spec: {{containers: [{{name: c, resources: {limits}}}]}}}}"

    changed = yaml.safe_load(text_of(f"apiVersion: v1\nkind: List\nitems:\n- {item}\n- {item}\n"))

    assert [entry["spec"]["schedulerName"] for entry in changed["items"]] == ["gpu-binpack", "gpu-binpack"]


def test_pods_that_share_their_spec_by_an_alias_are_both_routed() -> None:
    spec = f"&s {{containers: [{{name: c, resources: {{limits: {{{GPU}: 1}}}}}}]}}"
    head = "- apiVersion: v1\n  kind: Pod\n  spec: "

    changed = yaml.safe_load(text_of(f"apiVersion: v1\nkind: List\nitems:\n{head}{spec}\n{head}*s\n"))

    assert [entry["spec"]["schedulerName"] for entry in changed["items"]] == ["gpu-binpack", "gpu-binpack"]


def test_a_version_number_is_not_written_back_as_another_number() -> None:
    text = POD.replace('image: "x"', "image: 3.10")

    assert "image: 3.10\n" in text_of(text)


def test_a_byte_order_mark_stays() -> None:
    assert mutate_manifest(POLICY, b"\xef\xbb\xbf" + POD.encode(), "m", surroundings=Surroundings()).data == (
        b"\xef\xbb\xbf" + ROUTED.encode()
    )


def test_a_manifest_that_is_in_part_unreadable_stays_as_it_is() -> None:
    text = f"{POD}---\na: [\n"

    assert text_of(text) == text


def test_windows_line_ends_stay() -> None:
    assert text_of(POD.replace("\n", "\r\n")) == ROUTED.replace("\n", "\r\n")
