"""The plain port: alive, ready, counted; and never a review."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import builders
import pytest

from gpupolicy import admit
from gpupolicy.model import Admission
from gpupolicy.webhook.answer import fingerprint
from gpupolicy.webhook.metrics import Metrics
from gpupolicy.webhook.probes import Probes
from gpupolicy.webhook.review import read_review


def ask(
    path: str, *, method: str = "GET", obstacle: str | None = None, remarks: tuple[str, ...] = ()
) -> tuple[int, bytes]:
    """Status and body of one request."""
    sent: list[dict] = []

    async def send(message: dict) -> None:
        sent.append(message)

    metrics = (b"gpupolicy_reviews_total 1\n", "text/plain; version=1.0.0")
    probes = Probes(lambda: obstacle, lambda: metrics, lambda: remarks)
    asyncio.run(probes({"method": method, "path": path}, None, send))
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize(
    ("path", "obstacle", "answer"),
    [
        pytest.param("/healthz", None, (200, b"ok\n"), id="alive"),
        pytest.param("/healthz", "draining", (200, b"ok\n"), id="alive-while-draining"),
        pytest.param("/readyz", None, (200, b"ok\n"), id="ready"),
        pytest.param("/readyz", "draining", (503, b"draining\n"), id="not-ready"),
        pytest.param("/metrics", None, (200, b"gpupolicy_reviews_total 1\n"), id="metrics"),
        pytest.param("/mutate", None, (404, b"not found\n"), id="no-review"),
    ],
)
def test_a_probe_is_answered(path, obstacle, answer):
    assert ask(path, obstacle=obstacle) == answer


def test_a_ready_server_says_what_is_wrong_all_the_same():
    assert ask("/readyz", remarks=("the changed policy is refused",)) == (200, b"ok\nthe changed policy is refused\n")


def test_a_probe_is_only_read():
    assert ask("/readyz", method="POST") == (405, b"method not allowed\n")


def review(operation: str = "CREATE", dry_run: str = "false") -> bytes:
    return (
        b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "kind": '
        b'{"kind": "Pod"}, "operation": "%s", "dryRun": %s}}' % (operation.encode(), dry_run.encode())
    )


def lines(metrics: Metrics) -> list[str]:
    return [line for line in metrics.render()[0].decode().splitlines() if not line.startswith("#")]


def test_every_series_is_there_from_the_start():
    """A rate over a series that appears with its first event misses that event."""
    assert 'gpupolicy_reviews_total{dry_run="false",operation="CREATE",verdict="deny"} 0.0' in lines(Metrics())


@pytest.mark.parametrize(
    ("body", "line"),
    [
        pytest.param(
            review(), 'gpupolicy_reviews_total{dry_run="false",operation="CREATE",verdict="deny"} 1.0', id="create"
        ),
        pytest.param(
            review(dry_run="true"),
            'gpupolicy_reviews_total{dry_run="true",operation="CREATE",verdict="deny"} 1.0',
            id="dry-run",
        ),
        pytest.param(
            review("ANYTHING"),
            'gpupolicy_reviews_total{dry_run="false",operation="other",verdict="deny"} 1.0',
            id="an-operation-that-is-none",
        ),
    ],
)
def test_a_review_is_counted_under_labels_of_a_closed_set(body, line):
    metrics = Metrics()
    metrics.count_review(read_review(body), "deny")

    assert line in lines(metrics)


def test_a_status_that_nobody_foresaw_is_counted_as_other():
    metrics = Metrics()
    metrics.count_failure(418)

    assert 'gpupolicy_request_failures_total{code="other"} 1.0' in lines(metrics)


def decided(gpus: int, *, namespace: str = "team-a"):
    policy = builders.policy()
    pod = builders.pod(gpus)
    return admit(policy, pod, namespace=namespace), policy


def test_a_denial_is_counted_by_its_rule():
    metrics = Metrics()
    metrics.count_decision(read_review(review()), *decided(3))

    expected = 'gpupolicy_findings_total{action="deny",operation="CREATE",rule="request-size-not-admitted"} 1.0'
    assert expected in lines(metrics)


def test_what_is_found_in_a_dry_run_is_not_counted():
    """A GitOps controller that compares by dry runs asks for the same object every few minutes."""
    metrics = Metrics()
    metrics.count_decision(read_review(review(dry_run="true")), *decided(3))
    metrics.count_decision(read_review(review(dry_run="true")), *decided(3, namespace="kube-system"))

    assert not [line for line in lines(metrics) if line.startswith(("gpupolicy_findings", "gpupolicy_exemptions"))]


def test_a_rule_and_an_operation_that_are_none_are_counted_as_other():
    metrics = Metrics()
    decision, policy = decided(3)
    renamed = tuple(replace(finding, rule="of-tomorrow") for finding in decision.violations)
    metrics.count_decision(read_review(review("ANYTHING")), replace(decision, violations=renamed), policy)

    assert 'gpupolicy_findings_total{action="deny",operation="other",rule="other"} 1.0' in lines(metrics)


def test_an_exemption_is_counted_by_its_place_in_the_policy():
    metrics = Metrics()
    metrics.count_decision(read_review(review()), *decided(3, namespace="kube-system"))

    assert 'gpupolicy_exemptions_used_total{exemption="0"} 1.0' in lines(metrics)


def test_exemptions_without_number_make_no_series_without_number():
    metrics = Metrics()
    many = Admission(exemptions=tuple(builders.exemption(f"team-{number}") for number in range(150)))
    policy = builders.policy(admission=many)
    for number in range(150):
        decision = admit(policy, builders.pod(3), namespace=f"team-{number}")
        metrics.count_decision(read_review(review()), decision, policy)

    found = [line for line in lines(metrics) if line.startswith("gpupolicy_exemptions_used_total")]
    assert len(found) == 101
    assert 'gpupolicy_exemptions_used_total{exemption="other"} 50.0' in found


def test_the_policy_in_force_has_one_series_and_its_changes_are_counted():
    metrics = Metrics()
    first, second = builders.policy(), builders.policy()
    second = replace(second, name="changed")
    metrics.set_policy(first, 1.0)
    metrics.set_policy(second, 2.0)

    found = [line for line in lines(metrics) if line.startswith("gpupolicy_policy_")]
    assert found == [
        f'gpupolicy_policy_info{{hash="{fingerprint("")}",policy="changed"}} 1.0',
        "gpupolicy_policy_generation 2.0",
        "gpupolicy_policy_loaded_timestamp_seconds 2.0",
    ]


def test_a_refused_file_is_shown_until_one_is_taken():
    metrics = Metrics()
    metrics.count_reload("policy", taken=False)
    refused = 'gpupolicy_reload_refused{what="policy"} 1.0' in lines(metrics)
    metrics.count_reload("policy", taken=True)

    assert refused
    assert 'gpupolicy_reload_refused{what="policy"} 0.0' in lines(metrics)


def test_the_path_of_a_client_makes_no_series():
    metrics = Metrics()
    metrics.count_duration("/mutate", 0.0002)
    metrics.count_duration("/whatever", 0.0002)

    counts = [line for line in lines(metrics) if line.startswith("gpupolicy_request_duration_seconds_count")]
    assert 'gpupolicy_request_duration_seconds_count{path="/mutate"} 1.0' in counts
    assert 'gpupolicy_request_duration_seconds_count{path="other"} 1.0' in counts
    assert len(counts) == 5


def test_steps_strangers_and_lines_are_counted():
    metrics = Metrics()
    metrics.count_step("promote")
    metrics.count_step_failure()
    metrics.count_stranger()
    metrics.count_line("lost")
    metrics.set_authority_expiry(7.0)

    assert {
        'gpupolicy_certificate_steps_total{step="promote"} 1.0',
        "gpupolicy_certificate_step_failures_total 1.0",
        "gpupolicy_clients_refused_total 1.0",
        'gpupolicy_log_lines_total{result="lost"} 1.0',
        "gpupolicy_authority_expiry_timestamp_seconds 7.0",
    } <= set(lines(metrics))


def test_requests_under_way_are_shown_as_they_are_when_asked():
    metrics = Metrics()
    metrics.watch_running(lambda: 7)

    assert "gpupolicy_requests_in_flight 7.0" in lines(metrics)
