"""The plain port: alive, ready, counted; and never a review."""

from __future__ import annotations

import asyncio

import pytest

from gpupolicy.webhook.metrics import Metrics
from gpupolicy.webhook.probes import Probes
from gpupolicy.webhook.review import read_review


def ask(path: str, *, method: str = "GET", obstacle: str | None = None) -> tuple[int, bytes]:
    """Status and body of one request."""
    sent: list[dict] = []

    async def send(message: dict) -> None:
        sent.append(message)

    probes = Probes(lambda: obstacle, lambda: (b"gpupolicy_reviews_total 1\n", "text/plain; version=1.0.0"))
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


def test_requests_under_way_are_shown_as_they_are_when_asked():
    metrics = Metrics()
    metrics.watch_running(lambda: 7)

    assert "gpupolicy_requests_in_flight 7.0" in lines(metrics)
