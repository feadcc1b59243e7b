"""Paths as policies write them."""

from __future__ import annotations

import pytest

from gpupolicy.workloads.paths import find_path_problem, parse_path


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        pytest.param("spec.trial.podTemplate", ("spec", "trial", "podTemplate"), id="names"),
        pytest.param("spec.replicas.*.template", ("spec", "replicas", "*", "template"), id="star"),
        pytest.param("spec.tasks[*].template", ("spec", "tasks", "*", "template"), id="brackets"),
        pytest.param("spec.steps[*][*]", ("spec", "steps", "*", "*"), id="lists-in-lists"),
        pytest.param("spec.data-loader", ("spec", "data-loader"), id="dash"),
        pytest.param("template", ("template",), id="one-step"),
    ],
)
def test_a_path_is_steps(text: str, steps: tuple[str, ...]) -> None:
    assert (parse_path(text), find_path_problem(text)) == (steps, None)


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        pytest.param("$.spec.template", "does not begin with a field name", "write spec.template", id="jsonpath"),
        pytest.param("/spec/template", "does not begin with a field name", "write spec.template", id="pointer"),
        pytest.param(".", "does not begin with a field name", "write spec.template", id="dot"),
        pytest.param(
            "spec.tasks[12].template",
            "names one entry by [12]",
            "write spec.tasks[*].template, which is every entry",
            id="index",
        ),
        pytest.param(
            "spec template",
            "is not field names with dots between them",
            "write it as spec.template or spec.tasks[*].template",
            id="space",
        ),
        pytest.param(
            "",
            "is not field names with dots between them",
            "write it as spec.template or spec.tasks[*].template",
            id="empty",
        ),
        pytest.param("metadata.x", "begins with metadata, where no workload describes its pods", None, id="metadata"),
        pytest.param(
            "containers", "leads into a pod, not to the pod template or pod spec", "write spec", id="containers-alone"
        ),
        pytest.param(
            "spec.a.initContainers[*]",
            "leads into a pod, not to the pod template or pod spec",
            "write spec.a",
            id="init-containers",
        ),
        pytest.param(".".join(["a"] * 33), "has 33 steps; at most 32 are followed", None, id="long"),
    ],
)
def test_what_is_no_path_to_pods_is_told(text: str, problem: str, hint: str | None) -> None:
    assert find_path_problem(text) == (problem, hint)
