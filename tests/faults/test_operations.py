"""What operators do, and one thing that happens to them, under load: no review fails."""

from __future__ import annotations

import time

from e2e.processes import wait_for
from faults.balancer import Balancer
from faults.load import loading
from faults.replicas import Installation, Replica
from faults.table import Measured


def test_no_review_fails_while_the_certificate_is_rotated(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    """Connections are made anew all the time, so each certificate is met by some."""
    times = 3
    with installation.replica() as replica, loading(replica.port, installation.authority, reconnect=20) as load:
        for done in range(1, times + 1):
            installation.tls.swap(installation.certificate())
            wait_for(lambda done=done: taken(replica, "certificate") == done, message=replica.log.read_text)
            time.sleep(seconds / times)
        report = load.finish()
        measured.fault(f"{times} rotations of the certificate", report, replica)

    assert report.failures == {}
    assert report.reviews > 0


def test_no_review_fails_while_the_policy_is_changed_broken_and_mended(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    stricter = installation.text.replace("requestSizes: powerOfTwo", "requestSizes: [1, 2, 4, 8]")
    texts = (stricter, "spec: [", installation.text)
    with installation.replica() as replica, loading(replica.port, installation.authority) as load:
        for done, text in enumerate(texts, 1):
            installation.policy.swap({"policy.yaml": text.encode()})
            wait_for(lambda done=done: answered_reloads(replica) == done, message=replica.log.read_text)
            time.sleep(seconds / len(texts))
        report = load.finish()
        measured.fault("the policy changed, broken, mended", report, replica)
        counts = (taken(replica, "policy"), refused(replica, "policy"))

    assert report.failures == {}
    assert report.reviews > 0
    assert counts == (2, 1)


def test_no_review_fails_while_two_replicas_are_replaced_one_by_one(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    """Old ones drain; new ones take connections when they are ready, as a Deployment does it."""
    with (
        installation.replica("--drain-seconds", "1") as first,
        installation.replica("--drain-seconds", "1") as second,
        Balancer([ports(first), ports(second)]) as balancer,
        loading(balancer.port, installation.authority, reconnect=100) as load,
        installation.replica() as third,
        installation.replica() as fourth,
    ):
        statuses = []
        for old, new in ((first, third), (second, fourth)):
            time.sleep(seconds / 3)
            balancer.backends.append(ports(new))
            wait_for(lambda new=new: balancer.is_ready(ports(new)))
            statuses.append(old.stop())
            balancer.backends.remove(ports(old))
        time.sleep(seconds / 3)
        wait_for(lambda: {third.port, fourth.port} <= set(balancer.served), message=lambda: str(balancer.served))
        report = load.finish()
        measured.fault("two replicas replaced one by one", report, third, fourth)

    assert report.failures == {}
    assert statuses == [0, 0]


def test_kill_9_of_one_of_two_replicas_fails_the_reviews_in_flight_and_no_other(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    """The API server does not send a review again whose connection broke: with each worker at most one is lost."""
    workers = 8
    with (
        installation.replica() as first,
        installation.replica() as second,
        Balancer([ports(first), ports(second)]) as balancer,
        loading(balancer.port, installation.authority, workers=workers) as load,
    ):
        time.sleep(seconds / 2)
        first.kill()
        time.sleep(seconds / 2)
        report = load.finish()
        measured.fault(f"kill -9 of one of two, {workers} clients", report, second)

    assert report.failed <= workers
    assert all(text in ("EOF", "unexpected EOF") or "reset" in text or "pipe" in text for text in report.failures)
    assert report.reviews > 0


def test_a_killed_replica_takes_its_share_again_when_it_is_back(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    with (
        installation.replica() as first,
        installation.replica() as second,
        Balancer([ports(first), ports(second)]) as balancer,
    ):
        first.kill()
        wait_for(lambda: not balancer.is_ready(ports(first)))
        with installation.replica(port=first.port) as again:
            balancer.backends[0] = ports(again)
            wait_for(lambda: balancer.is_ready(ports(again)))
            with loading(balancer.port, installation.authority, reconnect=5) as load:
                time.sleep(min(seconds, 5))
                report = load.finish()
                measured.fault("a killed replica is back", report, second, again)
            share = again.count('gpupolicy_request_duration_seconds_count{path="/mutate"}')

    assert report.failures == {}
    assert share > 0


def ports(replica: Replica) -> tuple[int, int]:
    return replica.port, replica.probe_port


def taken(replica: Replica, what: str) -> float:
    return replica.count(f'gpupolicy_reloads_total{{result="taken",what="{what}"}}')


def refused(replica: Replica, what: str) -> float:
    return replica.count(f'gpupolicy_reloads_total{{result="refused",what="{what}"}}')


def answered_reloads(replica: Replica) -> float:
    return taken(replica, "policy") + refused(replica, "policy")
