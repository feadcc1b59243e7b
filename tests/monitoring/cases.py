"""The cases of alerts.yaml as promtool reads them, and what the processes show when nothing is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import builders
import yaml
from fleet_builders import seated

import gpupolicy
from gpupolicy.reporting.capacity_metrics import capacity_to_metrics
from gpupolicy.resources import read_text
from gpupolicy.webhook.metrics import Metrics

Case = Mapping[str, Any]

# All scalars are text: YAML would read 0x9 as a number.
CASES: Mapping[str, list[Case]] = yaml.load(Path(__file__).with_name("alerts.yaml").read_text(), Loader=yaml.BaseLoader)
RULES = read_text("templates", "monitoring/rules.yaml")
ALERTS: Mapping[str, Any] = {
    rule["alert"]: rule for group in yaml.safe_load(RULES)["groups"] for rule in group["rules"]
}
DAY = 86400
_SAMPLE = re.compile(r"(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")


def promtool_file(rules: Path, groups: list[Case]) -> dict[str, Any]:
    """A file for "promtool test rules"."""
    return {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": groups}


def to_groups(cases: Mapping[str, list[Case]]) -> list[Case]:
    """A group of a file for promtool for each case of each alert."""
    return [
        _group(
            f"{alert}, {case['when']}",
            case["series"],
            [
                *(_expected(at, alert) for at in case.get("silent", ())),
                *(_expected(at, alert, *alerts) for at, alerts in case.get("fires", {}).items()),
            ],
        )
        for alert, of_alert in cases.items()
        for case in of_alert
    ]


def _group(name: str, series: Mapping[str, str], expected: list[Case]) -> Case:
    given = [{"series": each, "values": _always(text) if text == "NaN" else text} for each, text in series.items()]
    return {"name": name, "interval": "1m", "input_series": given, "alert_rule_test": expected}


def _always(value: str) -> str:
    """A value for three hours, where "x" cannot say so."""
    return " ".join([value] * 180)


def _expected(at: str, alert: str, *firing: Mapping[str, str]) -> Case:
    """The annotations beside the summary are taken from the rule as they stand."""
    rule = ALERTS[alert]
    alerts = [
        {
            "exp_labels": {**rule["labels"], **{key: value for key, value in each.items() if key != "summary"}},
            "exp_annotations": {**rule["annotations"], "summary": each["summary"]},
        }
        for each in firing
    ]
    return {"eval_time": at, "alertname": alert, "exp_alerts": alerts}


def healthy() -> Case:
    """Two replicas and the capacity of a fleet as their processes show them, unchanged for three hours."""
    webhook = Metrics()
    webhook.watch_running(lambda: 0)
    webhook.watch_connections(lambda: 50)
    webhook.watch_namespaces(lambda: float("nan"))
    policy = builders.policy()
    webhook.set_policy(policy, 0.0)
    webhook.set_expiry(90 * DAY)
    fleet = [seated("n1", policy.slot_groups[0].name)]
    figures = gpupolicy.capacity(policy, fleet, [], now=datetime(1970, 1, 1, 3, tzinfo=UTC))
    shown = webhook.render()[0].decode()
    texts = [*(_of_instance(shown, each) for each in ("a", "b")), _of_instance(capacity_to_metrics(figures), "c")]
    series = {name: value for text in texts for name, value in text}
    return _group("healthy", series, [_expected(at, alert) for at in ("1m", "179m") for alert in ALERTS])


def _of_instance(text: str, instance: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if not line.startswith("#"):
            sample = _SAMPLE.fullmatch(line)
            assert sample, line
            labels = ",".join(filter(None, [sample["labels"], f'instance="{instance}"']))
            yield f"{sample['name']}{{{labels}}}", _always(sample["value"])
