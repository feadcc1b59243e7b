"""The chart's files beside its templates are what the compiler says now."""

from __future__ import annotations

import json

import pytest
import yaml
from charts.contents import CHART, generated

import gpupolicy
from gpupolicy.model import KUBERNETES_VERSIONS


@pytest.mark.parametrize("path", generated())
def test_what_the_chart_took_from_the_compiler_is_what_the_compiler_says(path: str) -> None:
    """If not: python tests/charts/regenerate.py, and read the difference."""
    assert (CHART / path).read_text() == generated()[path]


def test_the_chart_has_the_version_of_the_package_and_its_oldest_kubernetes() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert (chart["version"], chart["appVersion"]) == (gpupolicy.__version__, gpupolicy.__version__)
    assert chart["kubeVersion"] == f">={KUBERNETES_VERSIONS[0]}.0-0"


def test_the_schema_knows_the_values_and_no_others() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    assert set(schema["properties"]) == {*values, "global"}


def test_what_may_differ_from_the_policy_is_judged_as_the_policy_is() -> None:
    policy = json.loads((CHART.parents[1] / "gpupolicy" / "loading" / "policy.schema.json").read_text())
    theirs = policy["$defs"]["webhook"]["properties"]
    ours = json.loads((CHART / "values.schema.json").read_text())["properties"]["webhook"]["properties"]
    words = ("type", "minimum", "maximum", "minLength", "enum")

    assert ours == {name: {w: theirs[name][w] for w in words if w in theirs[name]} for name in ours}
