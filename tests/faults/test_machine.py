"""What the machine does to the webhook: no disk, no descriptors, no processor, no files, another time."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from e2e.processes import wait_for
from faults.clients import REVIEW
from faults.load import loading
from faults.replicas import POLICY, Installation, Mount, Replica

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


def serial(replica: Replica) -> str:
    with replica.endpoint.connect() as connection:
        return str(connection.getpeercert()["serialNumber"])  # type: ignore[index]  # verified, so it is there


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_full_disk_costs_lines_of_the_log_and_no_review(
    log_format: str, installation: Installation, denied: Path, seconds: float
) -> None:
    full = Path("/dev/full")
    with (
        installation.replica("--log-format", log_format, stderr=full) as replica,
        loading(replica.port, installation.authority, files=[denied]) as load,
    ):
        time.sleep(seconds)
        report = load.finish()
        lost = replica.count('gpupolicy_log_lines_total{result="lost"}')
        status = replica.stop()

    assert report.failures == {}
    assert report.denied > 0
    assert lost > 0
    assert status == 0


def test_a_disk_that_is_full_for_a_while_costs_lines_for_a_while(
    installation: Installation, denied: Path, seconds: float
) -> None:
    with installation.replica("--log-format", "json") as replica:
        replica.limit(resource.RLIMIT_FSIZE, replica.log.stat().st_size + 100)
        with loading(replica.port, installation.authority, files=[denied]) as load:
            time.sleep(seconds)
            report = load.finish()
        replica.limit(resource.RLIMIT_FSIZE, resource.prlimit(replica.process.pid, resource.RLIMIT_FSIZE)[1])
        installation.policy.swap({"policy.yaml": installation.text.encode()})
        replica.wait_for_log("was read again")
        last = replica.log.read_text().splitlines()[-1]  # what was cut ends before it

    assert report.failures == {}
    assert json.loads(last)["event"] == "notice"


def test_a_reader_of_the_log_that_has_stopped_holds_up_no_review(
    installation: Installation, denied: Path, seconds: float
) -> None:
    """A pipe that nobody reads: it is full after 64 KiB."""
    reader, writer = socket.socketpair()
    with reader, writer, installation.replica(stderr=writer.makefile("wb")) as replica:
        with loading(replica.port, installation.authority, files=[denied]) as load:
            time.sleep(seconds)
            report = load.finish()
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
    installation: Installation, seconds: float
) -> None:
    with installation.replica("--log-format", "json") as replica:
        with loading(replica.port, installation.authority, workers=2) as load:
            time.sleep(0.5)
            with no_descriptors_left(replica):
                time.sleep(seconds)
            report = load.finish()
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
    open_to_all = installation.text.replace("requestSizes: powerOfTwo", "requestSizes: [1, 2, 3, 4, 8]").replace(
        "sizes: [4]", "sizes: [3, 4]"
    )
    with installation.replica() as replica:
        before = is_denied(replica)
        with no_descriptors_left(replica):
            installation.policy.swap({"policy.yaml": open_to_all.encode()})
            time.sleep(2.5)
        wait_for(lambda: not is_denied(replica), timeout=15, message=replica.log.read_text)

    assert before


def test_a_process_that_was_stopped_answers_everything_when_it_goes_on(
    installation: Installation, seconds: float
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
    installation: Installation, seconds: float
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

    assert during == (True, before)
    assert report.failures == {}


@pytest.fixture
def shifted(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A file with the seconds by which a process's clock is wrong, and the variables that it has to be started with."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a clock that jumps")
    library, shift = tmp_path / "clock_shift.so", tmp_path / "shift"
    source = Path(__file__).with_name("clock_shift.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    shift.write_text("0")
    return shift, {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)}


def set_shift(file: Path, span: timedelta) -> None:
    file.with_suffix(".new").write_text(str(int(span.total_seconds())))
    file.with_suffix(".new").replace(file)


def test_a_clock_that_jumps_costs_no_review_and_what_depends_on_the_date_follows_it(
    shifted: tuple[Path, dict[str, str]], tmp_path: Path, seconds: float
) -> None:
    """Years ahead and back: an exemption ends and holds again, connections and time-outs do not care."""
    file, environment = shifted
    folder = tmp_path / "installation"
    folder.mkdir()
    installation = Installation(folder, with_exemption_until(datetime.now(UTC) + timedelta(days=30)))
    seen: list[bool] = []
    with (
        installation.replica(environment=environment) as replica,
        loading(replica.port, installation.authority, reconnect=50) as load,
    ):
        for days in (0, 4000, -4000, 0):
            set_shift(file, timedelta(days=days))
            time.sleep(seconds / 4)
            seen.append(is_denied(replica))
        report = load.finish()

    assert seen == [False, True, False, False]
    assert report.failures == {}


def with_exemption_until(end: datetime) -> str:
    namespace = DENIED["request"]["namespace"]
    entry = f"      - {{namespaces: [{namespace}], expires: {end:%Y-%m-%d}, reason: for a while}}\n"
    return POLICY.read_text().rstrip("\n") + "\n" + entry
