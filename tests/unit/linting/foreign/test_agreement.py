"""Lint says an error where Kubernetes refuses, and nowhere else; what it refuses was asked of the real one."""

from __future__ import annotations

import pytest
import yaml
from foreign_cases import Case, is_refused_by_lint, node_cases, scheduler_cases, webhook_cases


@pytest.mark.parametrize("case", scheduler_cases(), ids=lambda case: case.name)
def test_a_scheduler_configuration_is_an_error_where_kube_scheduler_ends(case: Case) -> None:
    assert is_refused_by_lint(case.value) is case.refused


@pytest.mark.parametrize("case", webhook_cases(), ids=lambda case: case.name)
def test_a_registration_is_an_error_where_the_api_server_refuses_it(case: Case) -> None:
    assert is_refused_by_lint(yaml.safe_dump(case.value)) is case.refused


@pytest.mark.parametrize("case", node_cases(), ids=lambda case: case.name)
def test_a_node_is_an_error_where_the_api_server_refuses_it(case: Case) -> None:
    assert is_refused_by_lint(yaml.safe_dump(case.value)) is case.refused
