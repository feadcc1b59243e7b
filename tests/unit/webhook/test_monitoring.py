"""Alert rules, dashboard, runbook and documentation: they name only metrics that there are, and each other."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import builders
import pytest
import yaml
from commands import run

import gpupolicy
from gpupolicy.reporting.capacity_metrics import to_families
from gpupolicy.resources import read_text
from gpupolicy.webhook.metrics import Metrics

DOCS = Path(__file__).parents[3] / "docs"
RULES = yaml.safe_load(read_text("templates", "monitoring/rules.yaml"))["groups"]
ALERTS = {rule["alert"]: rule for group in RULES for rule in group["rules"]}
BOARD = json.loads(read_text("templates", "monitoring/dashboard.json"))
# Source: kubernetes/apiserver pkg/admission/metrics/metrics.go.
OF_THE_API_SERVER = {
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_fail_open_count",
}
METRIC = re.compile(r"\b(?:gpupolicy|process|apiserver)_[a-z_]+\b")
SELECTED = re.compile(r"\b(gpupolicy_[a-z_]+)\{([^}]*)\}")
GROUPED = re.compile(r"\bby \(([^)]*)\)")


def samples() -> dict[str, set[str]]:
    """Every series name that the webhook shows, and the names of its labels."""
    metrics = Metrics()
    metrics.watch_running(lambda: 0)
    metrics.watch_namespaces(lambda: 0.0)
    metrics.watch_connections(lambda: 0)
    policy = builders.policy()
    metrics.set_policy(policy, 0.0)
    metrics._findings.labels("r", "deny", "CREATE")
    metrics._exemptions.labels("0")
    found: dict[str, set[str]] = {}
    for family in metrics._registry.collect():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def capacity_samples() -> dict[str, set[str]]:
    """Every series name that ``gpupolicy capacity --serve`` shows, and the names of its labels."""
    nothing = gpupolicy.capacity(builders.policy(), [], [], now=datetime(2026, 1, 1, tzinfo=UTC))
    return {family.name: set(family._labelnames) for family in to_families(nothing)}


OF_THE_WEBHOOK = samples()
SAMPLES = {**OF_THE_WEBHOOK, **capacity_samples()}


def expressions() -> dict[str, str]:
    """All PromQL that we ship, by where it stands."""
    alerts = {name: rule["expr"] for name, rule in ALERTS.items()}
    panels = {
        f"{panel['title']}-{target['refId']}": target["expr"]
        for panel in BOARD["panels"]
        for target in panel["targets"]
    }
    return {**alerts, **panels}


EXPRESSIONS = expressions()


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_every_metric_that_is_named_is_shown_by_a_process_of_ours_or_the_api_server(place):
    assert set(METRIC.findall(EXPRESSIONS[place])) <= SAMPLES.keys() | OF_THE_API_SERVER


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_every_label_that_is_selected_is_one_of_the_metric(place):
    for name, selected in SELECTED.findall(EXPRESSIONS[place]):
        assert set(re.findall(r"([a-z_]+)(?:=~|!=|!~|=)", selected)) <= SAMPLES[name]


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_every_label_that_is_grouped_by_is_one_of_a_metric_in_the_expression(place):
    expression = EXPRESSIONS[place]
    named = [SAMPLES.get(name, {"name"}) for name in METRIC.findall(expression)]
    grouped = {label.strip() for group in GROUPED.findall(expression) for label in group.split(",")}

    assert grouped <= set().union(*named) | {"le"}


def test_the_documentation_lists_every_metric_and_its_labels():
    rows = re.findall(r"^\| `(gpupolicy_[a-z_]+)` \|([^|]*)\|", (DOCS / "monitoring.md").read_text(), re.MULTILINE)
    documented = dict(rows)
    shown: dict[str, set[str]] = {}
    for name, labels in OF_THE_WEBHOOK.items():
        if name.startswith("gpupolicy_"):
            family = re.sub(r"_(bucket|sum|count)$", "", name) if "duration_seconds" in name else name
            shown.setdefault(family, set()).update(labels - {"le"})

    assert documented.keys() == shown.keys()
    assert [name for name, labels in shown.items() if not all(label in documented[name] for label in labels)] == []


def alarming() -> Iterator[str]:
    """How each line of the log that is a warning or a defect begins."""
    for path in sorted((DOCS.parent / "webhook").glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            match call:
                case ast.Call(func=ast.Attribute(attr="warn" | "_warn" | "exception"), args=[message, *_]):
                    yield beginning(message)
                case ast.Call(func=ast.Attribute(attr="_tell"), args=[ast.Constant(value=False), message]):
                    yield beginning(message)


def beginning(message: ast.expr) -> str:
    first = message.values[0] if isinstance(message, ast.JoinedStr) else message
    assert isinstance(first, ast.Constant), "a line of the log begins with words that do not change"
    return str(first.value)


def test_the_documentation_lists_every_line_of_the_log_that_wants_something():
    rows = re.findall(r"^\| (?:warning|defect) \| (`.+`) \|", (DOCS / "monitoring.md").read_text(), re.MULTILINE)
    documented = {line for row in rows for line in re.findall(r"`([^`]+)`", row)}
    written = set(alarming())

    assert [line for line in written if not line.startswith(tuple(documented))] == []
    assert [line for line in documented if not any(each.startswith(line) for each in written)] == []


def test_each_alert_has_a_section_in_the_runbook_and_no_other_section_is_there():
    sections = re.findall(r"^## (.+)$", (DOCS / "runbook.md").read_text(), re.MULTILINE)

    assert sections == ["A pod that is denied or waits", *ALERTS, "The emergency exit"]


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_it_is_how_bad_and_where_to_read_on(name):
    rule = ALERTS[name]

    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"].keys() == {"summary", "description", "runbook"}
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{name.lower()}"


def test_links_within_the_runbook_lead_somewhere():
    text = (DOCS / "runbook.md").read_text()
    anchors = {re.sub(r"\s", "-", title.lower()) for title in re.findall(r"^## (.+)$", text, re.MULTILINE)}

    assert set(re.findall(r"\(#([^)]+)\)", text)) <= anchors


def test_the_operators_rules_are_the_same():
    operators = yaml.safe_load(read_text("templates", "monitoring/prometheus-rule.yaml"))

    assert (operators["apiVersion"], operators["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert operators["spec"]["groups"] == RULES


def test_panels_have_places_of_their_own():
    def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        return {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}

    everything = [cell for panel in BOARD["panels"] for cell in cells(panel)]

    assert len(everything) == len(set(everything))
    assert max(x for x, _ in everything) < 24
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("rules", "rules.yaml"),
        ("prometheus-rule", "prometheus-rule.yaml"),
        ("dashboard", "dashboard.json"),
        ("capacity-exporter", "capacity-exporter.yaml"),
    ],
)
def test_the_command_prints_the_files_as_they_are(what, name):
    outcome = run("monitoring", what)

    assert (outcome.status, outcome.out, outcome.err) == (0, read_text("templates", f"monitoring/{name}"), "")


BASE = "https://git.example.com/infra/blob/main/docs"


@pytest.mark.parametrize("base", [BASE, f"{BASE}/"])
@pytest.mark.parametrize("what", ["rules", "prometheus-rule"])
def test_the_runbook_may_have_an_address(what, base):
    outcome = run("monitoring", what, "--runbook-base", base)

    read = yaml.safe_load(outcome.out)
    groups = read["groups"] if what == "rules" else read["spec"]["groups"]
    places = {rule["alert"]: rule["annotations"]["runbook"] for group in groups for rule in group["rules"]}
    assert places == {name: f"{BASE}/runbook.md#{name.lower()}" for name in ALERTS}


@pytest.mark.parametrize("base", ["docs", "https://", "https://a b", "https://a/#b", 'https://a"', "https://{{ x }}"])
def test_an_address_of_the_runbook_that_is_none_is_refused(base):
    outcome = run("monitoring", "rules", "--runbook-base", base)

    assert (outcome.status, outcome.out, "expected is an address such as https://" in outcome.err) == (2, "", True)


@pytest.mark.parametrize("what", ["dashboard", "capacity-exporter"])
def test_what_has_no_runbook_leads_to_none(what):
    outcome = run("monitoring", what, "--runbook-base", BASE)

    assert (outcome.status, outcome.err) == (2, "error: --runbook-base goes with rules or prometheus-rule\n")


def test_the_command_says_what_there_is():
    outcome = run("monitoring", "panels")

    assert outcome.status == 2
    assert "'rules', 'prometheus-rule', 'dashboard', 'capacity-exporter'" in outcome.err


CLASSIC = gpupolicy.load(DOCS.parent / "policies" / "classic.yaml")


def exporter() -> dict[str, Any]:
    """The objects of the exporter by their kinds."""
    documents = list(yaml.safe_load_all(read_text("templates", "monitoring/capacity-exporter.yaml")))
    return {document["kind"]: document for document in documents}


def test_the_exporter_takes_the_policy_and_the_image_that_compile_takes():
    objects = exporter()
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    compiled = {each["kind"]: each for each in gpupolicy.compile(CLASSIC, ("webhook",))}
    webhook = compiled["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    (container,) = pod["containers"]

    assert pod["volumes"][0]["configMap"]["name"] == compiled["ConfigMap"]["metadata"]["name"]
    assert objects["Deployment"]["metadata"]["namespace"] == compiled["ConfigMap"]["metadata"]["namespace"]
    assert container["args"][1] == webhook["args"][1]
    assert container["image"] == webhook["image"]
    assert container["securityContext"] == webhook["securityContext"]


def test_the_exporter_may_do_what_the_documentation_grants_to_capacity_and_nothing_else():
    text = (DOCS / "cluster-access.md").read_text()
    roles = [each for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) for each in yaml.safe_load_all(block)]
    granted = [
        rule
        for role in roles
        if role["metadata"]["name"] in ("gpupolicy-view", "gpupolicy-claims") and "rules" in role
        for rule in role["rules"]
    ]

    assert exporter()["ClusterRole"]["rules"] == granted


def test_the_options_of_the_exporter_are_those_of_the_command():
    """Everything but the cluster is there: it gets as far as asking for one."""
    (container,) = exporter()["Deployment"]["spec"]["template"]["spec"]["containers"]
    verb, _policy, *options = container["args"]
    outcome = run(verb, CLASSIC.origin.file, *options, "--kubeconfig", "none.yaml")

    assert (outcome.status, outcome.err) == (2, "error: none.yaml: cannot be read: no such file or directory\n")
