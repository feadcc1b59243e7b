"""Plugins in a profile: weights that nobody reads, and names that only others have built in."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_builders import findings_of, messages_of, packing, points, profile, scheduler_configuration


def plugins(**fields: Any) -> dict[str, Any]:
    """A configuration whose one profile has these plugins."""
    return scheduler_configuration(profile(plugins=fields))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(
            plugins(score={"disabled": [{"name": "ImageLocality", "weight": 3}]}),
            ["a weight of a disabled plugin has no effect"],
            id="disabled",
        ),
        pytest.param(
            plugins(**points(multiPoint=("ImageLocality", 5), score="-ImageLocality")),
            ["ImageLocality is disabled at score, this weight has no effect"],
            id="disabled-at-score",
        ),
        pytest.param(
            plugins(**points(multiPoint=("ImageLocality", 5), score="-*")),
            ["ImageLocality is disabled at score, this weight has no effect"],
            id="all-disabled-at-score",
        ),
        pytest.param(plugins(**points(multiPoint=("NodeResourcesFit", 5), score="-*")), [], id="scores-placements-too"),
        pytest.param(plugins(**points(multiPoint=("ImageLocality", 5))), [], id="counts"),
    ],
)
def test_a_weight_that_nobody_reads_is_told(value: dict[str, Any], told: list[str]) -> None:
    assert messages_of(value, "plugin-weight-without-effect") == told


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param(
            "Coscheduling",
            "it is one of kubernetes-sigs/scheduler-plugins, which only their image has built in",
            id="of-others",
        ),
        pytest.param("NodeResourceFit", "did you mean NodeResourcesFit", id="misspelt"),
        pytest.param("MyOwnScorer", "only a scheduler image that has it built in can start with it", id="of-ones-own"),
    ],
)
def test_the_hint_for_a_plugin_that_there_is_not_tells_whose_it_is(name: str, hint: str) -> None:
    found = [f.hint for f in findings_of(plugins(**points(score=name))) if f.rule == "plugin-unknown"]

    assert found == [hint]


def test_the_name_of_a_quota_is_no_resource_of_nodes() -> None:
    args = packing(gpu=100)
    args["scoringStrategy"]["resources"].append({"name": "requests.nvidia.com/gpu", "weight": 1})

    (message,) = messages_of(
        scheduler_configuration(profile(args={"NodeResourcesFit": args})), "resource-name-not-known"
    )

    assert message == '"requests.nvidia.com/gpu" is a name of quotas, and no node offers it'
