"""``gpupolicy fn``: a ResourceList in, a ResourceList out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import POLICY, Outcome, run

POD = """\
- apiVersion: v1
  kind: Pod
  metadata:
    name: p   # kept
    annotations: {internal.config.kubernetes.io/path: apps/pod.yaml, internal.config.kubernetes.io/index: '3'}
  spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: %s}}}]}
"""
MESSAGE = f"the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({POLICY}:21); ask for 2 or 4"


def listed(items: str = "", *, version: str = "v1", config: str = f"{{data: {{policy: {POLICY}}}}}") -> str:
    return (
        f"apiVersion: config.kubernetes.io/{version}\nkind: ResourceList\nfunctionConfig: {config}\n"
        f"items:{chr(10) + items if items else ' []' + chr(10)}"
    )


def call(text: str, *args: str) -> Outcome:
    return run("fn", *args, stdin=text)


def results(outcome: Outcome) -> Any:
    return yaml.safe_load(outcome.out).get("results")


def test_what_is_admitted_comes_out_byte_for_byte() -> None:
    outcome = call(listed(POD % 4))

    assert (outcome.status, outcome.out, outcome.err) == (0, listed(POD % 4), "")


def test_a_denied_item_is_a_result_with_all_that_is_known_of_it() -> None:
    outcome = call(listed(POD % 3))

    assert (outcome.status, results(outcome)) == (
        1,
        [
            {
                "message": MESSAGE,
                "severity": "error",
                "tags": {"rule": "request-size-not-admitted"},
                "resourceRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"},
                "field": {"path": "spec.containers[0].resources.limits[nvidia.com/gpu]", "currentValue": 3},
                "file": {"path": "apps/pod.yaml", "index": 3},
            }
        ],
    )


def test_the_items_stay_as_they_are_written_beside_the_results() -> None:
    assert call(listed(POD % 3)).out.startswith(listed(POD % 3) + "results:\n")


def test_why_it_failed_is_told_on_standard_error_too() -> None:
    """That is all that kustomize shows."""
    outcome = call(listed(POD % 3))

    assert outcome.err == f"apps/pod.yaml: error: {MESSAGE} [request-size-not-admitted]\n"


@pytest.mark.parametrize(
    ("config", "args"),
    [
        pytest.param(f"{{data: {{policy: {POLICY}, mode: mutate}}}}", (), id="data"),
        pytest.param(f"{{data: {{policy: {POLICY}}}}}", ("--mode", "mutate"), id="argument"),
        pytest.param("{}", (POLICY, "--mode", "mutate"), id="policy-as-argument"),
    ],
)
def test_in_mode_mutate_pods_are_routed(config: str, args: tuple[str, ...]) -> None:
    outcome = call(listed(POD % 4, config=config), *args)

    (pod,) = yaml.safe_load(outcome.out)["items"]
    assert (outcome.status, pod["spec"]["schedulerName"], "name: p   # kept\n" in outcome.out) == (
        0,
        "gpu-binpack",
        True,
    )


def test_what_is_denied_is_not_routed() -> None:
    (pod,) = yaml.safe_load(call(listed(POD % 3), "--mode", "mutate").out)["items"]

    assert list(pod["spec"]) == ["containers"]


def test_templates_are_routed_where_that_is_asked_for() -> None:
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 4}}}
    spec = {"template": {"spec": {"containers": [container]}}}
    job = f"- {json.dumps({'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'j'}, 'spec': spec})}\n"
    config = f"{{data: {{policy: {POLICY}, mode: mutate, templates: 'true'}}}}"

    (made,) = yaml.safe_load(call(listed(job, config=config)).out)["items"]

    assert made["spec"]["template"]["spec"]["schedulerName"] == "gpu-binpack"


class TestWithThePolicyInPlace:
    POLICY = yaml.safe_load(Path(POLICY).read_text())

    def config(self, **annotations: str) -> str:
        notes = {"config.kubernetes.io/function": "exec: {path: gpupolicy}", **annotations}
        metadata = {"name": "x", "annotations": notes, "creationTimestamp": None}
        return json.dumps({**self.POLICY, "metadata": metadata})

    def test_the_function_config_is_the_policy(self) -> None:
        assert call(listed(POD % 3, config=self.config())).status == 1

    def test_an_annotation_may_choose_the_mode(self) -> None:
        outcome = call(listed(POD % 4, config=self.config(**{"gpupolicy.dev/mode": "mutate"})))

        assert "schedulerName: gpu-binpack" in outcome.out

    def test_a_wrong_policy_is_told_and_nothing_comes_out(self) -> None:
        wrong = json.dumps({**self.POLICY, "metadata": {"name": "x"}, "spec": {}})

        outcome = call(listed(POD % 4, config=wrong))

        assert (outcome.status, outcome.out) == (2, "")
        assert "error: spec lacks the field gpuTypes" in outcome.err


def test_old_results_make_room_for_new_ones() -> None:
    text = listed(POD % 4) + "results: [{message: old}]\n"

    assert yaml.safe_load(call(text).out)["results"] == []


def test_an_empty_list_is_nothing_to_do() -> None:
    """In a pipeline it means that nothing came through."""
    assert (call(listed()).status, call(listed()).out) == (0, listed())


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_every_version_of_the_list_comes_out_as_it_came_in(version: str) -> None:
    assert call(listed(POD % 4, version=version)).out == listed(POD % 4, version=version)


def test_warnings_fail_only_in_strict_mode() -> None:
    item = "- {apiVersion: x.example.org/v1, kind: X, metadata: {name: x}, spec: {gpus: 3}}\n"

    assert [call(listed(item), *options).status for options in ((), ("--strict",))] == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "<stdin>: 0 documents are here, one ResourceList is expected", id="nothing"),
        pytest.param("{a: [", None, id="no-yaml"),
        pytest.param("[]", "<stdin>: a ResourceList is expected on standard input", id="a-list"),
        pytest.param("{kind: List}", "<stdin>: a ResourceList is expected on standard input", id="another-kind"),
        pytest.param(
            listed(version="v7"),
            "<stdin>: apiVersion of the ResourceList is config.kubernetes.io/v7; known are config.kubernetes.io/v1, "
            "config.kubernetes.io/v1beta1, config.kubernetes.io/v1alpha1",
            id="unknown-version",
        ),
        pytest.param(
            listed(config="{data: {}}"),
            "no policy: make functionConfig a GPUPolicy, name its file in data.policy, or as argument",
            id="no-policy",
        ),
        pytest.param(
            listed(config=f"{{data: {{policy: {POLICY}, mode: fix}}}}"),
            "mode of functionConfig is fix; known are validate, mutate",
            id="unknown-mode",
        ),
        pytest.param(
            listed(config=f"{{data: {{policy: {POLICY}, strict: perhaps}}}}"),
            "strict of functionConfig is perhaps; true or false is expected",
            id="no-truth",
        ),
        pytest.param(
            listed(config=f"{{data: {{policy: {POLICY}, template: 'true'}}}}"),
            "functionConfig has data.template, which is no option; did you mean templates",
            id="misspelt-option",
        ),
        pytest.param(listed(config="[]"), None, id="config-a-list"),
        pytest.param(
            listed(config="x"), "<stdin>: functionConfig has to be a mapping, and items a list", id="config-a-text"
        ),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_status_2(text: str, message: str | None) -> None:
    outcome = call(text)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f"error: {message}\n" or message is None


def test_a_list_that_cannot_be_changed_in_place_comes_out_as_json() -> None:
    parts = {
        "items": f"[{json.dumps(yaml.safe_load(POD % 3)[0])}]",
        "functionConfig": f"{{data: {{policy: {POLICY}}}}}",
    }
    keys = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", **parts}

    outcome = call("".join(f"? {key}\n: {value}\n" for key, value in keys.items()))

    assert list(json.loads(outcome.out)) == ["apiVersion", "kind", "items", "functionConfig", "results"]
