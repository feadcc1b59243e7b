"""Profiles as kube-scheduler builds them; each answer here was also given by kube-scheduler 1.37.2."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_builders import points, profile

from gpupolicy.linting.foreign.scheduler.profiles import Profile, read_profiles


def built(**fields: Any) -> Profile:
    """One profile called training."""
    (found,) = read_profiles({"profiles": [profile(**fields)]}, "1.37")
    return found


def refused(found: Profile) -> list[tuple[str, str, str]]:
    """What is refused: reason, plugin, point."""
    return [(entry.reason, entry.name, entry.point) for entry in found.registration[1]]


def entries(point: str, *names: str | tuple[str, int], disabled: tuple[str, ...] = ()) -> dict[str, Any]:
    """A point with several plugins."""
    pairs = [(name, None) if isinstance(name, str) else name for name in names]
    enabled = [{"name": name} | ({} if weight is None else {"weight": weight}) for name, weight in pairs]
    return {point: {"enabled": enabled, "disabled": [{"name": name} for name in disabled]}}


def test_no_profile_means_one_called_default_scheduler() -> None:
    assert [found.name for found in read_profiles({}, "1.37")] == ["default-scheduler"]


@pytest.mark.parametrize(
    ("profiles", "names"),
    [
        pytest.param([{}], ["default-scheduler"], id="alone"),
        pytest.param([None], ["default-scheduler"], id="null-alone"),
        pytest.param([{"schedulerName": ""}], [""], id="empty-is-no-default"),
        pytest.param([{"schedulerName": "a"}, {}], ["a", ""], id="among-two"),
    ],
)
def test_only_a_single_profile_without_a_name_gets_one(profiles: list[Any], names: list[str]) -> None:
    assert [found.name for found in read_profiles({"profiles": profiles}, "1.37")] == names


def test_a_plugin_of_multi_point_replaces_the_default_in_its_place() -> None:
    found = built(plugins=points(multiPoint=("NodeResourcesFit", 25)))

    names = [plugin.name for plugin in found.multi_point]
    assert names.index("NodeResourcesFit") == 7
    assert [plugin.weight for plugin in found.multi_point if plugin.name == "NodeResourcesFit"] == [25]


def test_the_weight_at_score_counts_before_that_of_multi_point() -> None:
    found = built(plugins=points(score=("ImageLocality", 2), multiPoint=("ImageLocality", 5)))

    plugin = found.find_enabled("score", "ImageLocality")
    assert plugin is not None
    assert plugin.effective_weight == 2


@pytest.mark.parametrize("point", ["score", "multiPoint"])
def test_a_plugin_disabled_at_a_point_or_everywhere_does_not_score(point: str) -> None:
    found = built(plugins=points(**{point: "-ImageLocality"}))

    assert found.find_enabled("score", "ImageLocality") is None


def test_a_plugin_disabled_and_enabled_at_a_point_is_on() -> None:
    found = built(plugins=entries("bind", "DefaultBinder", disabled=("DefaultBinder",)))

    assert [plugin.name for plugin in found.enabled("bind")] == ["DefaultBinder"]


def test_a_star_switches_off_what_the_point_does_not_name() -> None:
    found = built(plugins=entries("score", "ImageLocality", disabled=("*",)))

    assert [plugin.name for plugin in found.enabled("score")] == ["ImageLocality"]


def test_a_plugin_off_at_every_point_is_built_all_the_same() -> None:
    found = built(plugins=points(filter="-*", preFilter="-*", score="-*", preScore="-*", placementScore="-*"))

    assert (found.is_needed("NodeResourcesFit"), found.find_enabled("filter", "NodeResourcesFit")) == (True, None)


@pytest.mark.parametrize(
    ("plugins", "problems"),
    [
        pytest.param(points(score="Foo"), [("unknown", "Foo", "score")], id="unknown"),
        pytest.param(points(multiPoint="Foo"), [("unknown", "Foo", "multiPoint")], id="unknown-at-multi-point"),
        pytest.param(points(filter="ImageLocality"), [("wrong-point", "ImageLocality", "filter")], id="wrong-point"),
        pytest.param(
            entries("score", "ImageLocality", "ImageLocality"), [("twice", "ImageLocality", "score")], id="twice"
        ),
        pytest.param(
            entries("multiPoint", ("ImageLocality", 2), ("ImageLocality", 3)),
            [("twice", "ImageLocality", "multiPoint")],
            id="twice-at-multi-point",
        ),
        pytest.param(
            {**entries("multiPoint", ("ImageLocality", 2), ("ImageLocality", 3)), **points(score="ImageLocality")},
            [],
            id="twice-at-multi-point-and-once-at-its-only-point",
        ),
        pytest.param(points(multiPoint="ImageLocality"), [], id="a-default-named-again"),
    ],
)
def test_what_kube_scheduler_does_not_register_is_refused(
    plugins: dict[str, Any], problems: list[tuple[str, str, str]]
) -> None:
    assert refused(built(plugins=plugins)) == problems


@pytest.mark.parametrize(
    ("plugins", "broken"),
    [
        pytest.param(points(score=("ImageLocality", -1)), "ImageLocality", id="first-at-score"),
        pytest.param(points(multiPoint=("ImageLocality", -1)), None, id="last-of-the-defaults"),
        pytest.param(points(multiPoint=("TaintToleration", -3)), "TaintToleration", id="first-of-the-defaults"),
        pytest.param(points(filter=("NodeResourcesFit", -1)), None, id="where-weights-do-not-count"),
        pytest.param(
            {**points(multiPoint=("TaintToleration", -3)), **points(score="-*")}, "TaintToleration", id="off-at-score"
        ),
    ],
)
def test_the_sum_of_weights_breaks_where_it_is_negative_before_the_next(
    plugins: dict[str, Any], broken: str | None
) -> None:
    found = built(plugins=plugins).find_overflow("score")

    assert (found.name if found else None) == broken


def test_weights_of_placement_scores_are_summed_too() -> None:
    found = built(plugins=points(placementScore=("PodGroupPodsCount", -3))).find_overflow("placementScore")

    assert found is not None
