"""Audits as report objects: valid by the definitions that the two projects publish, and no field that they lack."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from builders import described, exemption, pod, policy
from controlplane import build, definitions
from jsonschema import Draft202012Validator
from running_pods import audited, of_deployment, routed, running, three

from gpupolicy.auditing.report import AuditReport
from gpupolicy.model import Admission
from gpupolicy.reporting import policy_report_format
from gpupolicy.reporting.policy_report_format import OPEN_REPORT, POLICY_REPORT, ReportForm, audit_to_reports

NOW = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)
FORMS = pytest.mark.parametrize("form", [POLICY_REPORT, OPEN_REPORT], ids=["policyreport", "openreports"])
BY = policy(admission=Admission(exemptions=(exemption("kube-system", expires=date(2026, 6, 3)),)))


def report() -> AuditReport:
    """One of each: denied, unrouted, fine, with a warning, exempt by an exemption that ends soon."""
    return audited(
        running(of_deployment(three()), "serve-6d5f-x"),
        running(pod(2), "plain", on="gpu-2"),
        running(routed(pod(2)), "fine", on="gpu-2"),
        running(pod(None, resourceClaims=[{"name": "x", "resourceClaimName": "y"}]), "claiming"),
        described(running(three(), "part"), namespace="kube-system"),
        by=BY,
        now=NOW,
    )


def items(form: ReportForm) -> list[dict[str, Any]]:
    return audit_to_reports(report(), form)["items"]  # type: ignore[return-value]


def results(form: ReportForm = POLICY_REPORT) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (each["resources"][0]["name"] if "resources" in each else "-", each["rule"]): each
        for item in items(form)
        for each in item["results"]
    }


@pytest.fixture(scope="module")
def schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """The schemas of the definitions, by apiVersion and kind, which take no field that they do not name."""
    try:
        found = definitions.find_or_download(definitions.REPORT_SOURCES)
    except build.UnavailableError as error:
        pytest.skip(str(error))
    return {
        (f"{each['spec']['group']}/{version['name']}", each["spec"]["names"]["kind"]): _closed(
            version["schema"]["openAPIV3Schema"], is_root=True
        )
        for each in found
        for version in each["spec"]["versions"]
    }


def _closed(schema: dict[str, Any], *, is_root: bool = False) -> dict[str, Any]:
    closed = dict(schema)
    if "properties" in schema:
        parts = {name: _closed(part) for name, part in schema["properties"].items()}
        closed["properties"] = {**parts, "metadata": {"type": "object"}} if is_root else parts
        closed["additionalProperties"] = False
    if isinstance(schema.get("items"), dict):
        closed["items"] = _closed(schema["items"])
    return closed


@FORMS
def test_every_report_is_valid_by_its_definition(
    form: ReportForm, schemas: dict[tuple[str, str], dict[str, Any]]
) -> None:
    problems = [
        error.message
        for item in items(form)
        for error in Draft202012Validator(schemas[item["apiVersion"], item["kind"]]).iter_errors(item)
    ]

    assert problems == []


@FORMS
def test_there_is_one_for_each_namespace_and_one_about_the_policy(form: ReportForm) -> None:
    found = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in items(form)]

    assert found == [
        (form.kind, "kube-system", "gpupolicy-test"),
        (form.kind, "team-a", "gpupolicy-test"),
        (form.cluster_kind, None, "gpupolicy-test"),
    ]


def test_what_came_out_is_told_in_their_words() -> None:
    found = {key: (each["result"], each["scored"], each.get("severity")) for key, each in results().items()}

    assert found == {
        ("serve", "request-size-not-admitted"): ("fail", True, "high"),
        ("plain", "pod-not-routed"): ("fail", True, "high"),
        ("fine", "admitted"): ("pass", True, None),
        ("claiming", "device-claim-not-counted"): ("warn", False, "medium"),
        ("part", "exempt"): ("skip", False, None),
        ("-", "exemption-expires-soon"): ("warn", False, "medium"),
    }


def test_a_result_names_policy_source_object_moment_and_what_mends_it() -> None:
    found = results()["serve", "request-size-not-admitted"]

    assert (found["policy"], found["source"], found["category"]) == ("test", "gpupolicy", "GPU")
    assert found["timestamp"] == {"seconds": 1780317000, "nanos": 0}
    assert found["resources"] == [
        {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team-a", "name": "serve"}
    ]
    assert found["properties"]["pods"] == "1"
    assert found["properties"]["gpus"] == "3 nvidia.com/gpu"
    assert found["properties"]["remedy"].startswith("kubectl --namespace team-a patch deployment/serve")


def test_the_summary_counts_the_results() -> None:
    (team,) = (each for each in items(POLICY_REPORT) if each["metadata"].get("namespace") == "team-a")

    assert team["summary"] == {"pass": 1, "fail": 2, "warn": 1, "error": 0, "skip": 0}


def test_too_many_results_for_one_object_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_report_format, "MOST_RESULTS", 3)

    found = [(each["metadata"]["name"], len(each["results"])) for each in items(OPEN_REPORT)]

    assert found[1:3] == [("gpupolicy-test", 3), ("gpupolicy-test-2", 1)]
