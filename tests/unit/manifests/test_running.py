"""Many files, shared out over processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from builders import GPU, policy

from gpupolicy.manifests import running
from gpupolicy.manifests.running import Task, check_files, count_processes

POLICY = policy()


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """Seven manifests, one of them unreadable and one denied."""
    for number in range(5):
        (tmp_path / f"{number}.yaml").write_text(f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}")
    (tmp_path / "5.yaml").write_text("a: [\n")
    (tmp_path / "6.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, "
        f"spec: {{containers: [{{name: c, resources: {{limits: {{{GPU}: 3}}}}}}]}}}}"
    )
    return tuple(str(tmp_path / f"{number}.yaml") for number in range(7))


@pytest.mark.parametrize("processes", [2, 3, 7, 9])
def test_the_report_is_the_same_for_any_number_of_processes(files: tuple[str, ...], processes: int) -> None:
    task = Task(policy=POLICY, files=files)

    assert check_files(task, processes=processes) == check_files(task)


def test_a_report_counts_over_all_files(files: tuple[str, ...]) -> None:
    report = check_files(Task(policy=POLICY, files=files), processes=2)

    assert (report.files, report.object_count, report.denied, report.unreadable) == (7, 6, 1, 1)


def test_standard_input_may_fall_to_any_process() -> None:
    task = Task(policy=POLICY, files=("-", "-"), standard_input=b"{apiVersion: v1, kind: Namespace}")

    assert [entry.file for entry in check_files(task, processes=2).objects] == ["<stdin>", "<stdin>"]


def test_the_share_of_a_process_that_dies_is_checked_all_the_same(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(policy=POLICY, files=files)
    whole = check_files(task)
    monkeypatch.setattr(running, "_report_and_exit", lambda *args: os._exit(3))

    assert check_files(task, processes=3) == whole


def test_a_process_that_dies_in_the_middle_of_its_report_is_not_believed(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(policy=POLICY, files=files)
    whole = check_files(task)

    def die(task: Task, batches: object, queue: Iterable[int], pipe: int) -> None:
        next(iter(queue), None)
        os.write(pipe, b"half")
        os.kill(os.getpid(), 9)

    monkeypatch.setattr(running, "_report_and_exit", die)

    assert check_files(task, processes=2) == whole


def own_children() -> str:
    """The processes that this thread has started; those of other tests' servers have another parent."""
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()


def test_no_process_and_no_pipe_is_left_behind_when_the_run_is_interrupted(
    files: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_report_and_exit", lambda *args: time.sleep(60))  # leaves the work to this process
    before = own_children(), set(os.listdir("/proc/self/fd"))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_files(Task(policy=POLICY, files=files), processes=3, on_file=interrupt)

    assert (own_children(), set(os.listdir("/proc/self/fd"))) == before


def test_each_file_that_this_process_checks_is_told(files: tuple[str, ...]) -> None:
    told: list[None] = []

    check_files(Task(policy=POLICY, files=files), on_file=lambda: told.append(None))

    assert len(told) == 7


@pytest.mark.parametrize(
    ("files", "processes", "batches", "largest"),
    [(0, 2, 0, 0), (7, 2, 7, 1), (100, 2, 17, 6), (1_000, 2, 125, 8), (100_000, 2, 1_000, 100)],
)
def test_batches_are_small_and_not_too_many(files: int, processes: int, batches: int, largest: int) -> None:
    names = [str(number) for number in range(files)]

    made = running._split(names, processes)

    assert [name for batch in made for name in batch] == names
    assert (len(made), max(map(len, made), default=0)) == (batches, largest)


@pytest.mark.parametrize(("files", "processes"), [(0, 1), (99, 1), (100, 2), (10_000, 3)])
def test_few_files_are_not_shared_out(monkeypatch: pytest.MonkeyPatch, files: int, processes: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests may have left a thread behind

    assert count_processes(files) == processes


def test_a_process_with_threads_is_not_forked() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert count_processes(10_000) == 1
    finally:
        done.set()
        thread.join()
