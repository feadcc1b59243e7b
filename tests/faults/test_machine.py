"""What the machine does to the webhook: no disk, no descriptors, no processor, no files, another time."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from e2e.processes import wait_for
from faults.clients import REVIEW
from faults.clock import WrongClock, find_compiler
from faults.load import loading
from faults.replicas import POLICY, Installation, Mount, Replica
from faults.table import Measured

DENIED = json.loads(REVIEW)
DENIED["request"]["object"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "3"}}


@pytest.fixture
def denied(tmp_path: Path) -> Path:
    """A review whose denial is written to the log."""
    file = tmp_path / "denied.json"
    file.write_text(json.dumps(DENIED))
    return file


def is_denied(replica: Replica) -> bool:
    status, body = replica.endpoint.post("/validate?timeout=10s", json.dumps(DENIED).encode())
    assert status == 200, body
    return not json.loads(body)["response"]["allowed"]


def lenient(policy: str) -> bytes:
    """The policy, and what it denied is allowed."""
    sizes = policy.replace("requestSizes: powerOfTwo", "requestSizes: [1, 2, 3, 4, 8]")
    return sizes.replace("sizes: [4]", "sizes: [3, 4]").encode()


def serial(replica: Replica) -> str:
    with replica.endpoint.connect() as connection:
        return str(connection.getpeercert()["serialNumber"])  # type: ignore[index]  # verified, so it is there


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_full_disk_costs_lines_of_the_log_and_no_review(
    log_format: str, installation: Installation, denied: Path, seconds: float, measured: Measured
) -> None:
    full = Path("/dev/full")
    with (
        installation.replica("--log-format", log_format, stderr=full) as replica,
        loading(replica.port, installation.authority, files=[denied]) as load,
    ):
        time.sleep(seconds)
        report = load.finish()
        measured.fault(f"standard error on a full disk ({log_format})", report, replica)
        lost = replica.count('gpupolicy_log_lines_total{result="lost"}')
        status = replica.stop()

    assert report.failures == {}
    assert report.denied > 0
    assert lost > 0
    assert status == 0


def test_a_disk_that_is_full_for_a_while_costs_lines_for_a_while(
    installation: Installation, denied: Path, seconds: float, measured: Measured
) -> None:
    with installation.replica("--log-format", "json") as replica:
        replica.limit(resource.RLIMIT_FSIZE, replica.log.stat().st_size + 100)
        with loading(replica.port, installation.authority, files=[denied]) as load:
            time.sleep(seconds)
            report = load.finish()
            measured.fault("a disk that is full for a while", report, replica)
        replica.limit(resource.RLIMIT_FSIZE, resource.prlimit(replica.process.pid, resource.RLIMIT_FSIZE)[1])
        installation.policy.swap({"policy.yaml": installation.text.encode()})
        replica.wait_for_log("was read again")
        last = replica.log.read_text().splitlines()[-1]  # what was cut ends before it

    assert report.failures == {}
    assert json.loads(last)["event"] == "notice"


def test_a_reader_of_the_log_that_has_stopped_holds_up_no_review(
    installation: Installation, denied: Path, seconds: float, measured: Measured
) -> None:
    """A pipe that nobody reads: it is full after 64 KiB."""
    reader, writer = socket.socketpair()
    with reader, writer, installation.replica(stderr=writer.makefile("wb")) as replica:
        with loading(replica.port, installation.authority, files=[denied], rate=0) as load:
            time.sleep(seconds)
            report = load.finish()
            measured.fault("a reader of the log that has stopped", report, replica)
        size = replica.size()

    assert report.failures == {}
    assert report.denied > 0
    assert size.rss < 256 * 1024 * 1024


@contextlib.contextmanager
def no_descriptors_left(replica: Replica) -> Iterator[None]:
    """Takes all of the few that it may still open, by connections."""
    before, held = resource.prlimit(replica.process.pid, resource.RLIMIT_NOFILE)[0], []
    replica.limit(resource.RLIMIT_NOFILE, replica.size().descriptors + 5)
    try:
        for _ in range(20):
            held.append(socket.create_connection(("127.0.0.1", replica.port)))
        time.sleep(0.5)
        yield
    finally:
        replica.limit(resource.RLIMIT_NOFILE, before)
        for each in held:
            each.close()


def test_without_descriptors_left_open_connections_are_served_and_new_ones_afterwards(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    with installation.replica("--log-format", "json") as replica:
        with loading(replica.port, installation.authority, workers=2) as load:
            time.sleep(0.5)
            with no_descriptors_left(replica):
                time.sleep(seconds)
            report = load.finish()
            measured.fault("no descriptors left", report, replica)
        afterwards = is_denied(replica)

    assert report.failures == {}
    assert afterwards


def test_what_is_told_while_there_are_no_descriptors_is_a_line_of_the_log_like_others(
    installation: Installation,
) -> None:
    with installation.replica("--log-format", "json") as replica:
        with no_descriptors_left(replica):
            time.sleep(2.5)
        lines = replica.log.read_text().splitlines()

    assert [line for line in lines if not line.startswith("{")] == []


def test_a_certificate_that_came_while_there_were_no_descriptors_is_taken_afterwards(
    installation: Installation,
) -> None:
    with installation.replica() as replica:
        before = serial(replica)
        with no_descriptors_left(replica):
            installation.tls.swap(installation.certificate())
            time.sleep(2.5)
        wait_for(lambda: serial(replica) != before, timeout=15, message=replica.log.read_text)


def test_a_policy_that_came_while_there_were_no_descriptors_is_taken_afterwards(installation: Installation) -> None:
    with installation.replica() as replica:
        before = is_denied(replica)
        with no_descriptors_left(replica):
            installation.policy.swap({"policy.yaml": lenient(installation.text)})
            time.sleep(2.5)
        wait_for(lambda: not is_denied(replica), timeout=15, message=replica.log.read_text)

    assert before


def test_a_policy_that_came_while_no_thread_could_be_started_is_taken_afterwards(installation: Installation) -> None:
    """A policy is read in a thread, and this is the first one: there is no room for a stack, but for all else."""
    with installation.replica("--log-format", "json") as replica:
        before, unlimited = is_denied(replica), resource.prlimit(replica.process.pid, resource.RLIMIT_AS)[0]
        replica.limit(resource.RLIMIT_AS, replica.size().virtual + 4 * 1024 * 1024)
        installation.policy.swap({"policy.yaml": lenient(installation.text)})
        replica.wait_for_log("can't start new thread")
        during = is_denied(replica), replica.probe("/readyz")
        replica.limit(resource.RLIMIT_AS, unlimited)
        wait_for(lambda: not is_denied(replica), timeout=15, message=replica.log.read_text)
        wait_for(lambda: replica.probe("/readyz") == (200, "ok\n"))
        failures = replica.count('gpupolicy_watch_failures_total{watch="policy"}')
        lines = replica.log.read_text().splitlines()

    assert (before, during) == (True, (True, (200, 'ok\nthe watch "policy" has failed and is tried again\n')))
    assert failures > 0
    assert [line for line in lines if not line.startswith("{")] == []


def test_a_process_that_was_stopped_answers_everything_when_it_goes_on(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    """SIGSTOP, as when the machine is frozen or the container paused; shorter than the time-out of the reviews."""
    with installation.replica() as replica, loading(replica.port, installation.authority) as load:
        for _ in range(2):
            time.sleep(seconds / 2)
            replica.process.send_signal(signal.SIGSTOP)
            time.sleep(3)
            replica.process.send_signal(signal.SIGCONT)
        time.sleep(seconds / 2)
        report = load.finish()
        measured.fault("SIGSTOP for 3 s, twice", report, replica)

    assert report.failures == {}


def test_a_review_whose_client_sent_on_while_the_process_was_stopped_is_answered(installation: Installation) -> None:
    """The deadline of a body is 5 s. It was stopped for longer, but the rest of the body came in time."""
    body = REVIEW
    with installation.replica() as replica, replica.endpoint.connect() as connection:
        connection.sendall(b"POST /mutate?timeout=10s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
        connection.sendall(body[:100])
        time.sleep(0.5)
        replica.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        connection.sendall(body[100:])
        time.sleep(5.5)
        replica.process.send_signal(signal.SIGCONT)
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 200")


def test_files_that_go_after_the_start_leave_what_was_read_in_force_until_they_are_back(
    installation: Installation, seconds: float, measured: Measured
) -> None:
    with installation.replica() as replica, loading(replica.port, installation.authority, reconnect=10) as load:
        before = serial(replica)
        shutil.rmtree(installation.policy.folder)
        shutil.rmtree(installation.tls.folder)
        replica.wait_for_log("the changed policy is not taken")
        replica.wait_for_log("the changed certificate is not taken")
        during = replica.is_ready(), serial(replica)
        time.sleep(seconds)
        Mount(installation.tls.folder, installation.certificate())
        Mount(installation.policy.folder, {"policy.yaml": installation.text.encode()})
        replica.wait_for_log("was read again")
        wait_for(lambda: serial(replica) != before, message=replica.log.read_text)
        report = load.finish()
        measured.fault("files gone and back", report, replica)

    assert during == (True, before)
    assert report.failures == {}


@pytest.fixture
def clock(tmp_path: Path) -> WrongClock:
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C compiler to make a clock that jumps")
    return WrongClock(tmp_path, compiler)


def test_a_clock_that_jumps_costs_no_review_and_what_depends_on_the_date_follows_it(
    clock: WrongClock, tmp_path: Path, seconds: float, measured: Measured
) -> None:
    """Years ahead and back: an exemption ends and holds again, connections and time-outs do not care."""
    folder = tmp_path / "installation"
    folder.mkdir()
    installation = Installation(folder, with_exemption_until(datetime.now(UTC) + timedelta(days=30)))
    seen: list[bool] = []
    with (
        installation.replica(environment=clock.environment) as replica,
        loading(replica.port, installation.authority, reconnect=50) as load,
    ):
        for days in (0, 4000, -4000, 0):
            clock.set(timedelta(days=days))
            time.sleep(seconds / 4)
            seen.append(is_denied(replica))
        report = load.finish()
        measured.fault("a clock that jumps eleven years", report, replica)

    assert seen == [False, True, False, False]
    assert report.failures == {}


def with_exemption_until(end: datetime) -> str:
    namespace = DENIED["request"]["namespace"]
    entry = f"      - {{namespaces: [{namespace}], expires: {end:%Y-%m-%d}, reason: for a while}}\n"
    return POLICY.read_text().rstrip("\n") + "\n" + entry
