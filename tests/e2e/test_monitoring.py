"""Alerts and dashboard, judged by the code of Prometheus and Grafana."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from controlplane.build import UnavailableError
from e2e.conftest import is_required
from monitoring.cases import ALERTS, CASES, RULES, Case, healthy, promtool_file, to_groups
from monitoring.judge import Judge, Verdict
from tools.build import find_or_build_own

from gpupolicy.resources import read_text

BOARD = json.loads(read_text("templates", "monitoring/dashboard.json"))


@pytest.fixture(scope="session")
def judge() -> Judge:
    try:
        return Judge(find_or_build_own("monitoring"))
    except UnavailableError as error:
        (pytest.fail if is_required() else pytest.skip)(str(error))


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def verdict_on(judge: Judge, rules: Path, groups: list[Case]) -> Verdict:
    path = rules.with_name("tests.yaml")
    path.write_text(yaml.safe_dump(promtool_file(rules, groups)))
    return judge.test_rules(path)


def test_prometheus_takes_the_rules(judge: Judge, rules: Path) -> None:
    assert judge.check_rules(rules) == (0, [])


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    firing = {alert for alert, cases in CASES.items() if any("fires" in case for case in cases)}
    silent = {alert for alert, cases in CASES.items() if any("fires" not in case for case in cases)}

    assert (firing, silent) == (ALERTS.keys(), ALERTS.keys())


def test_every_alert_fires_when_it_should_and_not_before(judge: Judge, rules: Path) -> None:
    assert verdict_on(judge, rules, to_groups(CASES)) == (0, [])


def test_a_healthy_webhook_and_a_fleet_with_room_fire_nothing(judge: Judge, rules: Path) -> None:
    assert verdict_on(judge, rules, [healthy()]) == (0, [])


class TestTheJudgeOfAlerts:
    """It finds what is wrong, so its silence means something."""

    def case(self, **expected: object) -> list[Case]:
        series = {'gpupolicy_policy_info{policy="p"}': "1x5 stale"}
        return to_groups({"GPUPolicyWebhookDown": [{"when": "w", "series": series, **expected}]})

    def test_an_alert_that_does_not_fire(self, judge: Judge, rules: Path) -> None:
        status, told = verdict_on(judge, rules, self.case(fires={"10m": [{"summary": "s"}]}))

        assert (status, told[0]) == (1, "GPUPolicyWebhookDown, w: GPUPolicyWebhookDown at 10m")
        assert told[-1] == "    fires:    nothing"

    def test_an_alert_that_fires_unexpectedly(self, judge: Judge, rules: Path) -> None:
        status, told = verdict_on(judge, rules, self.case(silent=["11m"]))

        assert (status, told[1]) == (1, "    expected: nothing")
        assert told[2].startswith('    fires:    {alertname="GPUPolicyWebhookDown", severity="critical"} {description=')

    @pytest.mark.parametrize(
        ("expression", "said"),
        [
            pytest.param("rate(gpupolicy_reviews_total) > 0", "expected type range vector", id="type"),
            pytest.param("sum by (a (b)", "in grouping opts, expected", id="syntax"),
        ],
    )
    def test_an_expression_that_prometheus_would_refuse(
        self, expression: str, said: str, judge: Judge, rules: Path
    ) -> None:
        rules.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": [{"alert": "A", "expr": expression}]}]}))

        status, told = judge.check_rules(rules)

        assert (status, said in told[0]) == (1, True)

    def test_a_template_that_prometheus_would_refuse(self, judge: Judge, rules: Path) -> None:
        rules.write_text(RULES.replace("{{ $labels.what }}", "{{ $lables.what }}"))

        status, told = judge.check_rules(rules)

        assert (status, 'undefined variable "$lables"' in told[0]) == (1, True)


def read_by_grafana(judge: Judge, board: Any, folder: Path) -> Verdict:
    path = folder / "dashboard.json"
    path.write_text(json.dumps(board))
    return judge.check_dashboard(path)


def test_grafana_knows_every_field_and_prometheus_every_query(judge: Judge, tmp_path: Path) -> None:
    assert read_by_grafana(judge, BOARD, tmp_path) == (0, [])


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        pytest.param(("titel",), "t", "unexpected field 'titel'", id="field"),
        pytest.param(("panels", 0, "options", "colour"), "x", "unexpected field 'colour'", id="option-of-the-panel"),
        pytest.param(("panels", 0, "targets", 0, "expression"), "x", "unexpected field", id="field-of-the-query"),
        pytest.param(("refresh",), 5, "cannot unmarshal number", id="type"),
        pytest.param(("panels", 0, "type"), "graph", "panels of type graph are not known", id="panel"),
        pytest.param(("panels", 0, "gridPos", "w"), 25, "must be <= 24", id="wider-than-the-board"),
        pytest.param(("panels", 0, "targets", 0, "expr"), "sum(", "unclosed left parenthesis", id="query"),
    ],
)
def test_what_they_do_not_know_is_told(
    place: tuple[Any, ...], value: Any, said: str, judge: Judge, tmp_path: Path
) -> None:
    board = copy.deepcopy(BOARD)
    *above, last = place
    parent = board
    for each in above:
        parent = parent[each]
    parent[last] = value

    status, told = read_by_grafana(judge, board, tmp_path)

    assert (status, said in "\n".join(told)) == (1, True)
